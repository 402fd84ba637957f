"""Make and repair consuming segments: creation of a table, resume and validation all do it here, in one transaction
each.

Ideal state, records of new segments and the pause flag change together or not at all (rule `one-transaction`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime import first_starts
from segments.domain.realtime.first_starts import Watermark
from segments.domain.realtime.llc_name import parse_llc_name
from segments.domain.realtime.partition_metadata import stream_partition_metadata
from segments.domain.realtime.pause import pause_of, stream_partition, topic_of
from segments.domain.realtime.realtime_assignment import kept_rows, most_partitions_per_server
from segments.domain.realtime.realtime_plan import Blueprint, Changes, Start, plan_changes
from segments.domain.realtime.realtime_repair import Case, Kind, diagnose
from segments.domain.realtime.realtime_table import check_realtime
from segments.domain.realtime.streams import changed_streams
from segments.domain.realtime.streams.stream_offset import Offset
from segments.domain.segments.ideal_state import CONSUMING
from segments.domain.tables.keyed_tables import is_keyed
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, PinotAdminError, StateConflict, Unavailable
from segments.metrics import consumption as metrics
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.offset_auto_reset import measure_skips, skip_to_newest
from segments.services.realtime.realtime_servers import tenant_servers
from segments.services.realtime.realtime_state import RealtimeState, observe_realtime
from segments.services.realtime.stream_facts import StreamFacts, stream_facts
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.base import Check, Create, Delete, Replace, Write
from segments.store.records.data_loss import DataLoss, data_loss_write, noticed
from segments.store.update import update_transaction

log = logging.getLogger(__name__)

Word = Literal["lastConsumed", "smallest", "largest"]
#: New segments per transaction: with their records and a large ideal state it stays below ZooKeeper's limit of 1 MB.
_PER_TRANSACTION: Final = 300


@dataclass(frozen=True)
class StartFrom:
    """Where partitions without a consuming segment go on; ``offsets`` {partition: offset} wins over ``word``.

    ``is_chosen``: somebody gave the word, it is not only the default; wanted where the table reads another stream since
    it stopped.
    """

    word: Word = "lastConsumed"
    offsets: Mapping[int, str] = field(default_factory=dict)
    is_chosen: bool = False

    def says(self, partition: int) -> bool:
        """Was it given where this partition begins?"""
        return self.is_chosen or self.word != "lastConsumed" or partition in self.offsets


@dataclass(frozen=True)
class Ensured:
    """The ideal state afterwards, what was done, and what could not be."""

    ideal: ZNRecord
    changes: tuple[Changes, ...]
    cases: tuple[Case, ...]
    stream_error: str = ""

    @property
    def sentences(self) -> list[str]:
        """One per thing done."""
        return [s for c in self.changes for s in c.sentences]


def ensure_consuming(
    ctx: Context,
    table: TableName,
    *,
    start: StartFrom | None = None,
    change: Callable[[ZNRecord], ZNRecord] | None = None,
    is_patient: bool = False,
    is_forced: bool = False,
) -> Ensured:
    """Repair what is wrong with the table's consumption. ``change`` edits the ideal state first, in the same
    transaction: a resume.

    A partition that consumes, or is paused after the change, is left alone; with ``is_patient`` also one with a segment
    being deleted. ``is_forced``: a person wants it now, however young what is half done is. Without a stream's answer
    only what needs none is done, unless ``start`` asks for it. Raises NotFound, InvalidInput (disabled; offsets that
    are none), StateConflict (too few servers, offsets for a running partition), Unavailable.
    """
    configs = check_realtime(read_table_config(ctx, table))
    done: list[Changes] = []
    with stream_facts(ctx, configs) as facts:
        while True:
            # The change is made once, with the first transaction: by the next one somebody may have changed it again.
            is_asked = start is not None or change is not None
            job = _Attempt(
                ctx,
                table,
                facts,
                start or StartFrom(),
                None if done else change,
                is_patient=is_patient,
                is_asked=is_asked,
                is_forced=is_forced,
            )
            update_transaction(ctx.store, job.writes)
            done.append(job.changes)
            if not job.is_cut:
                _measure(ctx, table, done)
                return Ensured(job.ideal, tuple(done), tuple(job.cases), job.stream_error)


def _measure(ctx: Context, table: TableName, done: Sequence[Changes]) -> None:
    unread = [loss for changes in done for loss in changes.losses]
    metrics.REPAIRS.add(ctx.cluster, table.typed, by=sum(len(c.sentences) for c in done))
    metrics.CONSUMPTION_DATA_LOSS.add(ctx.cluster, table.typed, by=sum(not x.is_skipped for x in unread))
    measure_skips(ctx, table, [x.count for x in unread if x.is_skipped])


def planned_repair(ctx: Context, table: TableName) -> list[Write]:
    """What ``ensure_consuming`` with ``is_forced`` would write first, were it called now. Raises as that."""
    with stream_facts(ctx, check_realtime(read_table_config(ctx, table))) as facts:
        job = _Attempt(ctx, table, facts, StartFrom(), None, is_patient=True, is_asked=False, is_forced=True)
        return list(job.writes() or ())


def first_segments(
    ctx: Context, config: TableConfig, ideal: ZNRecord, watermarks: Mapping[int, Watermark]
) -> tuple[ZNRecord, Changes]:
    """The ideal state of a new table, and the rows and records of its first segments, as many as fit into its creation.

    Where the others begin is noted in the ideal state, so that ``ensure_consuming`` makes them from there whenever it
    comes to them. Partitions with a watermark begin there. Raises InvalidInput for watermarks of partitions that the
    stream has not, StateConflict when it has lost their rows or there are too few servers, Unavailable when a stream
    does not answer.
    """
    with stream_facts(ctx, check_realtime(config)) as facts:
        partitions = sorted(facts.partitions())
        starts = {p: _first_start(facts, p, watermarks.get(p)) for p in partitions}
        if unknown := sorted(set(watermarks) - set(partitions)):
            raise InvalidInput(f"The stream has no partition {unknown[0]}, which has a watermark.")
        sequences = {p: mark.sequence for p, mark in watermarks.items()}
        made, later = partitions[:_PER_TRANSACTION], partitions[_PER_TRANSACTION:]
        noted = first_starts.noted(
            ideal, {p: starts[p] for p in later}, {p: s for p, s in sequences.items() if p in later}
        )
        cases = [Case(p, Kind.FIRST) for p in made]
        plan = replace(blueprint(ctx, config, facts, ideal), first_sequences=sequences)
        return noted, plan_changes(cases, ideal, plan, {p: Start(starts[p]) for p in made}, (), ctx.clock())


def _first_start(facts: StreamFacts, partition: int, mark: Watermark | None) -> str:
    if mark is None:
        return facts.first(partition).text
    start, earliest = facts.parse(partition, mark.offset), facts.earliest(partition)
    if start < earliest:
        raise StateConflict(
            f"Rows of partition {partition} from {start} to {earliest} have left the stream.",
            remedy=f"Give {earliest} as its offset to go on without them.",
        )
    return start.text


def make_remaining_segments(ctx: Context, table: TableName) -> None:
    """First segments that did not fit into the table's creation. What fails here is left to the validation pass, and
    logged.
    """
    try:
        ensure_consuming(ctx, table)
    except PinotAdminError:
        log.exception("The first segments of %s could not all be made; the validation pass goes on.", table)


def blueprint(ctx: Context, config: TableConfig, facts: StreamFacts, ideal: ZNRecord) -> Blueprint:
    """The settings of new segments of this table."""
    instances, topics = tenant_servers(ctx, config), facts.topics
    partitions = _partition_ids(facts, ideal)

    of_topic = Counter(topic_of(p, topics) for p in partitions)

    def metadata(partition: int) -> str | None:
        count = of_topic[topic_of(partition, topics)]
        return stream_partition_metadata(config, stream_partition(partition, topics), count)

    return Blueprint(
        raw=config.table.raw,
        typed=config.table.typed,
        replicas=config.replication,
        topics=topics,
        instances=instances,
        flush_of=lambda partition: facts.config_of(partition).flush,
        partitions_per_server=most_partitions_per_server(len(partitions), config.replication, len(instances)),
        partition_metadata=metadata,
        kept=kept_rows(ideal.maps) if is_keyed(config) else {},
        first_sequences=first_starts.sequences_of(ideal),
    )


def _partition_ids(facts: StreamFacts, ideal: ZNRecord) -> frozenset[int]:
    """The streams' partitions; while a stream does not answer those that have segments."""
    try:
        return facts.partitions()
    except Unavailable:
        return frozenset(int(s.split("__")[1]) for s in ideal.maps if s.count("__") == 3)


class _Attempt:
    """One transaction's worth; ``writes`` is called again, from its reads on, after every conflict."""

    def __init__(
        self,
        ctx: Context,
        table: TableName,
        facts: StreamFacts,
        start: StartFrom,
        change: Callable[[ZNRecord], ZNRecord] | None,
        *,
        is_patient: bool,
        is_asked: bool,
        is_forced: bool = False,
    ) -> None:
        """``is_asked``: a person or their plan resumes; else it is a pass."""
        self.is_patient, self.is_asked, self.is_forced = is_patient, is_asked, is_forced
        self.ctx, self.table, self.facts, self.start, self.change = ctx, table, facts, start, change
        self.changes = Changes()
        self.cases: list[Case] = []
        self.ideal = ZNRecord(table.typed)
        self.is_cut = False
        self.stream_error = ""
        self.now_ms = ctx.clock()

    def writes(self) -> Sequence[Write] | None:
        state = observe_realtime(self.ctx, self.table)
        self.ideal = self.change(state.ideal) if self.change else state.ideal
        self.cases, self.changes, self.is_cut = self._diagnose(state), Changes(), False
        if self.cases:
            self._plan(state)
        made = {parse_llc_name(s).partition for s in self.changes.created}
        after = changed_streams.without(first_starts.without(self.changes.apply(self.ideal), made), made)
        if after == state.ideal and self.changes.is_empty:
            return None
        self.ideal = after
        path, typed = paths.ideal_state(self.table.typed), self.table.typed
        return [
            Replace(path, after, state.ideal_version),
            *(Check(paths.segment(typed, s), v) for s, v in sorted(self.changes.checked.items())),
            *(Create(paths.segment(typed, s), r) for s, r in sorted(self.changes.created.items())),
            *(Delete(paths.segment(typed, s), v) for s, v in sorted(self.changes.discarded.items())),
            *data_loss_write(self.ctx.store, typed, self._losses()),
        ]

    def _losses(self) -> list[DataLoss]:
        made = {parse_llc_name(s).partition: s for s in self.changes.created}
        return [noticed(x, made.get(x.partition, ""), self.now_ms) for x in self.changes.losses]

    def _diagnose(self, state: RealtimeState) -> list[Case]:
        if pause_of(self.ideal).paused:
            return []
        partitions: frozenset[int] | None = None
        try:
            partitions = self.facts.partitions()
        except Unavailable as error:
            if self.start.word != "lastConsumed":
                raise
            self.stream_error = error.message
        seen = state.seen(partitions, self.facts.topics, is_patient=self.is_patient)
        seen = replace(seen, is_forced=self.is_forced, is_urgent=seen.is_urgent or self.is_forced)
        cases = diagnose(seen.with_ideal(self.ideal), self.now_ms)
        check_offsets(self.table, self.start, cases, state)
        waiting = undecided(cases, self.start, self.ideal)
        if waiting and self.is_asked:
            raise another_stream(self.table, waiting, self.ideal)
        return [c for c in cases if c not in waiting]

    def _plan(self, state: RealtimeState) -> None:
        config = read_table_config(self.ctx, self.table)
        wanted = [c for c in self.cases if not c.kind.makes_segment]
        making = [c for c in self.cases if c.kind.makes_segment]
        self.is_cut = len(making) > _PER_TRANSACTION
        making = making[:_PER_TRANSACTION]
        starts = {c.partition: start_of(self.facts, c, self.start, self.ideal) for c in making}
        plan = blueprint(self.ctx, config, self.facts, self.ideal)
        self.changes = plan_changes([*wanted, *making], self.ideal, plan, starts, state.taken, self.now_ms)


def check_offsets(table: TableName, start: StartFrom, cases: Sequence[Case], state: RealtimeState) -> None:
    """Offsets are for partitions that wait for a start; one that already consumes from that offset is where it should
    be.

    Raises StateConflict naming the others.
    """
    free = {c.partition for c in cases if c.kind.makes_segment}
    begun = {
        k.name.partition: k.start for k in state.known if CONSUMING in state.ideal.maps.get(k.name.text, {}).values()
    }
    running = sorted(p for p, offset in start.offsets.items() if p not in free and begun.get(p) != offset)
    if running:
        raise StateConflict(
            f"Partitions {running} of table '{table}' do not wait for a start: they consume, are paused, or do "
            "not exist.",
            remedy="Pause the table, wait until nothing consumes, then give offsets of partitions that it has.",
        )


def undecided(cases: Sequence[Case], start: StartFrom, ideal: ZNRecord) -> list[Case]:
    """Cases that would go on from an offset of another stream than the table reads now, because nobody gave where to
    begin.
    """
    changed = changed_streams.of(ideal)
    return [c for c in cases if c.kind.makes_segment and c.partition in changed and not start.says(c.partition)]


def another_stream(table: TableName, waiting: Sequence[Case], ideal: ZNRecord) -> StateConflict:
    """The refusal of a resume that does not say where to begin."""
    partition = waiting[0].partition
    return StateConflict(
        f"Table '{table}' reads another stream than before: partition {partition} stopped in "
        f"{changed_streams.of(ideal)[partition]}.",
        remedy="Say where to begin in the new one: consumeFrom=smallest, largest or lastConsumed (the same offset), or "
        "offsets.",
        partitions=[c.partition for c in waiting][:100],
    )


def start_of(facts: StreamFacts, case: Case, start: StartFrom, ideal: ZNRecord) -> Start:
    """Where the new segment of a case begins: the caller's offset or word, else the end of what is committed, else the
    offset noted when the table was created, else (a partition that the stream got later) the smallest.

    Rows between that end and the first offset the stream still has are a loss (rule `lost-rows-are-reported`). Where
    nobody chose and it is too far behind for the table's stream config, it goes on at the newest message. While the
    stream does not answer, the end of what is committed is taken as it is.
    """
    partition = case.partition
    if partition in start.offsets:
        return Start(facts.parse(partition, start.offsets[partition]).text)
    if start.word == "largest":
        return Start(facts.latest(partition).text)
    known = case.base_offset or first_starts.of(ideal).get(partition)
    if start.word == "smallest" or known is None:
        return Start(facts.earliest(partition).text)
    base = facts.parse(partition, known)
    if partition in changed_streams.of(ideal):
        return Start(base.text)
    first = _earliest_or_none(facts, partition)
    begin, lost_from = (first, base.text) if first is not None and first > base else (base, None)
    skip = None if start.says(partition) else skip_to_newest(facts, partition, begin)
    return Start(begin.text if skip is None else skip.end, lost_from, skip)


def _earliest_or_none(facts: StreamFacts, partition: int) -> Offset | None:
    try:
        return facts.earliest(partition)
    except Unavailable:
        return None
