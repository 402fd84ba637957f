"""Clusters of every kind, and no waiting between doubtful answers of a Pinot."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from segments.clusters.pinot import calls
from tests.services.realtime.kinds import KINDS, Kind, kind_of


@pytest.fixture(params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Kind]:
    """Makes a cluster of each kind in turn, with a table that consumes."""
    monkeypatch.setattr(calls, "_PAUSE_S", 0.0)
    return partial(kind_of, request.param, tmp_path)


@pytest.fixture
def cluster(made: Callable[..., Kind]) -> Kind:
    """A table of two partitions in a cluster of each kind."""
    return made()
