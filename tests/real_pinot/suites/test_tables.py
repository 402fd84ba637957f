"""Tables and schemas as every kind of cluster has them, on the real Pinot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.push.pushing import SCHEMA, config
from tests.real_pinot.cluster import RealPinot
from tests.real_pinot.suites import shared
from tests.real_pinot.suites.connected import connected, new_table
from tests.services.tables import test_every_kind
from tests.services.tables.test_every_kind import Kind

pytestmark = shared.MARKS


@pytest.fixture
def kind(pinot: RealPinot, tmp_path: Path) -> Iterator[Kind]:
    """A table with a schema."""
    with connected(pinot, tmp_path) as ctx:
        yield Kind(ctx, new_table(pinot, SCHEMA, config()).raw)


globals().update(shared.tests_with(test_every_kind, "kind"))
