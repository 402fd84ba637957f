"""Delete the newest segments of partitions, so that a resume reads their rows again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.commit.fields import END_OFFSET, START_OFFSET
from segments.domain.realtime.llc_name import partition_of
from segments.domain.realtime.pause import consuming_segments, pause_of
from segments.domain.realtime.sequence_deletion import plan_deletion
from segments.domain.realtime.streams.stream_config import stream_configs
from segments.errors import InvalidInput, PinotAdminError, PreconditionFailed
from segments.names import REALTIME, TableName, split_table_name
from segments.services.core.context import Actor, Context
from segments.services.realtime.realtime_state import read_ideal
from segments.services.realtime.stream_facts import StreamFacts, stream_facts
from segments.services.segments import deletion
from segments.services.segments.segments import read_records
from segments.services.tables.table_record import read_table_config


def delete_from_sequence(
    ctx: Context, table: str, segments: Sequence[str], *, dry_run: bool, force: bool, actor: Actor
) -> dict[str, Any]:
    """Per partition delete the lowest of the given segments and all after it; the answer is the plan (``dry_run``) or
    what was done.

    Unknown names are ignored. Unless ``force``, the partitions must be paused and none of the segments may still
    consume. Raises InvalidInput, NotFound, PreconditionFailed.
    """
    raw, suffix = split_table_name(table)
    if suffix != REALTIME:
        raise InvalidInput(f"'{table}' is not a REALTIME table.", remedy=f"Use {raw}_REALTIME.")
    name = TableName(raw, REALTIME)
    if not segments:
        raise InvalidInput("No segment is named.", remedy="Add segments=... at least once.")
    ideal = read_ideal(ctx, name).record
    assert ideal is not None
    plan = plan_deletion(list(ideal.maps), segments)
    doomed = [s for p in plan.values() for s in p.segments]
    if not force:
        _check_paused(ideal, name, plan, doomed)
    if not dry_run and doomed:
        deletion.remove_segments(ctx, name, doomed, force=force and bool(actor.reason), actor=actor)
    would = f"Dry run completed: {len(doomed)} segments would be deleted."
    return {
        "tableName": name.typed,
        "dryRun": dry_run,
        "message": would if dry_run else f"Deleted {len(doomed)} segments.",
        "partitions": {str(p): plan[p].to_json() for p in sorted(plan)},
    }


@dataclass(frozen=True)
class Reread:
    """What a deletion from a sequence number on takes from one partition, and what a resume would read again.

    ``segments`` by sequence; offsets as text, ``end`` exclusive, "" while the last one consumes; ``missing``: what the
    stream has lost of it, None: nothing, or it was not asked; ``problem``: why it is not known.
    """

    partition: int
    segments: Sequence[str]
    start: str
    end: str
    missing: tuple[str, str] | None = None
    problem: str = ""


def preview_rereading(ctx: Context, table: TableName, segments: Sequence[str]) -> list[Reread]:
    """Per partition what would go and be read again; nothing is changed. NotFound for an unknown table."""
    ideal = read_ideal(ctx, table).record
    plan = plan_deletion(list(ideal.maps) if ideal else [], segments)
    with stream_facts(ctx, stream_configs(read_table_config(ctx, table))) as facts:
        return [_reread(ctx, table, facts, p, plan[p].segments) for p in sorted(plan)]


def _reread(ctx: Context, table: TableName, facts: StreamFacts, partition: int, names: Sequence[str]) -> Reread:
    records = read_records(ctx, table, [names[0], names[-1]])
    start, end = records[names[0]].fields.get(START_OFFSET, ""), records[names[-1]].fields.get(END_OFFSET, "")
    found = Reread(partition, names, start, end)
    try:
        last = facts.parse(partition, end) if end else facts.latest(partition)
        lost = facts.lost(partition, facts.parse(partition, start), last)
    except PinotAdminError as error:
        return replace(found, problem=str(error))
    return found if lost is None else replace(found, missing=(lost[0].text, lost[1].text))


def _check_paused(ideal: ZNRecord, table: TableName, plan: Mapping[int, object], doomed: Collection[str]) -> None:
    """PreconditionFailed unless the partitions are paused and nothing of what goes still consumes."""
    state = pause_of(ideal)
    if not state.paused and not set(plan) <= set(state.partitions):
        raise PreconditionFailed(
            f"Table {table} should be paused before deleting segments.", remedy="Pause it, or use force=true."
        )
    consuming = sorted(set(doomed) & set(consuming_segments(ideal)))
    if consuming:
        raise PreconditionFailed(
            f"Segment {consuming[0]} still consumes (partition {partition_of(consuming[0])}).",
            remedy="Wait until pauseStatus lists no consuming segment, or use force=true.",
        )
