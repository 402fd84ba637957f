"""What the validation pass does on a real Pinot besides comparing records: it finds partitions that stand still and
rollbacks that stopped half-way, and removes what we keep beyond its time.

Consumption is not repaired from here: Pinot's own validation does that, every hour by default, and can be asked to run
now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NoReturn

from segments.clusters.pinot.replacement import reaper
from segments.clusters.pinot.replacement.rollback import read_rollback
from segments.domain.realtime.pause import consuming_segments, is_disabled, pause_of
from segments.domain.realtime.realtime_repair import Case, Kind, Seen, diagnose
from segments.domain.realtime.streams.stream_config import stream_maps
from segments.domain.replacement.stepwise_rollback import FAILED, RUNNING
from segments.domain.upkeep.findings import Found
from segments.errors import InvalidInput
from segments.gateways.deep_store.deepstore import encode
from segments.names import REALTIME, TableName
from segments.services.core.context import Context
from segments.services.engine.consumption import Validated
from segments.services.realtime.realtime_state import observe_realtime
from segments.services.replacement.undo.kept_entries import forget_spent
from segments.services.segments import archive
from segments.services.tables.table_record import read_table_config
from segments.services.upkeep.validation import CONSUMPTION, keep_findings
from segments.store import paths

_REPAIR: Final = "Pinot's own validation repairs it; run RealtimeSegmentValidationManager to have it done now."
#: A rollback that is under way for longer than this has stopped.
_ROLLBACK_MS: Final = 10 * 60_000
#: What each kind of case means for a person.
_MEANING: Final[dict[Kind, str]] = {
    Kind.FIRST: "has no segment",
    Kind.NEXT: "does not consume: its latest segment {segment} is committed and has no successor",
    Kind.AGAIN: "does not consume: every replica of {segment} stopped",
    Kind.FAILING: "does not consume: every replica of {segment} stopped, again and again",
    Kind.FINISH: "does not consume: the commit of {segment} stopped half-way",
    Kind.CLOSE: "has ended, and the commit of {segment} stopped half-way",
    Kind.REPLICAS: "is consumed by some replicas of {segment} only",
    Kind.STUCK: "stands still at {segment}: {reason}",
}


def validate(ctx: Context, table: TableName) -> Validated:
    """Findings about consumption are kept as those of a pass of their own: they close when it finds nothing."""
    read_table_config(ctx, table)  # NotFound, before anything of it is removed
    stopped = _consumption_findings(ctx, table)
    keep_findings(ctx.cluster, table.typed, stopped, owns=lambda code: code.startswith(CONSUMPTION))
    findings = _rollback_findings(ctx, table)
    sentences = [
        *(f.message for f in stopped),
        *archive.remove_aged(ctx, encode(table.raw)),
        *forget_spent(ctx, table),
        *reaper.tidy(ctx, table),
    ]
    return Validated(sentences, findings)


def missing_files(ctx: Context, table: TableName, segments: Sequence[str]) -> set[str]:
    """None: the deep store is Pinot's, and nothing reports what it holds."""
    return set()


def require_set_aside(ctx: Context, table: TableName) -> NoReturn:
    """InvalidInput: Pinot's servers count messages that gave no row, and keep none."""
    raise InvalidInput(
        f"Messages that gave no row are not kept for {table}: servers of Apache Pinot count them and keep none.",
        remedy="Pinot's servers count them in the metrics INVALID_REALTIME_ROWS_DROPPED and ROWS_WITH_ERRORS.",
    )


def _rollback_findings(ctx: Context, table: TableName) -> list[Found]:
    """A rollback over several entries that stopped before its last step."""
    job = read_rollback(ctx, table)
    if job is None or not (job.state == FAILED or (job.state == RUNNING and ctx.clock() - job.at_ms > _ROLLBACK_MS)):
        return []
    left = len(job.steps) - len(job.done)
    text = (
        f"A rollback to before lineage entry {job.target} stopped with {left} of {len(job.steps)} steps left. "
        f"{job.error}".rstrip()
    )
    remedy = "Begin it again, or stay at the snapshot that queries see now."
    return [Found("rollback-stopped", job.id, "error", f"{text} {remedy}")] if left else []


def _consumption_findings(ctx: Context, table: TableName) -> list[Found]:
    """Partitions of a REALTIME table that should consume and do not. A table that is paused or disabled
    needs nothing.
    """
    if table.type != REALTIME:
        return []
    state = observe_realtime(ctx, table)
    if is_disabled(state.ideal):
        return []
    topics = len(stream_maps(read_table_config(ctx, table)))
    seen = Seen(ideal=state.ideal, pause=pause_of(state.ideal), segments=state.known, partitions=None, topics=topics)
    found = [_found(case) for case in diagnose(seen, ctx.clock()) if case.kind in _MEANING]
    return [*found, *_without_server(ctx, table)]


def _found(case: Case) -> Found:
    segment = case.latest.name.text if case.latest else ""
    meaning = _MEANING[case.kind].format(segment=segment, reason=case.reason)
    severity: Literal["error", "warning"] = "warning" if case.kind in (Kind.REPLICAS, Kind.CLOSE) else "error"
    code = "stuck" if case.kind is Kind.STUCK else case.kind.name.lower()
    return Found(CONSUMPTION + code, str(case.partition), severity, f"Partition {case.partition} {meaning}. {_REPAIR}")


def _without_server(ctx: Context, table: TableName) -> list[Found]:
    node, live = ctx.store.get(paths.ideal_state(table.typed)), set(ctx.store.children(paths.LIVE_INSTANCES))
    if node is None or node.record is None:
        return []
    lost = [s for s in consuming_segments(node.record) if not live & set(node.record.maps[s])]
    text = "Segment {} does not consume: none of its servers is alive. Start one of them."
    return [Found(CONSUMPTION + "no-server", s, "error", text.format(s)) for s in lost]
