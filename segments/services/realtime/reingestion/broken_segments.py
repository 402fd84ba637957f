"""Committed segments that no server can show, and what reading one of them again would mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.domain.realtime.reingestion.job import Job
from segments.domain.realtime.reingestion.rules import is_lost, offsets_of
from segments.domain.realtime.repair.recovery_mode import RECOVERY_MODE_KEY, may_reingest
from segments.domain.realtime.streams.stream_config import stream_configs
from segments.domain.segments import segment_metadata
from segments.domain.segments.segment_metadata import COMMITTING, DONE, SegmentMetadata
from segments.errors import InvalidInput, NotFound, PinotAdminError, StateConflict, Unavailable
from segments.names import TableName
from segments.services.clusters.cluster_settings import read_settings
from segments.services.core.context import Context
from segments.services.realtime.stream_facts import StreamFacts, stream_facts
from segments.services.segments.segment_reset import not_assigned
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.records.instances import live_instances
from segments.store.records.reingestions import read_job

#: Messages that are counted at most, where offsets do not number them.
_MOST_COUNTED: Final = 5_000_000


@dataclass(frozen=True)
class Broken:
    """A segment as its record, its row and its replicas say. ``job``: the latest reingestion of it."""

    metadata: SegmentMetadata
    row: Mapping[str, str]
    view: Mapping[str, str]
    job: Job | None = None

    @property
    def name(self) -> str:
        """The segment."""
        return self.metadata.name

    @property
    def is_lost(self) -> bool:
        """Is every replica that reports it in ERROR?"""
        return is_lost(self.row, self.view)


@dataclass(frozen=True)
class Preview:
    """What a reingestion of a segment would read. ``messages`` in the range (None: more than are counted, or not
    known); ``missing``: what the stream has lost of it; ``problem``: why it cannot be done, "" when it can; ``notes``:
    what a person should know before.
    """

    segment: str
    status: str
    start: str = ""
    end: str = ""
    messages: int | None = None
    missing: tuple[str, str] | None = None
    problem: str = ""
    notes: Sequence[str] = ()
    job: Job | None = None

    @property
    def can_start(self) -> bool:
        """Would it be started, the loss of missing rows accepted?"""
        return not self.problem and not (self.job is not None and self.job.is_active)

    def to_json(self) -> dict[str, Any]:
        """As the API shows it."""
        return {
            "segmentName": self.segment,
            "status": self.status,
            "startOffset": self.start,
            "endOffset": self.end,
            "messages": self.messages,
            "missing": list(self.missing) if self.missing else None,
            "problem": self.problem,
            "notes": list(self.notes),
            "job": self.job.to_json() if self.job else None,
        }


@dataclass
class _Table:
    """What is read once for all segments of a table."""

    ctx: Context
    table: TableName
    facts: StreamFacts
    live: frozenset[str] = field(default_factory=frozenset)


def broken_segments(ctx: Context, table: TableName) -> list[Broken]:
    """Segments of a REALTIME table that were consumed, whose commit began, and all of whose replicas that report are in
    ERROR; by partition and sequence, the order in which rows that depend on others can be read again.
    """
    ideal, view = ctx.store.get_many([paths.ideal_state(table.typed), paths.external_view(table.typed)])
    rows, states = (node.record.maps if node and node.record else {} for node in (ideal, view))
    lost = [s for s, row in rows.items() if is_llc_name(s) and is_lost(row, states.get(s, {}))]
    names = sorted(lost, key=parse_llc_name)
    found = []
    for name, node in zip(names, ctx.store.get_many([paths.segment(table.typed, s) for s in names]), strict=True):
        metadata = segment_metadata.from_record(node.record) if node and node.record else None
        if metadata is not None and metadata.status in (COMMITTING, DONE):
            job = read_job(ctx.store, table.typed, name)
            found.append(Broken(metadata, rows[name], states.get(name, {}), job))
    return found


def read_broken(ctx: Context, table: TableName, segment: str) -> Broken:
    """One segment, broken or not. NotFound: no such segment, or one without a row; InvalidInput: none that was
    consumed.
    """
    parse_llc_name(segment)
    ideal, view, node = ctx.store.get_many(
        [paths.ideal_state(table.typed), paths.external_view(table.typed), paths.segment(table.typed, segment)]
    )
    if node is None or node.record is None:
        raise NotFound(f"Table '{table}' has no segment '{segment}'.", remedy="Check its name.")
    row = ideal.record.maps.get(segment) if ideal and ideal.record else None
    if row is None:
        raise not_assigned(segment, table)
    states = view.record.maps.get(segment, {}) if view and view.record else {}
    job = read_job(ctx.store, table.typed, segment)
    return Broken(segment_metadata.from_record(node.record), row, states, job)


def preview(ctx: Context, table: TableName, segments: Sequence[str]) -> list[Preview]:
    """What reingesting each of these segments would mean now; nothing is changed. NotFound for an unknown table."""
    config = read_table_config(ctx, table)
    with stream_facts(ctx, stream_configs(config)) as facts:
        seen = _Table(ctx, table, facts, frozenset(live_instances(ctx.store)))
        notes = _notes_of_mode(config.streaming.disaster_recovery_mode) if not _is_allowed(ctx, table) else []
        return [_preview(seen, segment, notes) for segment in segments]


def check_broken(ctx: Context, table: TableName, found: Broken) -> None:
    """May its rows be read again? StateConflict for one that is consumed, has a replica that shows it, or whose file is
    there; InvalidInput for one that was uploaded.
    """
    status = found.metadata.status
    if status not in (COMMITTING, DONE):
        raise InvalidInput(
            f"Segment '{found.name}' is {status}: only one whose commit began can be read again.",
            remedy="Reset it.",
        )
    offsets_of(found.metadata)
    shown = sorted(i for i, state in found.view.items() if state == "ONLINE")
    if shown:
        raise StateConflict(
            f"Segment '{found.name}' is not broken: {', '.join(shown)} has it.", remedy="Reset its other replicas."
        )
    if status == DONE and not found.is_lost:
        raise StateConflict(
            f"No replica of segment '{found.name}' is in ERROR: its servers may still load it.",
            remedy="Wait until they have given up.",
        )
    if status == DONE and has_file(ctx, table, found.metadata):
        raise StateConflict(
            f"The file of segment '{found.name}' is in the deep store.", remedy="Reset its replicas, which load it."
        )


def has_file(ctx: Context, table: TableName, metadata: SegmentMetadata) -> bool:
    """Is the file that the segment's record names in the deep store?"""
    return bool(metadata.download_url) and metadata.name not in ctx.engine.consumption.missing_files(
        ctx, table, [metadata.name]
    )


def _preview(seen: _Table, segment: str, notes: Sequence[str]) -> Preview:
    try:
        found = read_broken(seen.ctx, seen.table, segment)
    except (NotFound, InvalidInput) as error:
        return Preview(segment, "", problem=str(error))
    status, job = found.metadata.status, found.job
    try:
        wanted = offsets_of(found.metadata)
    except StateConflict as error:
        return Preview(segment, status, problem=str(error), job=job)
    shown = Preview(segment, status, wanted.start, wanted.end, notes=[*notes, *_notes(seen, found)], job=job)
    try:
        check_broken(seen.ctx, seen.table, found)
        messages, missing = _in_stream(seen.facts, parse_llc_name(segment).partition, wanted.start, wanted.end)
    except PinotAdminError as error:
        return Preview(**{**shown.__dict__, "problem": str(error)})
    return Preview(**{**shown.__dict__, "messages": messages, "missing": missing})


def _in_stream(facts: StreamFacts, partition: int, start: str, end: str) -> tuple[int | None, tuple[str, str] | None]:
    """How many messages the stream has in the range, and what it has lost of it. Unavailable."""
    first, last = facts.parse(partition, start), facts.parse(partition, end)
    lost = facts.lost(partition, first, last)
    if lost is None:
        return facts.count(partition, first, last, _MOST_COUNTED), None
    left = facts.count(partition, lost[1], last, _MOST_COUNTED) if lost[1] < last else 0
    return left, (lost[0].text, lost[1].text)


def missing_range(ctx: Context, table: TableName, found: Broken) -> tuple[str, str] | None:
    """What the stream has lost of the segment's range; None also when the stream does not answer, which the job waits
    for.
    """
    wanted, partition = offsets_of(found.metadata), parse_llc_name(found.name).partition
    with stream_facts(ctx, stream_configs(read_table_config(ctx, table))) as facts:
        try:
            lost = facts.lost(partition, facts.parse(partition, wanted.start), facts.parse(partition, wanted.end))
        except Unavailable:
            return None
    return None if lost is None else (lost[0].text, lost[1].text)


def _notes(seen: _Table, found: Broken) -> list[str]:
    down = sorted(set(found.row) - seen.live)
    text = f"{', '.join(down)} is down and may still have the segment: it would be back with that server."
    return [text] if down else []


def _notes_of_mode(mode: str | None) -> list[str]:
    return [
        "The table has partial upsert or deduplication: rows that are read out of their order may be merged or dropped "
        f"differently until its metadata is built again (disasterRecoveryMode is {mode or 'DEFAULT'})."
    ]


def _is_allowed(ctx: Context, table: TableName) -> bool:
    return may_reingest(read_table_config(ctx, table), read_settings(ctx).get(RECOVERY_MODE_KEY))
