"""Fixtures of the data plane's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dataplane.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An empty cluster in memory."""
    made = World(tmp_path)
    yield made
    made.close()
