"""Controllers of three versions of Pinot, started once, each driven over ZooKeeper and over REST alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.maven import CONTROLLERS
from tests.real_pinot.controllers.driven import Driven
from tests.real_pinot.controllers.running import GUARDED, NewerController, running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These come last: where time is short, a whole Pinot shows more."""
    items.sort(key=lambda item: Path(__file__).parent in item.path.parents)


@pytest.fixture(scope="package")
def controllers(_is_asked_for: None, request: pytest.FixtureRequest) -> Iterator[dict[str, NewerController]]:
    """One controller of each version."""
    missing = [jars.name for parts in CONTROLLERS.values() for jars in parts if not jars.is_complete]
    assert not missing, f"{missing} are not there; `make test-real` fetches them"
    with running(lambda: bool(request.session.testsfailed)) as found:
        yield found


@pytest.fixture(scope="module", params=tuple(CONTROLLERS))
def driven(
    request: pytest.FixtureRequest, controllers: dict[str, NewerController], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driven]:
    """Each version in turn, its state read from its ZooKeeper."""
    found = Driven(controllers[request.param], tmp_path_factory.mktemp("ours"), over_zookeeper=True)
    yield found
    found.close()


@pytest.fixture(scope="module")
def guarded(controllers: dict[str, NewerController]) -> NewerController:
    """The controller that asks for credentials."""
    return controllers[GUARDED]


@pytest.fixture(params=["zookeeper", "rest"])
def each(request: pytest.FixtureRequest, driven: Driven, tmp_path: Path) -> Iterator[Driven]:
    """Each version, read in both ways."""
    if request.param == "zookeeper":
        yield driven
        return
    found = Driven(driven.controller, tmp_path / "ours", over_zookeeper=False)
    yield found
    found.close()
