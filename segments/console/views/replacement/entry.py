"""One lineage entry: why it is where it is, its checks, its background end; the buttons end, cancel and check."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.timezone import localtime
from django.views.decorators.http import require_safe

from segments import wiring
from segments.console.access import OPERATE, find_table, may, page
from segments.console.listing import cut_list, page_number
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.presenters import rollback as presenter
from segments.console.presenters.badges import mark
from segments.console.presenters.checks import entry_report
from segments.console.presenters.history.columns import column_lines
from segments.console.views.replacement.undo.rollback import still_possible
from segments.console.views.tables.tables import head
from segments.domain.formats.plural import counted
from segments.domain.replacement.end_job import EndJob, JobState
from segments.domain.replacement.lineage import Entry, State
from segments.domain.tables.schema import FieldSpec
from segments.errors import InvalidInput, NotFound, PinotAdminError
from segments.models import LineageEntry, Snapshot, Table
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.jobs import queue
from segments.services.replacement.checks import snapshot_checks
from segments.services.replacement.ends import end_jobs
from segments.services.replacement.ends.end_job_record import job_of_entry
from segments.services.replacement.ends.end_job_status import status_of
from segments.services.replacement.explain import Explanation, explain_entry
from segments.services.replacement.lineage_record import read_lineage
from segments.services.replacement.snapshot_diff import diff_snapshots
from segments.services.tables.schemas import read_schema

_OVERRIDE_HELP = (
    "Only if a check refuses the switch and you want to switch anyway: say why. The reason goes into the audit record."
)


@page
@require_safe
def detail(request: HttpRequest, typed: str, entry_id: str) -> HttpResponse:
    """Everything about one replacement."""
    table, name = find_table(request, typed)
    ctx = wiring.context(table.cluster.name)
    explanation, ending = _explained(ctx, name, entry_id)
    if ending["is_behind"]:
        explanation, ending = _explained(ctx, name, entry_id)
    context = {
        **head(request, table, "lineage"),
        "entry": explanation,
        "entry_id": entry_id,
        "mark": mark(explanation.state),
        "checks": entry_report(ctx, name, entry_id),
        **ending,
        "is_open": explanation.state == State.IN_PROGRESS,
        "is_reverted": explanation.state == State.REVERTED,
        "can_undo": any(entry_id in u.entries for u in still_possible(request, name)),
        "roll_back_steps": f"Roll back {len(explanation.later_entries) + 1} steps…",
        "may_operate": may(request, OPERATE, table.name),
    }
    return render(request, "console/entry.html", context)


@page
@require_safe
def job_progress(request: HttpRequest, typed: str, entry_id: str) -> HttpResponse:
    """The fragment that shows how far a background end is; asks for itself again until the page can show what became of
    it.
    """
    table, name = find_table(request, typed)
    ctx = wiring.context(table.cluster.name)
    entry, job = _entry_and_job(ctx, name, entry_id)
    ending = _ending(ctx, entry, job, entry.state if entry else None)
    if not ending["is_followed"]:
        return HttpResponse(headers={"HX-Refresh": "true"})
    shown = {"table": table, "entry_id": entry_id, "may_operate": may(request, OPERATE, table.name)}
    return render(request, "console/partials/end_job.html", {**ending, **shown})


def _run_end(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    entry_id, override = target.arguments["entry_id"], str(values.get("override") or "")
    job = end_jobs.request_end(target.ctx, target.name, entry_id, override=override, actor=actor)
    queue.enqueue_end(target.ctx, job.id)
    return Outcome(
        "The switch is on its way: it happens as soon as all replicas are online and the checks pass.",
        target.address("rollback", entry_id),
        "Take it back",
    )


END: Final = Operation(
    action="endReplaceSegments",
    title="End this replacement",
    button="End it",
    tab="lineage",
    explain=[
        "As soon as every live replica of the new segments is online, the table's checks run on them.",
        "If none of them blocks, queries switch to the new side at once; brokers confirm it.",
        "It goes on in the background and survives restarts. Afterwards it can be taken back by a rollback.",
    ],
    fields={"override": forms.CharField(required=False, label="Override failed checks", help_text=_OVERRIDE_HELP)},
    run=_run_end,
    back=back_to("entry", "entry_id"),
)


def _job_of(target: Target) -> EndJob:
    entry_id = target.arguments["entry_id"]
    _, job = _entry_and_job(target.ctx, target.name, entry_id)
    if job is None:
        raise NotFound(f"Entry '{entry_id}' has no background end.", remedy="See its page.")
    return job


def _to_cancel(target: Target, plain: Operation) -> Operation:
    _job_of(target)
    return plain


def _run_cancel(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    end_jobs.cancel_job(target.ctx, _job_of(target).id, actor)
    again = target.address("end_entry", target.arguments["entry_id"])
    return Outcome("The switch is cancelled; the entry stays open.", again, "End it")


CANCEL_END: Final = Operation(
    action="cancelEnd",
    title="Cancel the switch",
    button="Cancel the switch",
    tab="lineage",
    asks="nothing",
    explain=["Queries stay on the old side. The entry stays IN_PROGRESS and can be ended or reverted later."],
    preview=_to_cancel,
    run=_run_cancel,
    back=back_to("entry", "entry_id"),
)


def _run_check(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    report = snapshot_checks.run_checks(target.ctx, target.name, target.arguments["entry_id"], actor=actor)
    failed = len(report.blocking) + len(report.warnings)
    return Outcome(f"{counted(len(report.outcomes), 'check')} ran, {failed} failed. Nothing was switched.")


CHECK: Final = Operation(
    action="runChecks",
    title="Run the checks now",
    button="Run the checks",
    tab="lineage",
    explain=["The table's checks read the new segments, which queries do not see yet. Nothing is switched."],
    run=_run_check,
    back=back_to("entry", "entry_id"),
)


@page
@require_safe
def diff(request: HttpRequest, typed: str) -> HttpResponse:
    """Two snapshots side by side."""
    table, name = find_table(request, typed)
    before, after = request.GET.get("from", "").strip(), request.GET.get("to", "").strip() or "current"
    context: dict[str, Any] = {
        **head(request, table, "history"), "options": _snapshots(table, before, after), "diff": None, "problem": None,
        "before": before, "after": after,
        "choices": [("from", "First snapshot", before), ("to", "Second snapshot", after)],
    }  # fmt: skip
    if not before:
        return render(request, "console/diff.html", context)
    status: int = HTTPStatus.OK
    try:
        ctx = wiring.context(table.cluster.name)
        found = diff_snapshots(ctx, name, before, after, wiring.column_profiles(ctx))
        lines = presenter.sides(found.before.summary, found.after.summary)
        columns = cut_list(column_lines(found, _columns(ctx, name)), page_number(request.GET.get("page")))
        context |= {"diff": found, "lines": lines, "listing": columns}
    except (NotFound, InvalidInput) as error:
        context["problem"], status = error, error.status
    return render(request, "console/diff.html", context, status=status)


def _columns(ctx: Context, table: TableName) -> Mapping[str, FieldSpec]:
    """Of the table's schema; none of one that cannot be read."""
    try:
        return read_schema(ctx, table.raw).by_name
    except PinotAdminError:
        return {}


def _snapshots(table: Table, *chosen: str) -> list[tuple[str, str]]:
    """Names of snapshots and how a person knows them; what was chosen is always among them."""
    rows = LineageEntry.objects.filter(table=table)[:100]
    found = [("current", "what queries see now")]
    history = Snapshot.objects.filter(cluster=table.cluster_id, table_name=table.name).only("number", "at", "rows")[
        :100
    ]
    found += [
        (str(s.number), f"{localtime(s.at):%Y-%m-%d %H:%M:%S} snapshot {s.number}: {counted(s.rows, 'row')}")
        for s in history[:100]
    ]
    for row in rows:
        at = f"{localtime(datetime.fromtimestamp(row.timestamp_ms / 1000, UTC)):%Y-%m-%d %H:%M:%S}"
        found += [(row.entry_id, f"{at} {row.state}: the table with this replacement")]
        found += [
            (f"{row.entry_id}:{side}", f"{at} {row.state}: its {what} side alone")
            for side, what in (("from", "old"), ("to", "new"))
        ]
    return [*found, *((name, name) for name in chosen if name and name not in dict(found))]


def _entry_and_job(ctx: Context, table: TableName, entry_id: str) -> tuple[Entry | None, EndJob | None]:
    """The entry as it is on record now, not as it was mirrored, and its background end."""
    lineage = read_lineage(ctx, table)
    entry = lineage.entries.get(entry_id) if lineage else None
    return entry, job_of_entry(ctx, entry) if entry else None


def _explained(ctx: Context, table: TableName, entry_id: str) -> tuple[Explanation, dict[str, Any]]:
    explanation = explain_entry(ctx, table, entry_id, read_errors=wiring.replica_errors(ctx))
    return explanation, _ending(ctx, *_entry_and_job(ctx, table, entry_id), State(explanation.state))


def _ending(ctx: Context, entry: Entry | None, job: EndJob | None, state: State | None) -> dict[str, Any]:
    """What the fragment of the background end shows of an entry that was seen in this state.

    Entry and job are read one after the other: where a job is DONE by then and its entry was still IN_PROGRESS, what
    was seen ``is_behind`` and is to be read again. On a Pinot cluster that may take a while, so the page follows
    it.
    """
    if job is None:
        return {"job": None, "is_behind": False, "is_followed": False}
    is_behind = job.state is JobState.DONE and state is State.IN_PROGRESS
    status = status_of(ctx, job, entry, wiring.replica_errors(ctx))
    return {"job": status, "is_behind": is_behind, "is_followed": is_behind or job.is_open}
