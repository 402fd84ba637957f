"""Fix it on a real Pinot: what its controller can do about a finding."""

from __future__ import annotations

from typing import Final

from segments.clusters.pinot.calls import quoted
from segments.clusters.pinot.instances.segment_reset import reset_segment
from segments.domain.formats.plural import counted
from segments.domain.segments.ideal_state import ERROR
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.engine.fixes import Fix, no_fix
from segments.store import paths

REPLICA_ERROR: Final = "replica-error"
#: Findings about which something can be done from here.
FIXABLE: Final = frozenset({REPLICA_ERROR})


def plan_fix(ctx: Context, table: TableName, code: str, subject: str) -> Fix:
    """Replicas in ERROR are reset by Pinot's controller, one by one; all else is its own validation's."""
    if code != REPLICA_ERROR:
        return no_fix("Pinot's own validation repairs it: run RealtimeSegmentValidationManager under Passes.")
    does = f"Has Pinot reset the replicas of {subject} in ERROR; healthy ones go on."
    bad = _in_error(ctx, table, subject)
    if not bad:
        return Fix(does, why_not="No replica of it is in ERROR any more.")
    path = f"/segments/{quoted(table.typed)}/{quoted(subject)}/reset"
    return Fix(does, tuple(f"Sends POST {path}?targetInstance={i}." for i in bad), lambda: _reset(ctx, table, subject))


def _reset(ctx: Context, table: TableName, segment: str) -> list[str]:
    count = sum(reset_segment(ctx, table, segment, target=i) for i in _in_error(ctx, table, segment))
    return [f"Reset {counted(count, 'replica')} of {segment} in ERROR."]


def _in_error(ctx: Context, table: TableName, segment: str) -> list[str]:
    node = ctx.store.get(paths.external_view(table.typed))
    row = node.record.maps.get(segment, {}) if node and node.record else {}
    return sorted(i for i, state in row.items() if state == ERROR)
