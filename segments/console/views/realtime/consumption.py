"""The consumption of a realtime table: what every partition does, and pause, resume, force commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from segments import wiring
from segments.console.access import OPERATE, may, page
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.presenters.consumption import HEIGHT, WIDTH, gaps, lines
from segments.console.views.realtime.realtime_table import realtime, realtime_table
from segments.console.views.realtime.reingestion import Line, broken_lines
from segments.console.views.tables.tables import head
from segments.domain.pinot.capabilities import FORCE_COMMIT, FORCE_COMMIT_SELECT, PAUSE, PAUSE_PARTITIONS
from segments.domain.realtime.force_commit import BatchSettings
from segments.domain.tables.table_config import parse_period
from segments.errors import InvalidInput, PinotAdminError
from segments.models import AuditEvent, Finding, Table
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.realtime import consumption, force_commit
from segments.services.realtime.consumers import Consumer, read_consumers
from segments.services.realtime.consuming_segments import StartFrom, Word
from segments.services.realtime.force_commit import Wanted
from segments.services.realtime.lag import PartitionLag, read_lag
from segments.services.realtime.resume_plan import plan_resume, streams_before
from segments.services.set_aside.listing import totals
from segments.store.records.data_loss import read_data_loss

#: Seconds between two reads; a real Pinot is asked less often.
_EVERY_S: Final = 2
_EVERY_PINOT_S: Final = 10
_ACTIONS: Final = (
    "pauseConsumption",
    "resumeConsumption",
    "pausePartitions",
    "resumePartitions",
    "forceCommit",
    "reingestSegment",
    "restoreSegmentCopy",
    "cancelReingestion",
    "segmentReingested",
)
#: Where consumption may go on: (word of the API, in words).
STARTS: Final = [
    ("lastConsumed", "where it stopped"),
    ("smallest", "at the oldest message (rows come twice)"),
    ("largest", "at the newest message (rows are skipped)"),
]
#: What the chosen one would do is shown before it is done.
_SHOW_CHOSEN: Final = {
    "hx-get": "", "hx-trigger": "change", "hx-select": "#starts", "hx-target": "#starts", "hx-swap": "outerHTML",
}  # fmt: skip


@page
@require_safe
def state(request: HttpRequest, typed: str) -> HttpResponse:
    """Pause, partitions, lag; refreshes itself."""
    table, name = realtime(request, typed)
    ctx = wiring.context(table.cluster.name)
    live = _live(ctx, table, name)
    status = live.status
    # The mirror may be a moment behind a pause or a resume; every word of the page goes by what the cluster says now.
    table.pause = {**table.pause, "paused": bool(status.get("pauseFlag"))}
    paused = tuple(int(p) for p in status.get("pausedPartitions", ()))
    context = {
        "table": table,
        "status": status,
        "lines": (partitions := lines(table, live.lags, paused, timezone.now(), live.consumers)),
        "samples": [s for line in partitions for s in line.samples],
        "broken": live.broken,
        "gaps": live.gaps,
        "set_aside": totals(table.cluster.name, name),
        "problem": live.problem,
        "is_live": live.is_live,
        "every_s": _EVERY_S if ctx.engine.offers.own_processes else _EVERY_PINOT_S,
        "size": (WIDTH, HEIGHT),
        "may_operate": may(request, OPERATE, table.name),
        "findings": Finding.objects.filter(cluster=table.cluster.name, table_name=table.name, closed_at=None).order_by(
            "severity"
        )[:10],
        "events": AuditEvent.objects.filter(cluster=table.cluster.name, target=table.name, action__in=_ACTIONS)[:8],
        "jobs": live.jobs,
    }
    if request.headers.get("HX-Request"):
        return render(request, "console/partials/consumption.html", context)
    return render(request, "console/table_consumption.html", {**head(request, table, "consumption"), **context})


def _chosen(target: Target, plain: Operation) -> Operation:
    """The partitions that are named in ``p``; none: the whole table."""
    partitions = _partitions(target)
    if not partitions:
        return replace(plain, title=f"{plain.title} {target.table.name}")
    title = f"{plain.title} partitions {_names(partitions)} of {target.table.name}"
    return replace(
        plain, action=_OF_PARTITIONS[plain.action], title=title, fields={}, hold={"p": list(map(str, partitions))},
        needs=PAUSE_PARTITIONS,
    )  # fmt: skip


_OF_PARTITIONS: Final = {"pauseConsumption": "pausePartitions", "resumeConsumption": "resumePartitions"}


def _run_pause(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    ctx, partitions = target.ctx, _partitions(target)
    resume_at = target.address("resume") + _query(partitions)
    if partitions:
        consumption.pause_partitions(ctx, target.name, partitions, actor=actor)
        return Outcome(f"Partitions {_names(partitions)} are paused.", resume_at, "Resume them")
    length = _period(values.get("resume_after"))
    end = ctx.clock() + length if length else None
    consumption.pause_table(ctx, target.name, comment=actor.reason, resume_at_ms=end, actor=actor)
    return Outcome(f"{target.table.name} is paused; what was consumed is being committed.", resume_at, "Resume")


PAUSE_IT: Final = Operation(
    action="pauseConsumption",
    title="Pause",
    button="Pause",
    tab="consumption",
    needs=PAUSE,
    find=realtime_table,
    explain=[
        "The servers commit what they have consumed; no row is lost and queries go on seeing all of it.",
        "Should a server die before that, rows that no other one had read yet are out of sight until the resume.",
        "New rows stay in the stream until somebody resumes: mind how long the stream keeps them.",
        "The pause holds across restarts and repairs. Undo: resume, which goes on where it stopped.",
    ],
    fields={
        "resume_after": forms.CharField(
            required=False,
            label="Resume automatically after",
            help_text="For example 30m or 2h. Empty: until somebody resumes.",
        )
    },
    preview=_chosen,
    run=_run_pause,
    back=back_to("consumption"),
)


def _to_resume(target: Target, plain: Operation) -> Operation:
    """Where each partition would go on."""
    given = target.request.GET.get("start") or target.request.GET.get("from")
    word = cast(Word, given if given in dict(STARTS) else "lastConsumed")
    before = streams_before(target.ctx, target.name)
    # Where the stream is another one nothing is chosen beforehand: the old offset means nothing there.
    initial = None if before and given is None else word
    choice = forms.ChoiceField(label="Go on", choices=STARTS, initial=initial, widget=forms.RadioSelect(_SHOW_CHOSEN))
    starts = _starts(target.ctx, target.name, word)
    return replace(
        _chosen(target, plain),
        explain=[*plain.explain, *before],
        fields={"start": choice},
        partial="console/partials/starts.html" if starts else "",
        extra={"starts": starts},
    )


def _run_resume(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    start, partitions = StartFrom(cast(Word, values["start"]), is_chosen=True), _partitions(target)
    if partitions:
        consumption.resume_partitions(target.ctx, target.name, partitions, start=start, actor=actor)
    else:
        consumption.resume_table(target.ctx, target.name, start=start, comment=actor.reason, actor=actor)
    undo = target.address("pause") + _query(partitions)
    return Outcome(f"{target.table.name} consumes again.", undo, "Pause again")


RESUME: Final = Operation(
    action="resumeConsumption",
    title="Resume",
    button="Resume",
    tab="consumption",
    needs=PAUSE,
    find=realtime_table,
    explain=["Every partition gets a new consuming segment, in one change. Undo: pause again."],
    preview=_to_resume,
    run=_run_resume,
    back=back_to("consumption"),
)


def _to_commit(target: Target, plain: Operation) -> Operation:
    partitions = _partitions(target)
    needs = FORCE_COMMIT_SELECT if partitions else FORCE_COMMIT
    return replace(plain, hold={"p": list(map(str, partitions))}, needs=needs)


def _run_commit(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    partitions = _partitions(target)
    wanted = Wanted(partitions=partitions) if partitions else Wanted()
    job = force_commit.force_commit(target.ctx, target.name, wanted, BatchSettings(), actor=actor)["forceCommitJobId"]
    return Outcome(f"Force commit {job} is on its way.")


COMMIT: Final = Operation(
    action="forceCommit",
    title="Force commit",
    button="Commit now",
    tab="consumption",
    find=realtime_table,
    explain=[
        "Consuming segments end where they are and are stored; consumption goes on in new ones. No row is lost or "
        "doubled.",
        "It is repeated until all of them are committed. It cannot be undone, and nothing needs to be.",
    ],
    preview=_to_commit,
    run=_run_commit,
    back=back_to("consumption"),
)


@dataclass
class _Live:
    """What the cluster itself says now. ``is_live`` False: it does not answer, and the pause is as the mirror saw it
    last.
    """

    status: Mapping[str, Any]
    is_live: bool = False
    lags: list[PartitionLag] = field(default_factory=list)
    consumers: list[Consumer] = field(default_factory=list)
    gaps: Sequence[Any] = ()
    broken: Sequence[Line] = ()
    jobs: Sequence[Any] = ()
    problem: str = ""


def _live(ctx: Context, table: Table, name: TableName) -> _Live:
    """As far as it answers, and why not the rest."""
    live = _Live(
        {
            "pauseFlag": table.is_paused,
            "comment": table.pause.get("comment"),
            "reasonCode": table.pause.get("reasonCode"),
        }
    )
    try:
        live.status, live.is_live = consumption.pause_status(ctx, name), True
        live.broken = broken_lines(ctx, name)
        live.gaps = gaps(read_data_loss(ctx.store, name.typed))
        live.jobs = list(reversed(force_commit.read_jobs(ctx, name)[-3:]))
        live.lags, live.consumers = read_lag(ctx, name), read_consumers(ctx, name)
    except PinotAdminError as error:
        if not live.is_live and ctx.engine.offers.own_processes:
            raise
        live.problem = str(error)
    return live


def _starts(ctx: Context, name: TableName, word: Word) -> list[dict[str, Any]]:
    """Where each partition would go on; empty when the stream does not say."""
    try:
        return [start.to_json() for start in plan_resume(ctx, name, StartFrom(word, is_chosen=True))]
    except PinotAdminError:
        return []


def _partitions(target: Target) -> list[int]:
    texts = target.values("p")
    if not all(t.isdigit() for t in texts):
        raise InvalidInput("A partition is a number.", remedy="Choose partitions on the table's page.")
    return sorted({int(t) for t in texts})


def _names(partitions: list[int]) -> str:
    return ", ".join(str(p) for p in partitions)


def _query(partitions: list[int]) -> str:
    return "?" + "&".join(f"p={p}" for p in partitions) if partitions else ""


def _period(text: Any) -> int | None:
    if not text:
        return None
    found = parse_period(str(text).strip())
    if not found:
        raise InvalidInput(f"'{text}' is not a period of time.", remedy="Write for example 30m or 2h.")
    return found
