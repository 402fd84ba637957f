"""Replica by replica: which of some segments are served, which are not, and why (rule `all-replicas-first`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from segments.domain.segments.ideal_state import ERROR, SERVING
from segments.errors import PinotAdminError
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.segments.online import is_file_on_record, judge_segments, read_served, recorded_crcs
from segments.store.records.instances import instance_configs

log = logging.getLogger(__name__)

#: Asks the server at an address for {segment: why its last load failed} of a table (typed name).
ErrorReader = Callable[[str, str], Mapping[str, str]]


@dataclass(frozen=True)
class ReplicaGap:
    """A replica that does not serve. ``state`` as the external view has it.

    ``is_waited_for`` is False for a dead server's, and where an end needs no more replicas of the segment than there
    are.
    """

    segment: str
    instance: str
    state: str
    why: str
    is_waited_for: bool

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class ReplicaReport:
    """``online`` of ``wanted`` replicas serve the file on record; every other one is in ``gaps``. ``absent``: not
    uploaded at all.

    ``waiting``: segments that an end would wait for.
    """

    segments: int
    online: int
    wanted: int
    gaps: tuple[ReplicaGap, ...]
    absent: tuple[str, ...]
    waiting: frozenset[str] = frozenset()

    def sentences(self, most: int = 5) -> list[str]:
        """What is missing, for people; the rest is counted."""
        found = [f"Segment '{s}' is not uploaded." for s in self.absent[:most]]
        found += [f"Segment '{g.segment}' on {g.instance}: {g.why}." for g in self.gaps[: most - len(found)]]
        left = len(self.absent) + len(self.gaps) - len(found)
        return [*found, *([f"{left} more are missing."] if left > 0 else [])]


def report_replicas(
    ctx: Context,
    table: TableName,
    segments: Sequence[str],
    read_errors: ErrorReader | None = None,
    *,
    required: int | None = None,
) -> ReplicaReport:
    """Check every replica that the ideal state wants. ``read_errors`` adds the servers' own reasons for segments in
    ERROR.

    ``required``: replicas of each that an end waits for, None: every live one.
    """
    if not segments:
        return ReplicaReport(0, 0, 0, (), ())
    seen, crcs = read_served(ctx, table), recorded_crcs(ctx, table, segments)
    ideal, view, live = seen
    waiting = frozenset(judge_segments(segments, seen, crcs, required).waiting)
    gaps: list[ReplicaGap] = []
    online = wanted = 0
    for segment in segments:
        for instance in sorted(ideal.get(segment, {})):
            wanted += 1
            state = view.get(segment, {}).get(instance, "OFFLINE")
            served = live.get(instance, {}).get(segment)
            if instance not in live:
                gaps.append(ReplicaGap(segment, instance, state, "the server is not running", False))
            elif state not in SERVING:
                why = "the server could not load it" if state == ERROR else "the server has not loaded it yet"
                gaps.append(ReplicaGap(segment, instance, state, why, segment in waiting))
            elif not is_file_on_record(served, crcs.get(segment)):
                why = "the server still serves an older file of that name"
                gaps.append(ReplicaGap(segment, instance, state, why, segment in waiting))
            else:
                online += 1
    absent = tuple(s for s in segments if s not in ideal)
    return ReplicaReport(
        len(segments), online, wanted, tuple(_explained(ctx, table, gaps, live, read_errors)), absent, waiting
    )


def _explained(
    ctx: Context, table: TableName, gaps: Sequence[ReplicaGap], live: Collection[str], read_errors: ErrorReader | None
) -> list[ReplicaGap]:
    """The gaps; those in ERROR with what their server says, if it can be asked."""
    failed = sorted({g.instance for g in gaps if g.state == ERROR and g.instance in live})
    if read_errors is None or not failed:
        return list(gaps)
    configs, reasons = instance_configs(ctx.store), {}
    for instance in failed:
        try:
            reasons[instance] = read_errors(configs[instance].admin_url, table.typed) if instance in configs else {}
        except PinotAdminError as error:
            log.warning("%s does not report its errors: %s", instance, error)
    return [_with_reason(g, reasons.get(g.instance, {}).get(g.segment)) for g in gaps]


def _with_reason(gap: ReplicaGap, reason: str | None) -> ReplicaGap:
    if gap.state != ERROR or not reason:
        return gap
    return ReplicaGap(gap.segment, gap.instance, gap.state, f"{gap.why}: {reason}", gap.is_waited_for)
