"""What a rebalance would move, with the pre-checks and the data-loss rule; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from segments.clusters.embedded.rebalance.observed import Observed, observe, placement
from segments.domain.formats.plural import counted
from segments.domain.realtime.repair.recovery_mode import RECOVERY_MODE_KEY, may_reingest
from segments.domain.rebalance.answers import Check, Plan, plan_of
from segments.domain.rebalance.data_loss import risks
from segments.domain.rebalance.options import Options
from segments.domain.rebalance.target import Placement, moves, targets
from segments.domain.segments.ideal_state import CONSUMING
from segments.domain.tables.table_config import TableConfig
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.clusters.cluster_settings import read_settings
from segments.services.core.context import Context
from segments.services.segments.segments import read_records
from segments.services.tables.table_record import read_table_config

#: Segments that a sentence names.
_NAMED: Final = 3


@dataclass(frozen=True)
class Planned:
    """A plan and what it was made of. ``commits``: consuming segments that are committed before they move."""

    seen: Observed
    config: TableConfig
    placement: Placement
    plan: Plan
    commits: tuple[str, ...] = ()


def make_plan(ctx: Context, table: TableName, options: Options) -> Planned:
    """Raises NotFound, InvalidInput for options that cannot be kept, StateConflict when servers are missing."""
    options.refuse_pinot_only()
    config = read_table_config(ctx, table)
    seen = observe(ctx, table)
    options.check(config.replication)
    where = placement(ctx, config)
    asked = options.include_consuming or options.force_commit
    moved = moves(targets(where, seen.ideal.maps, include_consuming=asked), seen.ideal.maps)
    _check_alive(seen, moved)
    records = read_records(ctx, table, list(moved))
    sizes = {s: m.size_bytes or 0 for s, m in records.items()}
    plan = plan_of(seen.ideal.maps, moved, sizes)
    lost = (
        risks(moved, seen.serving, records, may_repair=may_reingest(config, read_settings(ctx).get(RECOVERY_MODE_KEY)))
        if options.needed(config.replication) == 0
        else {}
    )
    is_consuming = {s for s in moved if CONSUMING in seen.ideal.maps[s].values()}
    commits = tuple(sorted(is_consuming)) if options.force_commit else ()
    checked = replace(plan, checks=_checks(config, where, options, plan), refusal=_refusal(lost), at_risk=tuple(lost))
    return Planned(seen, config, where, checked, commits)


def _check_alive(seen: Observed, moved: Mapping[str, Sequence[str]]) -> None:
    """A server that is down cannot load: its segments would be waited for."""
    wanted = {i for s, target in moved.items() for i in target if i not in seen.ideal.maps[s]}
    down = sorted(wanted - seen.live)
    if down:
        raise StateConflict(
            f"Segments of table '{seen.table}' would move to server '{down[0]}', which is down.",
            remedy="Start it, or take its tag away or disable it, then rebalance.",
            servers=down,
        )


def _refusal(lost: Mapping[str, str]) -> str:
    if not lost:
        return ""
    first = min(lost)
    more = f" and of {len(lost) - 1} more" if len(lost) > 1 else ""
    return (
        f"The only copy of segment '{first}'{more} may be lost in a rebalance of a table with peer-download, "
        f"{lost[first]}: no server that has it keeps it. Leave out downtime and minAvailableReplicas=0, or allow it "
        "with allowPeerDownloadDataLoss=true and a reason."
    )


def _checks(config: TableConfig, where: Placement, options: Options, plan: Plan) -> tuple[Check, ...]:
    warnings = []
    needed = options.needed(config.replication)
    if config.peer_scheme and plan.segments:
        if config.replication == 1:
            warnings.append("Replication of the table is 1: a segment that only its server has is lost with the server")
        if needed == 0:
            named = "downtime=true" if options.downtime else "minAvailableReplicas=0"
            warnings.append(f"{named} removes replicas before others are there, on a table with peer-download")
    if needed == 0 and plan.segments:
        warnings.append("queries fail until the new servers have loaded what they get")
    text = "; ".join(warnings) or "All rebalance parameters look good"
    groups = (
        f"{counted(where.replicas, 'replica group', 'is', 'are')} kept: {counted(len(where.servers), 'server')}, "
        "in turn by name"
        if where.is_grouped
        else "The table has no replica groups"
    )
    if where.whole_partitions:
        groups += "; each partition moves whole, with what it consumes"
    return (
        Check("rebalanceConfigOptions", "WARN" if warnings else "PASS", text),
        Check("replicaGroupsInfo", "PASS", groups),
    )
