"""The context of each kind of cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.services.core.context import Context
from segments.store import paths
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.services.world import World


@pytest.fixture(params=["embedded", "1.5.1", "0.11.0"])
def simulated(request: pytest.FixtureRequest, tmp_path: Path) -> Context:
    """In memory; for what would take a server from the other tests of a real Pinot."""
    inside = World(tmp_path / "store")
    inside.memory.create(
        paths.participant("Server_a_1"), ZNRecord("Server_a_1", {"HELIX_HOST": "a", "HELIX_PORT": "1"})
    )
    if request.param == "embedded":
        return inside.ctx
    return PinotCluster(tmp_path, version=request.param, inside=inside).ctx


@pytest.fixture
def ctx(simulated: Context) -> Context:
    """The same for tests that a real Pinot can run, too (``tests/real_pinot/suites``)."""
    return simulated
