"""Instances and cluster settings as every kind of cluster has them, on the real Pinot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from segments.services.core.context import Context
from tests.real_pinot.cluster import RealPinot
from tests.real_pinot.suites import shared
from tests.real_pinot.suites.connected import connected
from tests.services.clusters import test_every_kind

pytestmark = shared.MARKS


@pytest.fixture
def ctx(pinot: RealPinot, tmp_path: Path) -> Iterator[Context]:
    """What a test makes of instances and settings it removes."""
    with connected(pinot, tmp_path) as ctx:
        yield ctx


globals().update(shared.tests_with(test_every_kind, "ctx"))
