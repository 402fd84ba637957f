"""What tests of a Pinot cluster share: a cluster in memory, and no waiting between doubtful answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.clusters.pinot import calls as pinot_calls
from tests.pinot_cluster.fake_pinot import PinotCluster


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinot_calls, "_PAUSE_S", 0.0)


@pytest.fixture
def pinot(tmp_path: Path) -> PinotCluster:
    """Table t (REFRESH) with segment a online; Pinot 1.5.1."""
    cluster = PinotCluster(tmp_path)
    cluster.inside.upload("a")
    return cluster
