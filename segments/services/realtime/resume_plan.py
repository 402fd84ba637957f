"""What a resume would do, partition by partition, before anybody asks for it: start, skipped and repeated rows. Writes
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.backlog import catch_up_s
from segments.domain.realtime.pause import pause_of, with_pause
from segments.domain.realtime.realtime_repair import Case, diagnose
from segments.domain.realtime.realtime_table import check_realtime
from segments.domain.realtime.streams import changed_streams
from segments.domain.realtime.streams.stream_offset import Offset
from segments.errors import Unavailable
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.consuming_segments import StartFrom, another_stream, check_offsets, start_of, undecided
from segments.services.realtime.monitor.counted import (
    Counted,
    count_unread,
    last_counts,
    lost_since,
    measured_rates,
)
from segments.services.realtime.realtime_state import observe_realtime
from segments.services.realtime.stream_facts import StreamFacts, stream_facts
from segments.services.tables.table_record import read_table_config

#: Messages that are counted one by one, at most: those of a stream whose offsets do not number them.
COUNTED: Final = 10_000


@dataclass(frozen=True)
class PlannedStart:
    """``last_consumed``: where the partition stopped, None for a new one. ``earliest``, ``latest``: what the stream has
    now.

    ``skipped`` and ``repeated`` count messages; None: they are more than COUNTED, in a stream whose offsets do not
    number them, or the stream does not answer, but ``start`` is after (``skips``) or before (``repeats``)
    ``last_consumed``. ``waiting``: messages in the stream from ``start`` on, None as before. ``note``: what a person
    should know.
    """

    partition: int
    last_consumed: str | None
    start: str
    earliest: str | None
    latest: str | None
    skips: bool
    repeats: bool
    skipped: int | None
    repeated: int | None
    note: str = ""
    waiting: int | None = None
    #: Messages that left the stream before they were read; None: some, but they cannot be counted.
    lost: int | None = 0
    #: Seconds to read what waits at the highest rate that was measured within a day; None: not known.
    catch_up_s: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The API's form."""
        return {
            "partition": self.partition,
            "lastConsumedOffset": self.last_consumed,
            "startOffset": self.start,
            "earliestOffset": self.earliest,
            "latestOffset": self.latest,
            "skipsRows": self.skips,
            "repeatsRows": self.repeats,
            "skippedRows": self.skipped,
            "repeatedRows": self.repeated,
            "waitingRows": self.waiting,
            "lostRows": self.lost,
            "losesRows": self.lost != 0,
            "catchUpSeconds": self.catch_up_s,
            "note": self.note,
        }


def plan_resume(ctx: Context, table: TableName, start: StartFrom) -> list[PlannedStart]:
    """Starts of every partition that a resume of the table would set going; running ones are left out.

    Raises as the resume itself would.
    """
    configs = check_realtime(read_table_config(ctx, table))
    state = observe_realtime(ctx, table)
    unpaused = with_pause(state.ideal, replace(pause_of(state.ideal), paused=False))
    with stream_facts(ctx, configs) as facts:
        try:
            partitions: frozenset[int] | None = facts.partitions()
        except Unavailable:
            if start.word != "lastConsumed":
                raise
            partitions = None
        cases = diagnose(state.seen(partitions, facts.topics).with_ideal(unpaused), ctx.clock())
        check_offsets(table, start, cases, state)
        if waiting := undecided(cases, start, unpaused):
            raise another_stream(table, waiting, unpaused)
        counts, rates = last_counts(ctx, table), measured_rates(ctx, table)
        planned = [_planned(facts, c, start, unpaused, counts.get(c.partition)) for c in cases if c.kind.makes_segment]
    return [replace(p, catch_up_s=catch_up_s(p.waiting, rates.get(p.partition))) for p in planned]


def streams_before(ctx: Context, table: TableName) -> list[str]:
    """A sentence for each stream in which partitions stopped and that the table does not read any more: where to begin
    is to be chosen.
    """
    streams = sorted(set(ctx.engine.consumption.changed_streams(ctx, table).values()))
    return [f"It stopped in {s}, and reads another stream now: choose where to begin there." for s in streams]


def _planned(
    facts: StreamFacts, case: Case, start: StartFrom, ideal: ZNRecord, counted: Counted | None
) -> PlannedStart:
    begin = facts.parse(case.partition, start_of(facts, case, start, ideal).offset)
    before = changed_streams.of(ideal).get(case.partition)
    # An offset of another stream cannot be compared with one of this stream.
    base = facts.parse(case.partition, case.base_offset) if case.base_offset is not None and before is None else None
    earliest, latest = _bounds(facts, case.partition)
    skips, repeats = base is not None and begin > base, base is not None and begin < base
    note = (
        f"It stopped at {case.base_offset} of {before}, of which nothing more is read; {begin} is an offset of "
        "another stream."
        if before
        else ""
    )
    return PlannedStart(
        partition=case.partition,
        last_consumed=case.base_offset,
        start=begin.text,
        earliest=earliest.text if earliest else None,
        latest=latest.text if latest else None,
        skips=skips,
        repeats=repeats,
        skipped=None if before else _distance(facts, case.partition, base, begin) if skips else 0,
        repeated=None if before else _distance(facts, case.partition, begin, base) if repeats else 0,
        waiting=count_unread(facts, case.partition, begin, latest, counted, COUNTED),
        lost=_lost(facts, case.partition, base, earliest, counted),
        note=" ".join(filter(None, (note, _note(begin, base, earliest, latest)))),
    )


def _lost(
    facts: StreamFacts, partition: int, base: Offset | None, earliest: Offset | None, counted: Counted | None
) -> int | None:
    """Between where it stopped and what the stream still has."""
    if base is None or earliest is None or earliest <= base:
        return 0
    try:
        return lost_since(facts, partition, base, earliest, counted, COUNTED)
    except Unavailable:
        return None


def _bounds(facts: StreamFacts, partition: int) -> tuple[Offset | None, Offset | None]:
    try:
        return facts.earliest(partition), facts.latest(partition)
    except Unavailable:
        return None, None


def _distance(facts: StreamFacts, partition: int, low: Offset | None, high: Offset | None) -> int | None:
    """Messages between two offsets of one stream; None where they are too many to be counted or the stream does not
    answer.
    """
    if low is None or high is None:
        return None
    try:
        return facts.count(partition, low, high, COUNTED)
    except Unavailable:
        return None


def _note(begin: Offset, base: Offset | None, earliest: Offset | None, latest: Offset | None) -> str:
    if earliest is not None and begin < earliest:
        return f"The stream begins at {earliest}: rows before it are gone."
    if latest is not None and begin > latest:
        return f"The stream ends at {latest}: nothing is read until it has grown beyond {begin}."
    if base is not None and earliest is not None and base < earliest:
        return f"Rows from {base} to {earliest} had left the stream before they were read."
    return ""
