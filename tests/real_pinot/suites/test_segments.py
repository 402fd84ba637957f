"""Uploads, deletion, restore and downloads as every kind of cluster has them, on the real Pinot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from segments.services.core.context import Context
from tests.push.pushing import SCHEMA
from tests.real_pinot.cluster import RealPinot
from tests.real_pinot.suites import shared
from tests.real_pinot.suites.connected import answering_soon, connected, new_table
from tests.services.segments import test_every_kind
from tests.services.segments.kinds import Kind, keeping
from tests.waiting import poll

pytestmark = shared.MARKS


class RealKind(Kind):
    """A table of the real Pinot."""

    def __init__(self, pinot: RealPinot, ctx: Context) -> None:
        super().__init__(ctx, new_table(pinot, SCHEMA, keeping()))
        self._pinot = pinot

    @property
    def visible(self) -> list[str]:
        """Segments that answer queries."""
        return answering_soon(self._pinot, self.ctx, self.table)

    def put_away(self) -> None:
        """Pinot does, sooner or later."""

    def later(self) -> None:
        """Its times are in milliseconds."""
        began = self.ctx.clock()
        poll(lambda: self.ctx.clock() > began, 1, "the next millisecond")


@pytest.fixture
def empty(pinot: RealPinot, tmp_path: Path) -> Iterator[Kind]:
    """A table without segments that asks for copies of what is deleted."""
    with connected(pinot, tmp_path / "ours") as ctx:
        yield RealKind(pinot, ctx)


globals().update(shared.tests_with(test_every_kind, "empty") | shared.tests_with(test_every_kind, "kind"))
