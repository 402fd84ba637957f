"""A segment's completion machine in ZooKeeper: read with what belongs to it, write only if its segment is as it was
read (rule `any-process-answers`).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime import completion
from segments.domain.realtime.commit.fields import END_OFFSET, REPLICAS
from segments.domain.realtime.completion import Kind, Machine, Message
from segments.domain.realtime.llc_name import LLCName
from segments.domain.realtime.pause import topic_of
from segments.domain.realtime.streams.stream_config import StreamConfig, parse_stream_config, stream_maps
from segments.domain.realtime.streams.stream_offset import Offset, parse_offset
from segments.domain.segments import segment_metadata
from segments.domain.segments.ideal_state import CONSUMING
from segments.domain.segments.segment_metadata import (
    COMMITTING,
    COMPLETED_STATUSES,
    IN_PROGRESS,
    SegmentMetadata,
)
from segments.domain.tables import table_config
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput, RecordCorrupt, StateConflict
from segments.names import REALTIME, TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import table_not_found
from segments.store import paths
from segments.store.base import Check, Create, Delete, Replace, Versioned, Write
from segments.store.update import update_record

log = logging.getLogger(__name__)

#: Field of the table's completion record: how long a commit of it once took, in milliseconds.
_TOOK: Final = "commitTookMs"
#: State of a znode whose round is over. It stays until the segment is committed, so that its version never starts
#: again.
_ENDED: Final = "ENDED"


@dataclass(frozen=True)
class Observed:
    """What one message is decided from. ``session``: the sender's live session, "" for one that is not alive."""

    table: TableName
    name: LLCName
    config: TableConfig
    stream: StreamConfig
    topics: int
    segment: Versioned | None
    machine: Versioned | None
    session: str
    remembered_ms: int

    @property
    def metadata(self) -> SegmentMetadata:
        """The segment's record. StateConflict when there is none."""
        if self.segment is None or self.segment.record is None:
            raise StateConflict(f"Segment '{self.name}' does not exist.", remedy="It was deleted; stop consuming it.")
        return segment_metadata.from_record(self.segment.record)

    @property
    def has_round(self) -> bool:
        """Is a round under way?"""
        record = self.machine.record if self.machine else None
        return record is not None and record.simple.get("state") != _ENDED


def observe(ctx: Context, name: LLCName, instance: str) -> Observed:
    """Everything in one round trip. NotFound for an unknown table."""
    table = TableName(name.raw, REALTIME)
    machine, segment, config, live, remembered = ctx.store.get_many(
        [
            paths.completion(table.typed, name.text),
            paths.segment(table.typed, name.text),
            paths.table_config(table.typed),
            paths.live_instance(instance),
            paths.completions(table.typed),
        ]
    )
    if config is None or config.record is None:
        raise table_not_found(table)
    parsed = table_config.from_record(config.record)
    stream, topics = _stream_of(parsed, name.partition)
    took = remembered.record.simple.get(_TOOK, "0") if remembered and remembered.record else "0"
    return Observed(table, name, parsed, stream, topics, segment, machine, session_of(live), int(took))


def session_of(live: Versioned | None) -> str:
    """The session that a LIVEINSTANCES node announces; "" when there is none."""
    return live.record.simple.get("SESSION_ID", "") if live and live.record else ""


def current_machine(ctx: Context, seen: Observed, message: Message, now_ms: int) -> Machine:
    """The machine that this message meets: of the round under way, of a new one, or of the segment that is committed
    already.

    A committer whose session ended since it was chosen is taken out first (rule `winner-only`). A machine that cannot
    be read counts as none: replicas agree again, or go on at the end that is on record. The table's config says which
    protocol a new round follows; one that is open keeps its own. Raises StateConflict when the record allows no commit.
    """
    metadata, kind = seen.metadata, seen.stream.type
    if metadata.status in COMPLETED_STATUSES:
        return completion.committed_machine(kind, _end_of(seen), now_ms)
    if metadata.status not in (IN_PROGRESS, COMMITTING):
        raise StateConflict(
            f"Segment '{seen.name}' is {metadata.status}.", remedy="It is repaired by the validation pass."
        )
    end = _end_of(seen) if metadata.status == COMMITTING else None
    found = _read_machine(seen)
    if found is not None and found.stream_type == kind and _is_of(found, end):
        return _with_living_winner(ctx, found, message, now_ms)
    replicas, timeout_ms = _number(metadata.fields.get(REPLICAS)), seen.stream.commit_timeout_s * 1000
    if end is not None:
        return completion.committing_machine(kind, replicas, end, now_ms, commit_timeout_ms=timeout_ms)
    return completion.open_machine(
        kind,
        replicas,
        now_ms,
        commit_timeout_ms=timeout_ms,
        remembered_ms=seen.remembered_ms,
        is_first_stop=message.kind is Kind.STOPPED,
        kind=completion.PAUSELESS if seen.config.is_pauseless else completion.STANDARD,
    )


def awaited_replicas(ctx: Context, seen: Observed, machine: Machine, message: Message) -> int | None:
    """How many replicas a round has still to hear: those of the ideal state that consume and are alive. None: as many
    as the segment's record says.

    The ideal state may have more than the record, while a partition moves: a commit that does not wait for the server
    that has the older segments leaves nobody with all of them. Names alone never die, so the sender itself has to be
    alive.
    """
    if message.kind is not Kind.CONSUMED or not message.session or machine.winner is not None:
        return None
    ideal = ctx.store.get(paths.ideal_state(seen.table.typed))
    row = ideal.record.maps.get(seen.name.text) if ideal and ideal.record else None
    if not row:
        return None
    known = {*machine.offsets, *machine.excluded, message.instance}
    silent = [i for i, state in row.items() if state == CONSUMING and i not in known]
    return sum(node is not None for node in ctx.store.get_many([paths.live_instance(i) for i in silent]))


def machine_writes(seen: Observed, after: Machine | None) -> list[Write]:
    """The machine as it is to be, on condition that machine and segment are as they were read; nothing when nothing
    changed.
    """
    if seen.segment is None or seen.metadata.status in COMPLETED_STATUSES:
        return removal(seen)
    written = round_write(seen, after)
    return [Check(paths.segment(seen.table.typed, seen.name.text), seen.segment.version), *written] if written else []


def round_write(seen: Observed, after: Machine | None) -> list[Write]:
    """The machine alone, with a write of the segment's own record; nothing when nothing changed."""
    path, node = paths.completion(seen.table.typed, seen.name.text), seen.machine
    record = after.to_record(seen.name.text) if after is not None else _ended(seen) if node is not None else None
    if record is None or (node is not None and node.record == record):
        return []
    return [Create(path, record) if node is None else Replace(path, record, node.version)]


def end_write(seen: Observed) -> list[Write]:
    """The machine's end, with a write of the segment's own record."""
    path = paths.completion(seen.table.typed, seen.name.text)
    return [] if seen.machine is None else [Replace(path, _ended(seen), seen.machine.version)]


def removal(seen: Observed) -> list[Write]:
    """The machine's removal, with the commit of its segment."""
    path = paths.completion(seen.table.typed, seen.name.text)
    return [] if seen.machine is None else [Delete(path, seen.machine.version)]


def remember(ctx: Context, table: TableName, took_ms: int) -> None:
    """Later commits of this table get at least so much time."""

    def decide(found: Versioned | None) -> ZNRecord:
        record = (found.record if found else None) or ZNRecord(table.typed)
        return record.with_simple_items({_TOOK: str(max(took_ms, _number(record.simple.get(_TOOK), 0)))})

    update_record(ctx.store, paths.completions(table.typed), decide)


def remove_left_machines(ctx: Context, table: TableName) -> int:
    """Remove machines whose segment is gone or committed; returns how many. For passes."""
    folder, removed = paths.completions(table.typed), 0
    for name in ctx.store.children(folder):
        node, segment = ctx.store.get_many([f"{folder}/{name}", paths.segment(table.typed, name)])
        status = segment_metadata.from_record(segment.record).status if segment and segment.record else None
        if node is not None and (status is None or status in COMPLETED_STATUSES):
            removed += ctx.store.delete(f"{folder}/{name}", node.version)
    return removed


def _end_of(seen: Observed) -> Offset:
    """The end offset on record. StateConflict when there is none."""
    end = seen.metadata.fields.get(END_OFFSET)
    if end is None:
        raise StateConflict(f"Segment '{seen.name}' is {seen.metadata.status} and has no end offset.")
    return parse_offset(seen.stream.type, end)


def _is_of(machine: Machine, end: Offset | None) -> bool:
    """Does the machine stand where the record says: a commit started at this end, or not at all?"""
    return machine.has_started == (end is not None) and (end is None or machine.winning == end)


def _read_machine(seen: Observed) -> Machine | None:
    if not seen.has_round or seen.machine is None or seen.machine.record is None:
        return None
    try:
        return completion.from_record(seen.machine.record)
    except RecordCorrupt as error:
        log.warning("The round of %s begins again: %s", seen.name, error)
        return None


def _with_living_winner(ctx: Context, machine: Machine, message: Message, now_ms: int) -> Machine:
    winner = machine.winner
    chosen_in = machine.sessions.get(winner, "") if winner else ""
    if winner is None or not chosen_in:
        return machine
    if winner == message.instance:
        # Who ends or extends its commit is alive, whatever its session; who begins again elsewhere has restarted.
        has_restarted = (
            message.kind is Kind.CONSUMED and message.session != chosen_in and message.offset != machine.winning
        )
    else:
        has_restarted = session_of(ctx.store.get(paths.live_instance(winner))) != chosen_in
    if not has_restarted:
        return machine
    return completion.step(machine, Message(Kind.LOST, winner), now_ms).machine or machine


def _stream_of(config: TableConfig, partition: int) -> tuple[StreamConfig, int]:
    maps = stream_maps(config)
    index = topic_of(partition, len(maps))
    if index >= len(maps):
        raise InvalidInput(
            f"Partition {partition} belongs to stream {index} of table '{config.table}', which has {len(maps)}."
        )
    return parse_stream_config(maps[index], index), len(maps)


def _ended(seen: Observed) -> ZNRecord:
    return ZNRecord(seen.name.text, {"state": _ENDED})


def _number(text: str | None, default: int = 1) -> int:
    return int(text) if text is not None and text.isdigit() else default
