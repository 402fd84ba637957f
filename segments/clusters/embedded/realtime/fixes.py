"""Fix it: what a person can have done about a finding of the embedded cluster, with every write named beforehand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

from segments.clusters.embedded.realtime import committing
from segments.clusters.embedded.realtime.described_writes import described
from segments.clusters.embedded.realtime.replica_resets import Resets, plan_resets
from segments.clusters.embedded.segments import deep_store_upload
from segments.clusters.embedded.validation import missing_files
from segments.domain.formats.plural import counted
from segments.domain.realtime.repair.committing import Need
from segments.domain.segments.segment_metadata import DONE
from segments.domain.upkeep.findings import NO_FILE, NOT_SERVED
from segments.errors import StateConflict
from segments.names import REALTIME, TableName
from segments.services.core.context import SYSTEM, Context
from segments.services.engine.fixes import Fix, no_fix
from segments.services.realtime.consuming_segments import ensure_consuming, planned_repair
from segments.services.realtime.reingestion import jobs
from segments.services.realtime.reingestion.broken_segments import broken_segments, has_file, preview
from segments.services.segments import segment_reset
from segments.services.segments.segments import read_records
from segments.store import paths
from segments.store.records.instances import live_instances

#: Of tables of any type; all others are about consumption.
_OF_ANY_TABLE: Final = frozenset({"replica-error", NO_FILE, NOT_SERVED})
_LAST_COPY: Final = (
    "No other copy of its rows is known, and a reset would give up what the server still has. Start a server that has "
    "it; when there is none, reset the segment on its own page, or reingest it there."
)
_NO_COPY: Final = "No live server has a copy of it. Start one that has, or push or upload the segment again."


def plan_fix(ctx: Context, table: TableName, code: str, subject: str) -> Fix:
    """The remedy for a finding of the table, worked out from what is now."""
    plan = _PLANS.get(code)
    if plan is None or (code not in _OF_ANY_TABLE and table.type != REALTIME):
        return no_fix("This finding needs a person: its text says what to do.")
    return plan(ctx, table, subject)


def _consumption(ctx: Context, table: TableName, _: str) -> Fix:
    does = "Puts ideal state and records of the table's partitions right, and has them consume."
    writes = described(ctx.store, planned_repair(ctx, table))
    if not writes:
        return Fix(does, why_not="There is nothing to write: it was repaired meanwhile, or it is paused.")

    def run() -> list[str]:
        return ensure_consuming(ctx, table, is_patient=True, is_forced=True).sentences

    return Fix(does, writes, run)


def _resets(ctx: Context, table: TableName, segment: str) -> Fix:
    does = f"Restarts the replicas of {segment} that are in ERROR; healthy ones continue."
    plan = plan_resets(ctx, table, [segment])
    if not plan.replicas:
        if plan.kept and _is_gone(ctx, table, segment) and not (again := _reingest(ctx, table, segment)).why_not:
            return again
        why = _LAST_COPY if plan.kept else "No live replica of it is in ERROR any more."
        return Fix(does, why_not=why)
    writes = tuple(
        f"Creates a message below {paths.messages(i)}: ERROR -> OFFLINE of {s}, which is then loaded again."
        for i, s in plan.replicas
    )
    return Fix(does, writes, lambda: _send(ctx, table, plan_resets(ctx, table, [segment])))


def _send(ctx: Context, table: TableName, plan: Resets) -> list[str]:
    chosen = defaultdict(list)
    for instance, segment in plan.replicas:
        chosen[instance].append(segment)
    count = segment_reset.send_resets(ctx, table, chosen, plan.view) if chosen else 0
    return [f"Reset {counted(count, 'replica')} of {table} in ERROR."]


def _copy(ctx: Context, table: TableName, segment: str) -> Fix:
    does = f"Has a server that serves {segment} upload its copy to the deep store."
    record = read_records(ctx, table, [segment]).get(segment)
    servers = deep_store_upload.replicas(ctx, table, segment)
    if not servers and _is_gone(ctx, table, segment):
        return _reingest(ctx, table, segment)
    if record is None or not servers or not ctx.deep_store.exists:
        lost = "No live server serves it." if table.type == REALTIME else _NO_COPY
        why = lost if ctx.deep_store.exists else "This installation has no deep store."
        return Fix(does, why_not=why if record else "The segment has no record any more.")
    if not record.is_on_servers_only and not missing_files(ctx, table, [segment]):
        return Fix(does, why_not="The deep store has its file by now.")
    where = ctx.deep_store.uri(ctx.deep_store.file_path(table.raw, segment, record.crc or 0))
    writes = (
        f"Asks {' or '.join(sorted(servers))} to upload the segment.",
        f"Writes {where}.",
        f"Changes {paths.segment(table.typed, segment)}: segment.download.url is the address of that file.",
    )

    def run() -> list[str]:
        _require_done(deep_store_upload.try_upload(ctx, table, segment, record))
        return [f"Segment {segment} is in the deep store now."]

    return Fix(does, writes, run)


def _commit(ctx: Context, table: TableName, segment: str) -> Fix:
    does = f"Ends the commit of {segment} with the sealed copy of a server."
    each = next((u for u in committing.unfinished_commits(ctx, table) if u.segment.name == segment), None)
    if each is None:
        return Fix(does, why_not="Its commit has ended meanwhile.")
    if not each.segment.holders:
        return Fix(does, why_not=f"No live server has it sealed: {each.need}.")
    writes = (
        f"Asks {' or '.join(each.segment.holders)} to upload the segment.",
        f"Writes {ctx.deep_store.uri(ctx.deep_store.segment_path(table.raw, segment))}.",
        f"Changes {paths.segment(table.typed, segment)}: segment.realtime.status COMMITTING -> DONE, with rows, times, "
        "CRC and address of the copy.",
        f"Changes {paths.committing(table.typed)}: without {segment}.",
    )

    def run() -> list[str]:
        _require_done(committing.end_from_server(ctx, table, each))
        return [f"The commit of {segment} has ended."]

    return Fix(does, writes, run)


def _require_done(why_not: str) -> None:
    if why_not:
        raise StateConflict(f"It was not done: {why_not}", remedy="Check the servers and the deep store, then again.")


def _serve(ctx: Context, table: TableName, segment: str) -> Fix:
    """Where every copy is gone, a reset helps nobody: only the stream may have the rows."""
    if _is_gone(ctx, table, segment):
        return _reingest(ctx, table, segment)
    plan, down = _resets(ctx, table, segment), _down(ctx, table, segment)
    return no_fix(f"Start {' or '.join(down)}.") if plan.why_not and down else plan


def _is_gone(ctx: Context, table: TableName, segment: str) -> bool:
    """Is every replica of a segment that was consumed in ERROR, and its file not in the deep store either?"""
    found = broken_segments(ctx, table) if table.type == REALTIME else []
    return any(each.name == segment and not has_file(ctx, table, each.metadata) for each in found)


def _unhosted(ctx: Context, table: TableName, segment: str) -> Fix:
    down = _down(ctx, table, segment)
    return no_fix(f"Start {' or '.join(down)}." if down else "A server that should consume it is alive again.")


def _down(ctx: Context, table: TableName, segment: str) -> list[str]:
    """Servers of the segment's replicas that are not alive."""
    node = ctx.store.get(paths.ideal_state(table.typed))
    row = node.record.maps.get(segment, {}) if node and node.record else {}
    return sorted(set(row) - set(live_instances(ctx.store)))


def _reingest(ctx: Context, table: TableName, segment: str) -> Fix:
    does = f"Has a live server read the rows of {segment} from the stream again."
    each = next((u for u in committing.unfinished_commits(ctx, table) if u.segment.name == segment), None)
    if each is not None and each.need is Need.UPLOAD:
        return _commit(ctx, table, segment)
    [seen] = preview(ctx, table, [segment])
    if not seen.can_start or seen.missing is not None:
        lost = seen.missing and f"The stream has lost its rows from {seen.missing[0]} to {seen.missing[1]}: reingest it"
        why = seen.problem or (f"{lost} on its own page, where the loss is accepted." if lost else "")
        return Fix(does, why_not=why or "It is being read again already.")
    count = "" if seen.messages is None else f", {counted(seen.messages, 'message')}"
    record = paths.segment(table.typed, segment)
    opens = f"Changes {record}: segment.realtime.status DONE -> COMMITTING, without what it says of the file."
    writes = (
        *([opens] if seen.status == DONE else []),
        f"Creates {paths.reingestion(table.typed, segment)}: offsets {seen.start} to {seen.end}{count}.",
        f"Afterwards changes {record}: segment.realtime.status COMMITTING -> DONE, with rows, times, CRC and address; "
        "its replicas are then reset.",
        *seen.notes,
    )

    def run() -> list[str]:
        job = jobs.reingest(ctx, table, segment, actor=SYSTEM)
        return [f"{job.instance} reads segment {segment} from the stream again."]

    return Fix(does, writes, run)


_PLANS: Final[Mapping[str, Callable[[Context, TableName, str], Fix]]] = {
    "consumption-half-commit": _consumption,
    "consumption-stuck": _consumption,
    "consumption-failing": _consumption,
    "consumption-repair": _consumption,
    "consumption-no-server": _unhosted,
    "consumption-no-copy": _copy,
    "consumption-last-copy": _resets,
    committing.LATE: _commit,
    committing.REINGEST: _reingest,
    committing.UNRECOVERABLE: _reingest,
    "replica-error": _resets,
    NO_FILE: _copy,
    NOT_SERVED: _serve,
}
#: Findings about which something can be done from here.
FIXABLE: Final = frozenset(_PLANS)
