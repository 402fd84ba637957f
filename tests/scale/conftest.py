"""One installation for all tests here; each leaves it whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.scale.world import World, running_world


@pytest.fixture(scope="package")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("scale")) as made:
        yield made
