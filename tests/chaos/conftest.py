"""The installation whose processes are cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.cut_points import CutPoints
from tests.chaos.cut_world import COMPLETION_S, World
from tests.integration.running import Client, Installation


@pytest.fixture(scope="module")
def cut_installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, CutPoints]]:
    """One for all cuts; what one test leaves is there for the next ones, as in life."""
    folder: Path = tmp_path_factory.mktemp("cuts")
    points = CutPoints(folder / "points")
    started = Installation(folder / "data", settings=points.settings).start()
    client = Client(started.endpoints)
    client.call("POST", "/cluster/configs", json={"max.segment.completion.time.millis": str(int(COMPLETION_S * 1000))})
    yield started, points
    assert started.stop() == 0, started.log.read_text()[-4000:]


@pytest.fixture
def world(cut_installation: tuple[Installation, CutPoints]) -> Iterator[World]:
    """A table of its own for each test, made by it; no point stays armed."""
    installation, points = cut_installation
    installation.wait_healthy()
    yield World(installation, points, Client(installation.endpoints))
    points.disarm("")
