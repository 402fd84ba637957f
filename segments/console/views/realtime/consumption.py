"""The consumption of a realtime table: what every partition does, and pause, resume, force commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from segments import wiring
from segments.console.access import OPERATE, find_table, may, page
from segments.console.operation import Operation, Outcome, perform
from segments.console.presenters.consumption import HEIGHT, WIDTH, gaps, lines
from segments.console.views.tables.tables import head
from segments.domain.pinot.version import FORCE_COMMIT, FORCE_COMMIT_SELECT, PAUSE, PAUSE_PARTITIONS
from segments.domain.realtime.force_commit import BatchSettings
from segments.domain.tables.table_config import parse_period
from segments.errors import InvalidInput, PinotAdminError
from segments.models import AuditEvent, Finding, Table
from segments.names import REALTIME, TableName
from segments.services.core.context import Actor, Context
from segments.services.realtime import consumption, force_commit
from segments.services.realtime.consumers import Consumer, read_consumers
from segments.services.realtime.consuming_segments import StartFrom, Word
from segments.services.realtime.force_commit import Wanted
from segments.services.realtime.lag import PartitionLag, read_lag
from segments.services.realtime.resume_plan import plan_resume, streams_before
from segments.services.set_aside.listing import totals
from segments.store.records.data_loss import read_data_loss

#: Seconds between two looks; a real Pinot is asked less often.
_EVERY_S: Final = 2
_EVERY_PINOT_S: Final = 10
_ACTIONS: Final = ("pauseConsumption", "resumeConsumption", "pausePartitions", "resumePartitions", "forceCommit")
_WORDS: Final = [
    ("lastConsumed", "where it stopped"),
    ("smallest", "at the oldest message (rows come twice)"),
    ("largest", "at the newest message (rows are skipped)"),
]


@page
@require_safe
def state(request: HttpRequest, typed: str) -> HttpResponse:
    """Pause, partitions, lag; refreshes itself."""
    table, name = _realtime(request, typed)
    ctx = wiring.context(table.cluster.name)
    told = _told(ctx, table, name)
    status = told.status
    # The mirror may be a moment behind a pause or a resume; every word of the page goes by what was told now.
    table.pause = {**table.pause, "paused": bool(status.get("pauseFlag"))}
    paused = tuple(int(p) for p in status.get("pausedPartitions", ()))
    context = {
        "table": table,
        "status": status,
        "lines": (partitions := lines(table, told.lags, paused, timezone.now(), told.consumers)),
        "samples": [s for line in partitions for s in line.samples],
        "gaps": told.gaps,
        "set_aside": totals(table.cluster.name, name),
        "problem": told.problem,
        "is_live": told.is_live,
        "every_s": _EVERY_S if ctx.pinot is None else _EVERY_PINOT_S,
        "size": (WIDTH, HEIGHT),
        "may_operate": may(request, OPERATE, table.name),
        "findings": Finding.objects.filter(cluster=table.cluster.name, table_name=table.name, closed_at=None).order_by(
            "severity"
        )[:10],
        "events": AuditEvent.objects.filter(cluster=table.cluster.name, target=table.name, action__in=_ACTIONS)[:8],
        "jobs": told.jobs,
    }
    if request.headers.get("HX-Request"):
        return render(request, "console/partials/consumption.html", context)
    return render(request, "console/table_consumption.html", {**head(request, table, "consumption"), **context})


@page
@require_http_methods(["GET", "HEAD", "POST"])
def pause(request: HttpRequest, typed: str) -> HttpResponse:
    """Pause the table, or the partitions named in ``p``."""
    table, name = _realtime(request, typed)
    partitions = _partitions(request)
    resume_at = reverse("console:resume", args=[table.name]) + _query(partitions)

    def run(ctx: Context, values: Mapping[str, Any], actor: Actor) -> Outcome:
        if partitions:
            consumption.pause_partitions(ctx, name, partitions, actor=actor)
            return Outcome(f"Partitions {_names(partitions)} are paused.", resume_at, "Resume them")
        length = _period(values.get("resume_after"))
        end = ctx.clock() + length if length else None
        consumption.pause_table(ctx, name, comment=actor.reason, resume_at_ms=end, actor=actor)
        return Outcome(f"{table.name} is paused; what was consumed is being committed.", resume_at, "Resume")

    what = f"partitions {_names(partitions)} of {table.name}" if partitions else table.name
    later = forms.CharField(
        required=False,
        label="Resume by itself after",
        help_text="For example 30m or 2h. Empty: until somebody resumes.",
    )
    operation = Operation(
        action="pausePartitions" if partitions else "pauseConsumption",
        title=f"Pause {what}",
        button="Pause",
        back=_home(table),
        run=run,
        explain=[
            "The servers commit what they have consumed; no row is lost and queries go on seeing all of it.",
            "New rows stay in the stream until somebody resumes: mind how long the stream keeps them.",
            "The pause holds across restarts and repairs. Undo: resume, which goes on where it stopped.",
        ],
        fields={} if partitions else {"resume_after": later},
        hold={"p": [str(p) for p in partitions]},
        tab="consumption",
        needs=PAUSE_PARTITIONS if partitions else PAUSE,
    )
    return perform(request, table, operation)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def resume(request: HttpRequest, typed: str) -> HttpResponse:
    """Resume the table, or partitions; the page shows where each partition would go on."""
    table, name = _realtime(request, typed)
    partitions = _partitions(request)
    word = cast(Word, request.GET.get("from") if request.GET.get("from") in dict(_WORDS) else "lastConsumed")

    def run(ctx: Context, values: Mapping[str, Any], actor: Actor) -> Outcome:
        start = StartFrom(cast(Word, values["start"]), is_chosen=True)
        if partitions:
            consumption.resume_partitions(ctx, name, partitions, start=start, actor=actor)
        else:
            consumption.resume_table(ctx, name, start=start, comment=actor.reason, actor=actor)
        undo = reverse("console:pause", args=[table.name]) + _query(partitions)
        return Outcome(f"{table.name} consumes again.", undo, "Pause again")

    ctx = wiring.context(table.cluster.name)
    before = streams_before(ctx, name)
    # Where the stream is another one nothing is chosen beforehand: the old offset means nothing there.
    initial = None if before and "from" not in request.GET else word
    choice = forms.ChoiceField(label="Go on", choices=_WORDS, initial=initial, widget=forms.RadioSelect)
    operation = Operation(
        action="resumePartitions" if partitions else "resumeConsumption",
        button="Resume",
        back=_home(table),
        run=run,
        tab="consumption",
        title=f"Resume partitions {_names(partitions)} of {table.name}" if partitions else f"Resume {table.name}",
        explain=["Every partition gets a new consuming segment, in one change. Undo: pause again.", *before],
        fields={"start": choice},
        hold={"p": [str(p) for p in partitions]},
        needs=PAUSE_PARTITIONS if partitions else PAUSE,
    )
    return perform(request, table, operation, {"starts": _starts(ctx, name, word)})


@page
@require_http_methods(["GET", "HEAD", "POST"])
def commit(request: HttpRequest, typed: str) -> HttpResponse:
    """Commit consuming segments where they are."""
    table, name = _realtime(request, typed)
    partitions = _partitions(request)

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        wanted = Wanted(partitions=partitions) if partitions else Wanted()
        job = force_commit.force_commit(ctx, name, wanted, BatchSettings(), actor=actor)["forceCommitJobId"]
        return Outcome(f"Force commit {job} is on its way.")

    operation = Operation(
        action="forceCommit",
        title="Force commit",
        button="Commit now",
        back=_home(table),
        run=run,
        tab="consumption",
        explain=[
            "Consuming segments end where they are and are stored; consumption goes on in new ones. No row is "
            "lost or doubled.",
            "It is asked again until all of them are committed. It can not be undone, and nothing needs to be.",
        ],
        hold={"p": [str(p) for p in partitions]},
        needs=FORCE_COMMIT_SELECT if partitions else FORCE_COMMIT,
    )
    return perform(request, table, operation)


def _realtime(request: HttpRequest, typed: str) -> tuple[Table, TableName]:
    table, name = find_table(request, typed)
    if name.type != REALTIME:
        raise Http404
    return table, name


@dataclass
class _Told:
    """What the cluster itself says now. ``is_live`` False: it does not answer, and the pause is as the mirror saw it
    last.
    """

    status: Mapping[str, Any]
    is_live: bool = False
    lags: list[PartitionLag] = field(default_factory=list)
    consumers: list[Consumer] = field(default_factory=list)
    gaps: Sequence[Any] = ()
    jobs: Sequence[Any] = ()
    problem: str = ""


def _told(ctx: Context, table: Table, name: TableName) -> _Told:
    """As far as somebody tells it, and why not the rest."""
    told = _Told(
        {
            "pauseFlag": table.is_paused,
            "comment": table.pause.get("comment"),
            "reasonCode": table.pause.get("reasonCode"),
        }
    )
    try:
        told.status, told.is_live = consumption.pause_status(ctx, name), True
        told.gaps = gaps(read_data_loss(ctx.store, name.typed))
        told.jobs = list(reversed(force_commit.read_jobs(ctx, name)[-3:]))
        told.lags, told.consumers = read_lag(ctx, name), read_consumers(ctx, name)
    except PinotAdminError as error:
        if not told.is_live and ctx.pinot is None:
            raise
        told.problem = str(error)
    return told


def _starts(ctx: Context, name: TableName, word: Word) -> list[dict[str, Any]]:
    """Where each partition would go on; empty when the stream does not tell."""
    try:
        return [start.to_json() for start in plan_resume(ctx, name, StartFrom(word, is_chosen=True))]
    except PinotAdminError:
        return []


def _partitions(request: HttpRequest) -> list[int]:
    texts = (request.POST if request.method == "POST" else request.GET).getlist("p")
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
        raise InvalidInput(f"'{text}' is no period.", remedy="Write for example 30m or 2h.")
    return found


def _home(table: Table) -> str:
    return reverse("console:consumption", args=[table.name])
