"""The pass resets replicas in ERROR whose rows are somewhere else, too, and less often the less it helps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from segments.domain.formats.plural import counted
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.domain.realtime.realtime_repair import START_OFFSET
from segments.domain.realtime.realtime_table import check_realtime
from segments.domain.realtime.repair.replica_resets import Copy, Segment, Tries, asks_stream, other_copy, resettable
from segments.domain.segments.ideal_state import ERROR
from segments.domain.segments.segment_metadata import COMMITTING
from segments.domain.upkeep.findings import Found
from segments.errors import PinotAdminError
from segments.names import TableName
from segments.services.clusters.cluster_settings import read_settings
from segments.services.core.context import Context
from segments.services.realtime.stream_facts import StreamFacts, stream_facts
from segments.services.segments import segment_reset
from segments.services.segments.segments import read_records
from segments.services.tables.table_record import read_table_config
from segments.services.upkeep.validation import CONSUMPTION as PREFIX
from segments.store import paths
from segments.store.records.instances import live_instances
from segments.store.records.reset_tries import TriesByReplica, change_tries, read_tries

AUTO_RESET_KEY: Final = "controller.segment.error.autoReset"
#: Resets sent in one run: each is a message in ZooKeeper.
_PER_RUN: Final = 500
LAST_COPY: Final = PREFIX + "last-copy"
Rows = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Resets:
    """{instance: segments} to reset now, what stays in ERROR because its rows may be nowhere else, and what each server
    reports.
    """

    due: Mapping[str, Sequence[str]]
    kept: Sequence[Segment]
    view: Rows

    @property
    def replicas(self) -> list[tuple[str, str]]:
        """(instance, segment) of each reset."""
        return [(i, s) for i, names in sorted(self.due.items()) for s in names]

    @property
    def findings(self) -> list[Found]:
        """One for each segment that is left alone. A COMMITTING one is the repair's that ends commits."""
        return [_finding(s) for s in self.kept if s.metadata.status != COMMITTING]


def plan_resets(ctx: Context, table: TableName, segments: Sequence[str] | None = None) -> Resets:
    """What the pass would reset now; with ``segments`` only replicas of these, and without waiting for their turn."""
    ideal, node = ctx.store.get_many([paths.ideal_state(table.typed), paths.external_view(table.typed)])
    rows, view = (n.record.maps if n and n.record else {} for n in (ideal, node))
    bad = {s for names in segment_reset.bad_replicas(rows, view).values() for s in names}
    observed = _observe(ctx, table, sorted(bad if segments is None else bad & set(segments)), rows, view)
    tries = read_tries(ctx.store, table.typed) if observed and segments is None else {}
    due: dict[str, list[str]] = defaultdict(list)
    for segment in observed:
        name = segment.metadata.name
        for instance in resettable(segment):
            known = tries.get(name, {}).get(instance)
            if known is None or known.is_due(ctx.clock()):
                due[instance].append(name)
    kept = [s for s in observed if s.in_error and other_copy(s) is Copy.NONE]
    return Resets(due, kept, view)


def reset_bad_replicas(ctx: Context, table: TableName) -> tuple[list[str], list[Found]]:
    """Reset the replicas in ERROR, and only those, on servers that are alive (rule `repair-only-what-is-broken`); what
    was done, and what was left alone. As in Pinot, the cluster's switch does not count for pauseless tables.
    """
    is_off = read_settings(ctx).get(AUTO_RESET_KEY, "true").lower() == "false"
    if is_off and not read_table_config(ctx, table).is_pauseless:
        return [], []
    plan = plan_resets(ctx, table)
    now, chosen = plan.replicas[:_PER_RUN], defaultdict(list)
    for instance, segment in now:
        chosen[instance].append(segment)
    # On record before they are sent: a process that dies in between has tried once too few, never once too often.
    change_tries(ctx.store, table.typed, lambda before: _tried(before, chosen, plan.view, ctx.clock()))
    count = segment_reset.send_resets(ctx, table, chosen, plan.view) if chosen else 0
    return [f"Reset {counted(count, 'replica')} of {table} in ERROR."] if count else [], plan.findings


def _tried(before: TriesByReplica, chosen: Mapping[str, Sequence[str]], view: Rows, now_ms: int) -> TriesByReplica:
    """What is on record afterwards. Replicas that have been well for a while are forgotten."""
    after: dict[str, dict[str, Tries]] = {}
    for segment, row in before.items():
        for instance, tries in row.items():
            if view.get(segment, {}).get(instance) == ERROR or not tries.is_over(now_ms):
                after.setdefault(segment, {})[instance] = tries
    for instance, names in chosen.items():
        for segment in names:
            row = after.setdefault(segment, {})
            row[instance] = row.get(instance, Tries(0, 0)).after(now_ms)
    return after


def _observe(ctx: Context, table: TableName, names: Sequence[str], rows: Rows, view: Rows) -> list[Segment]:
    """These segments as their reset is decided from; the stream is asked only where it decides. One without a record
    is left out.
    """
    if not names:
        return []
    live, records = set(live_instances(ctx.store)), read_records(ctx, table, names)
    found = [Segment(records[s], rows[s], view.get(s, {}), live) for s in names if s in records]
    if not any(asks_stream(s) for s in found):
        return found
    with stream_facts(ctx, check_realtime(read_table_config(ctx, table))) as facts:
        return [replace(s, stream_has_rows=_has_rows(facts, s)) if asks_stream(s) else s for s in found]


def _has_rows(facts: StreamFacts, segment: Segment) -> bool | None:
    """Does the stream have everything from the segment's start on? None: it does not answer."""
    name, start = segment.metadata.name, segment.metadata.fields.get(START_OFFSET)
    if start is None or not is_llc_name(name):
        return None
    partition = parse_llc_name(name).partition
    try:
        return facts.earliest(partition) <= facts.parse(partition, start)
    except PinotAdminError:
        return None


def _finding(segment: Segment) -> Found:
    name = segment.metadata.name
    asked = " The stream has no rows from its start on any more." if segment.stream_has_rows is False else ""
    asked = asked or (" The stream does not answer." if asks_stream(segment) else "")
    text = (
        f"Segment {name} is in ERROR on {', '.join(segment.in_error)}, and no other copy of its rows is known.{asked} "
        "It is not reset, because a reset gives up what the server still has: start a server that has it, reingest the "
        "segment, or reset it by hand."
    )
    return Found(LAST_COPY, name, "error", text)
