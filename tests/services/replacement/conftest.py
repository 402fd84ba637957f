"""Clusters of both kinds for one suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.clusters.pinot import calls
from tests.services.replacement.either_cluster import KINDS, EitherCluster, either_cluster


@pytest.fixture(params=KINDS)
def cluster(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EitherCluster:
    """Table t (REFRESH) without segments, once on each kind of cluster."""
    monkeypatch.setattr(calls, "_PAUSE_S", 0.0)
    return either_cluster(request.param, tmp_path)
