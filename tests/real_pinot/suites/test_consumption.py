"""Pause, resume and force commit as every kind of cluster offers them, on the real Pinot and a real Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.pause import PauseState, consuming_segments, pause_of
from segments.domain.segments.ideal_state import CONSUMING
from segments.services.core.context import Context
from segments.services.realtime import consumption
from segments.services.realtime.realtime_state import read_ideal
from segments.store import paths
from tests.real_pinot.cluster import RealPinot
from tests.real_pinot.suites import shared
from tests.real_pinot.suites.connected import connected
from tests.real_pinot.test_pinot_realtime import config_of, schema_of
from tests.services.realtime import test_every_kind
from tests.services.realtime.kinds import Kind
from tests.services.realtime_world import ANN, TABLE
from tests.streams.kafka_broker import KafkaBroker
from tests.waiting import poll

pytestmark = shared.MARKS

_CLOCK = "the planned time comes by setting the clock, which is nobody's to set here"
_SERVERS = "what servers do is done by hand: here they do it in their own time"
#: Left to simulated clusters, and why.
LEFT: Final = {
    "test_a_pause_keeps_who_and_why_and_a_resume_ends_it": _SERVERS,
    "test_a_pause_again_renews_comment_and_time": _CLOCK,
    "test_a_pause_is_sent_again_while_something_consumes_and_not_afterwards": _SERVERS,
    "test_a_planned_end_of_a_pause_resumes_the_table_once": _CLOCK,
    "test_a_planned_end_is_void_when_somebody_resumed_before": _CLOCK,
    "test_a_disabled_table_is_refused": "a table that was disabled takes a minute to consume again",
    "test_a_resume_takes_pinots_three_words": _SERVERS,
    "test_single_partitions_and_offsets_by_hand_are_for_our_own_cluster": _SERVERS,
    "test_a_force_commit_counts_down_what_is_not_committed": _SERVERS,
}


class RealInside:
    """What the simulated world is asked for, read from the real cluster."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    @property
    def ideal(self) -> ZNRecord:
        """The ideal state."""
        found = read_ideal(self._ctx, TABLE).record
        assert found is not None
        return found

    @property
    def pause(self) -> PauseState:
        """As the ideal state has it."""
        return pause_of(self.ideal)

    @property
    def now(self) -> int:
        """Epoch milliseconds."""
        return self._ctx.clock()

    def messages(self) -> list[Any]:
        """To servers: they are taken up at once, so there are none."""
        return []


@pytest.fixture(scope="module")
def consuming(pinot: RealPinot, kafka: KafkaBroker) -> Iterator[None]:
    """Table t reads two partitions of a topic."""
    kafka.create(TABLE.raw, 2)
    pinot.call("POST", "/schemas", schema_of(TABLE.raw))
    pinot.call("POST", "/tables", config_of(TABLE.raw, kafka, 100_000))
    yield
    pinot.call("DELETE", f"/tables/{TABLE.raw}?type=realtime")
    pinot.call("DELETE", f"/schemas/{TABLE.raw}")


@pytest.fixture
def cluster(pinot: RealPinot, consuming: None, tmp_path: Path) -> Iterator[Kind]:
    """The table consumes; afterwards it does again."""
    with connected(pinot, tmp_path) as ctx:
        _consumes(ctx)
        yield Kind("0.11.0", ctx, cast(Any, RealInside(ctx)))
        if pause_of(RealInside(ctx).ideal).paused:
            poll(lambda: not consuming_segments(RealInside(ctx).ideal), 90, "nothing consumes")
            consumption.resume_table(ctx, TABLE, actor=ANN)


def _consumes(ctx: Context) -> None:
    def does() -> bool:
        view = ctx.store.get(paths.external_view(TABLE.typed))
        rows = view.record.maps if view and view.record else {}
        return sum(CONSUMING in row.values() for row in rows.values()) == 2

    poll(does, 90, "both partitions are consumed")


globals().update(shared.without(shared.tests_with(test_every_kind, "cluster"), LEFT))
