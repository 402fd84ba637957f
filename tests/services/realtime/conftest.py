"""Clusters of every kind, without waiting between doubtful answers of a Pinot; a table of three replicas."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from segments.clusters.pinot import calls
from tests.services.realtime.kinds import KINDS, Kind, kind_of
from tests.services.realtime_world import RealtimeWorld
from tests.services.spoken import Spoken


@pytest.fixture(params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Kind]:
    """Makes a cluster of each kind in turn, with a table that consumes."""
    monkeypatch.setattr(calls, "_PAUSE_S", 0.0)
    return partial(kind_of, request.param, tmp_path)


@pytest.fixture
def cluster(made: Callable[..., Kind]) -> Kind:
    """A table of two partitions in a cluster of each kind."""
    return made()


@pytest.fixture
def world(tmp_path: Path) -> RealtimeWorld:
    """A table of one partition that three servers consume."""
    return RealtimeWorld(tmp_path, partitions=1, servers=3, replication=3)


@pytest.fixture
def talk(world: RealtimeWorld) -> Spoken:
    """What servers send to the controller about its first segment."""
    return Spoken(world.ctx, world.segments(0)[0])
