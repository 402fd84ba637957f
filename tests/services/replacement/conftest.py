"""Clusters of both kinds for one suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.clusters.pinot import calls
from tests.services.replacement.either_cluster import KINDS, EitherCluster, SimulatedCluster, either_cluster


@pytest.fixture(params=KINDS)
def simulated(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimulatedCluster:
    """Table t (REFRESH) without segments, once on each kind of cluster; for tests that do what servers do."""
    monkeypatch.setattr(calls, "_PAUSE_S", 0.0)
    return either_cluster(request.param, tmp_path)


@pytest.fixture
def cluster(simulated: SimulatedCluster) -> EitherCluster:
    """The same for tests that a real Pinot can run, too (``tests/real_pinot/suites``)."""
    return simulated
