"""Why a lineage entry is where it is: what it hides and locks, what blocks it, whether its client lives, what happens
next and when.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from segments.domain.formats.plural import counted
from segments.domain.replacement import decisions as replacement
from segments.domain.replacement import lease
from segments.domain.replacement.lineage import ACTOR, PIN_ACTOR, PIN_REASON, Entry, State
from segments.domain.replacement.replacement_settings import settings_or_default
from segments.domain.replacement.rollback import plan_rollback
from segments.domain.tables.table_config import TableConfig
from segments.errors import PinotAdminError
from segments.models import AuditEvent, Push
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.ends.end_job_record import job_of_entry
from segments.services.replacement.entry_lease import LeaseState, lease_state, lease_terms
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.replacement.unlinked_successors import newer_strangers
from segments.services.segments.online import serving_rows
from segments.services.segments.replica_report import ErrorReader, ReplicaGap, ReplicaReport, report_replicas
from segments.services.tables.table_record import read_table_config

#: Segment names, replicas and events that are listed; counts are always whole.
LISTED: Final = 100
_TAKING_BACK: Final = ("reapEntry", "rollback", "revertReplaceSegments")


@dataclass(frozen=True)
class Event:
    """One thing that was done to the entry, or refused. ``at_ms`` epoch milliseconds."""

    at_ms: int
    actor: str
    action: str
    outcome: str
    reason: str
    error: str = ""


@dataclass(frozen=True)
class NextStep:
    """What will happen without anybody doing anything. ``at_ms``: not before then (epoch ms), None: not known."""

    what: str
    at_ms: int | None


@dataclass(frozen=True)
class Blocked:
    """Why an end or a revert cannot be done now, as sentences; empty: it can. ``remedies`` say what to do about it."""

    reasons: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """Everything about one entry. ``summary`` is one sentence; ``replicas`` are those of the new side, listed where
    they are missing.

    ``job_id``: the background end that runs or ended it, or that failed last; empty: none.
    """

    table: str
    entry_id: str
    state: str
    since_ms: int
    actor: str
    summary: str
    segments_from: tuple[str, ...]
    segments_to: tuple[str, ...]
    hides: tuple[str, ...]
    locks: tuple[str, ...]
    is_pinned: bool
    pin_actor: str
    pin_reason: str
    end: Blocked
    revert: Blocked
    later_entries: tuple[str, ...]
    replicas: ReplicaReport
    lease: LeaseState | None
    job_id: str
    push_id: str
    next_steps: tuple[NextStep, ...]
    events: tuple[Event, ...]

    @property
    def gaps(self) -> tuple[ReplicaGap, ...]:
        """Replicas of the new side that do not serve."""
        return self.replicas.gaps

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form; long lists are cut, their counts are not."""
        return {
            "table": self.table,
            "segmentLineageEntryId": self.entry_id,
            "state": self.state,
            "sinceMs": self.since_ms,
            "actor": self.actor,
            "summary": self.summary,
            "segmentsFrom": _listed(self.segments_from),
            "segmentsTo": _listed(self.segments_to),
            "hides": _listed(self.hides),
            "locks": _listed(self.locks),
            "pin": {"actor": self.pin_actor, "reason": self.pin_reason} if self.is_pinned else None,
            "end": {
                "possible": not self.end.reasons,
                "blockedBy": list(self.end.reasons),
                "remedies": list(self.end.remedies),
            },
            "revert": {
                "possible": not self.revert.reasons,
                "blockedBy": list(self.revert.reasons),
                "remedies": list(self.revert.remedies),
            },
            "laterEntries": list(self.later_entries),
            "replicas": {
                "online": self.replicas.online,
                "wanted": self.replicas.wanted,
                "missingCount": len(self.gaps),
                "missing": [g.to_json() for g in self.gaps[:LISTED]],
            },
            "lease": self.lease.to_json() if self.lease else None,
            "job": self.job_id or None,
            "push": self.push_id or None,
            "next": [asdict(s) for s in self.next_steps],
            "events": [asdict(e) for e in self.events],
        }


def explain_entry(ctx: Context, table: TableName, entry_id: str, read_errors: ErrorReader | None = None) -> Explanation:
    """Changes nothing. NotFound when table or entry do not exist. ``read_errors`` adds the servers' own reasons."""
    config, seen = read_table_config(ctx, table), observe(ctx, table)
    entry = seen.lineage.entry(entry_id)
    served = serving_rows(ctx, table, seen.ideal.maps)
    plan = plan_rollback(seen.lineage, entry_id, served, force=True, now_ms=ctx.clock())
    new_side = () if entry.state is State.REVERTED else entry.segments_to
    report = report_replicas(ctx, table, new_side, read_errors, required=settings_or_default(config).replicas_required)
    events = _events(ctx, table, entry_id)
    push = Push.objects.filter(cluster=ctx.cluster, entry_id=entry_id).only("pk").first()
    job = job_of_entry(ctx, entry)
    is_open = entry.state is State.IN_PROGRESS
    return Explanation(
        table=table.typed,
        entry_id=entry_id,
        state=entry.state.value,
        since_ms=entry.timestamp_ms,
        actor=entry.notes.get(ACTOR, "") or next((e.actor for e in reversed(events)), ""),
        summary=_summary(entry, events, seen),
        segments_from=entry.segments_from,
        segments_to=entry.segments_to,
        hides=tuple(s for s in entry.hides if s in seen.ideal.maps),
        locks=tuple(s for s in entry.locks if s in seen.ideal.maps),
        is_pinned=entry.is_pinned,
        pin_actor=entry.notes.get(PIN_ACTOR, ""),
        pin_reason=entry.notes.get(PIN_REASON, ""),
        end=_end_blocked(ctx, config, seen, entry, report),
        revert=_revert_blocked(ctx, table, seen, entry, served),
        later_entries=tuple(e.id for e in plan.steps if e.id != entry_id),
        replicas=report,
        lease=lease_state(entry, lease_terms(ctx, config), table) if is_open else None,
        job_id=job.id if job else "",
        push_id=str(push.pk) if push else "",
        next_steps=tuple(
            _next_steps(ctx, config, seen, entry, is_ending=bool(job and job.is_open), has_push=push is not None)
        ),
        events=tuple(events),
    )


def _end_blocked(ctx: Context, config: TableConfig, seen: Observed, entry: Entry, report: ReplicaReport) -> Blocked:
    def decide() -> object:
        return replacement.end(
            seen.lineage,
            entry.id,
            segments_to=(),
            ideal=seen.ideal.maps,
            is_refresh=config.is_refresh,
            now_ms=ctx.clock(),
            settings=settings_or_default(config),
        )

    if entry.state is State.COMPLETED:
        return Blocked(("It is ended already.",), ())
    refused = _refusal(decide)
    waits = [g for g in report.gaps if g.is_waited_for]
    served_late = {g.segment for g in waits}
    dead = [g for g in report.gaps if g.segment in report.waiting - served_late]
    reasons, remedies = list(refused.reasons), list(refused.remedies)
    if waits or report.absent:
        reasons += ReplicaReport(report.segments, report.online, report.wanted, tuple(waits), report.absent).sentences()
        remedies.append("Wait until the servers have loaded them; a segment in ERROR must be uploaded again.")
    if dead:
        reasons.append(f"Not running: servers with {counted(len(dead), 'replica')}, e.g. {dead[0].instance}.")
        remedies.append("Start the servers.")
    return Blocked(tuple(dict.fromkeys(reasons)), tuple(dict.fromkeys(remedies)))


def _revert_blocked(ctx: Context, table: TableName, seen: Observed, entry: Entry, served: dict[str, bool]) -> Blocked:
    """As ``revert_blockers``, all of them at once."""
    if entry.state is State.REVERTED:
        return Blocked(("It is reverted already.",), ())
    lost, strangers = (
        replacement.lost_segments(seen.lineage, entry, served),
        newer_strangers(ctx, table, seen, entry.id),
    )
    found = [
        *replacement.revert_blockers(seen.lineage, entry, served),
        *replacement.lost_blockers(entry, lost, strangers),
    ]
    return Blocked(tuple(b.message for b in found), tuple(b.remedy for b in found if b.remedy))


def _refusal(decide: Callable[[], object]) -> Blocked:
    try:
        decide()
    except PinotAdminError as error:
        return Blocked((error.message,), (error.remedy,) if error.remedy else ())
    return Blocked()


def _summary(entry: Entry, events: list[Event], seen: Observed) -> str:
    count = f"{len(entry.segments_from):,} by {counted(len(entry.segments_to), 'segment')}"
    match entry.state:
        case State.IN_PROGRESS:
            return f"A replacement of {count} is under way: queries see the old side until it is ended."
        case State.COMPLETED:
            return f"A replacement of {count} is done: {_seen_of(entry, seen)}."
        case State.REVERTED:
            last = next((e for e in reversed(events) if e.outcome == "done" and e.action in _TAKING_BACK), None)
            why = f" ({last.action} by {last.actor}{': ' + last.reason if last.reason else ''})" if last else ""
            return f"A replacement of {count} was taken back{why}: queries do not see its new side."


def _seen_of(entry: Entry, seen: Observed) -> str:
    """What queries see of the new side of a completed entry."""
    hidden, count = seen.lineage.hidden(), len(entry.segments_to)
    there = [s for s in entry.segments_to if s in seen.ideal.maps]
    shown = [s for s in there if s not in hidden]
    later = "replaced" if len(there) == count else "replaced or deleted" if there else "deleted"
    if not count:
        return "queries see nothing in place of the old side"
    if not there and not hidden.intersection(entry.segments_to):
        return "its new side was deleted later, and queries see nothing in its place"
    if not shown:
        return "queries see what replaced its new side later"
    if len(shown) < count:
        return f"queries see {len(shown)} of the {count} segments of the new side, the others were {later} later"
    return "queries see the new side"


def _next_steps(
    ctx: Context, config: TableConfig, seen: Observed, entry: Entry, *, is_ending: bool, has_push: bool
) -> list[NextStep]:
    steps: list[NextStep] = []
    if entry.state is State.IN_PROGRESS:
        steps.append(_fate_of_open(ctx, config, entry, is_ending=is_ending, has_push=has_push))
    if entry.is_pinned:
        return [*steps, NextStep("Its segments stay until it is unpinned.", None)]
    if entry.state is State.COMPLETED:
        until = ctx.engine.lineage.rollback_until_ms(ctx, seen, entry, config)
        if any(s in seen.ideal.maps for s in entry.segments_from):
            steps.append(NextStep("Its old side may be removed; a rollback is no longer possible then.", until))
    return [*steps, *(NextStep(what, at) for what, at in ctx.engine.lineage.clean_up(ctx, seen, entry, config))]


def _fate_of_open(ctx: Context, config: TableConfig, entry: Entry, *, is_ending: bool, has_push: bool) -> NextStep:
    if is_ending:
        return NextStep("The end that was requested switches as soon as all replicas are online.", None)
    if has_push:
        return NextStep("Its push goes on; when its worker dies another one takes over, or takes it back.", None)
    at = lease.given_up_at_ms(entry, lease_terms(ctx, config))
    if lease.is_leased(entry):
        return NextStep("It is reverted unless its client sends a heartbeat or uploads before.", at)
    return NextStep(
        f"{ctx.engine.lineage.retention} removes its new side unless something is uploaded before: its client "
        "sends no heartbeats.",
        at,
    )


def _events(ctx: Context, table: TableName, entry_id: str) -> list[Event]:
    """What was done to the entry, oldest first."""
    found = AuditEvent.objects.filter(cluster=ctx.cluster, target=table.typed, detail__entry=entry_id).order_by("-id")[
        :LISTED
    ]
    return [
        Event(int(e.at.timestamp() * 1000), e.actor, e.action, e.outcome, e.reason, str(e.detail.get("error", "")))
        for e in reversed(found)
    ]


def _listed(names: tuple[str, ...]) -> dict[str, Any]:
    return {"count": len(names), "names": list(names[:LISTED])}
