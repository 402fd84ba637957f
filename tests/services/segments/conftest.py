"""A table without segments on each kind of cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.services.segments.kinds import KINDS, Kind, kind_of


@pytest.fixture(params=KINDS)
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    """In memory; ``tests/real_pinot/suites`` has the same on a real Pinot."""
    return kind_of(request.param, tmp_path)
