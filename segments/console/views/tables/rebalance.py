"""Rebalance a table: preview and begin, how far it is, stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from segments.console.access import find_table, may_operate, page
from segments.console.cluster_address import ctx_of
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.views.tables.tables import head
from segments.domain.pinot.capabilities import REBALANCE_STOP
from segments.domain.rebalance.answers import Plan, Progress
from segments.domain.rebalance.job import Status
from segments.domain.rebalance.options import Options
from segments.errors import PinotAdminError
from segments.models import Table
from segments.names import REALTIME
from segments.services.core.context import Actor
from segments.services.rebalance import rebalance

#: Segments whose names the preview lists.
_NAMED: Final = 200


@dataclass(frozen=True)
class _ServerLine:
    """A server of the preview: replicas of the table now, loaded, removed, and afterwards."""

    name: str
    before: int
    loads: int
    loses: int

    @property
    def after(self) -> int:
        """Replicas that it has in the end."""
        return self.before + self.loads - self.loses


@page
@require_safe
def state(request: HttpRequest, typed: str) -> HttpResponse:
    """The rebalance that runs, or ran last."""
    table, _ = find_table(request, typed)
    context = {**head(request, table, "segments"), **_newest(request, table)}
    return render(request, "console/table_rebalance.html", context)


@page
@require_safe
def progress(request: HttpRequest, typed: str) -> HttpResponse:
    """The fragment that shows how far it is; it asks again until the rebalance is over."""
    table, _ = find_table(request, typed)
    context = _newest(request, table)
    found = context["progress"]
    if found is not None and not found.is_open:
        return HttpResponse(headers={"HX-Refresh": "true"})
    return render(
        request,
        "console/partials/rebalance.html",
        {**context, "table": table, "may_operate": may_operate(request, table.name)},
    )


def _newest(request: HttpRequest, table: Table) -> dict[str, Any]:
    """What is on record; ``problem``: why nobody can say."""
    found: Progress | None = None
    try:
        found = rebalance.newest(ctx_of(request), find_table(request, table.name)[1])
    except PinotAdminError as error:
        return {"progress": None, "problem": str(error)}
    return {"progress": found, "problem": "", "is_followed": found is not None and found.is_open}


def _options(values: Mapping[str, Any]) -> Options:
    return Options(
        min_available=values.get("min_available"),
        downtime=bool(values.get("downtime")),
        include_consuming=bool(values.get("include_consuming")),
        force_commit=bool(values.get("force_commit")),
        allow_data_loss=bool(values.get("allow_data_loss")),
    )


def _to_begin(target: Target, plain: Operation) -> Operation:
    """What would move with the options that the address names."""
    is_realtime = target.name.type == REALTIME
    names = ("include_consuming", "force_commit", "downtime") if is_realtime else ("downtime",)
    asked = {name: bool(target.value(name)) for name in names}
    fields = {name: field for name, field in _FIELDS.items() if is_realtime or name not in _OF_CONSUMPTION}
    shown = replace(plain, fields=fields)
    try:
        running = rebalance.newest(target.ctx, target.name)
        if running is not None and running.is_open:
            return replace(shown, why_not=_how_far(running), why_not_title="A rebalance of this table runs.")
        found = rebalance.preview(target.ctx, target.name, _options(asked))
    except PinotAdminError as error:
        return replace(shown, why_not=str(error))
    if found.status is Status.NO_OP and not is_realtime:
        return replace(shown, why_not="Every segment is where it belongs.", why_not_title="Nothing is to be moved.")
    plan = found.plan
    warnings = [f"{check.message}." for check in plan.checks if check.status != "PASS"]
    if found.status is Status.FAILED:
        warnings.append(found.description)
    return replace(
        shown,
        warnings=warnings,
        partial="console/partials/rebalance_plan.html",
        extra={"plan": plan, "servers": _servers(plan)},
        lists=[("Segments that move", list(plan.segments[:_NAMED]))],
    )


def _how_far(running: Progress) -> str:
    who = f", requested by {running.who}" if running.who else ""
    return f"It is {running.percent} % done{who}. Wait for its end, or stop it on the page Rebalance."


def _servers(plan: Plan) -> list[_ServerLine]:
    after: dict[str, int] = dict.fromkeys((*plan.loads, *plan.loses), 0)
    for row in plan.assignment.values():
        for server in row:
            after[server] = after.get(server, 0) + 1
    return [
        _ServerLine(
            server,
            count - plan.loads.get(server, 0) + plan.loses.get(server, 0),
            plan.loads.get(server, 0),
            plan.loses.get(server, 0),
        )
        for server, count in sorted(after.items())
    ]


def _run(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    found = rebalance.start(target.ctx, target.name, _options(values), actor=actor)
    if found.status is Status.NO_OP:
        return Outcome("Every segment is where it belongs; nothing is moved.")
    return Outcome("The rebalance is on its way.", target.address("stop_rebalance"), "Stop it")


_OF_CONSUMPTION: Final = ("include_consuming", "force_commit")
_FIELDS: Final[Mapping[str, forms.Field]] = {
    "include_consuming": forms.BooleanField(
        required=False,
        label="Move consuming segments, too",
        help_text="Another server consumes from the segment's start, besides the others, until it has caught up.",
    ),
    "force_commit": forms.BooleanField(
        required=False,
        label="Commit consuming segments that would move first",
        help_text="They are stored where they are and go on, in new segments, where they belong.",
    ),
    "min_available": forms.IntegerField(
        required=False,
        label="Replicas that stay available",
        help_text="Empty: all of them. A smaller number is faster; -1 means all but one.",
    ),
    "downtime": forms.BooleanField(
        required=False,
        label="With downtime",
        help_text="Everything is moved at once: queries fail until the new servers have loaded what they get.",
    ),
    "allow_data_loss": forms.BooleanField(
        required=False,
        label="Go on where the only copy of rows may be lost",
        help_text="Only for downtime, or no replica that stays available. What is lost is gone for good.",
    ),
}

BEGIN: Final = Operation(
    action="rebalance",
    title="Rebalance",
    button="Rebalance",
    tab="segments",
    explain=[
        "Servers load what they get before others let go of it, a few segments at a time; queries go on meanwhile.",
        "It goes on when processes restart, and can be stopped at any time: then each segment stays where it has come "
        "to. What was moved is moved back by a rebalance with other servers or tags.",
    ],
    fields=_FIELDS,
    preview=_to_begin,
    run=_run,
    back=back_to("rebalance"),
)


def _to_stop(target: Target, plain: Operation) -> Operation:
    found = rebalance.newest(target.ctx, target.name)
    if found is not None and found.is_open:
        return plain
    last = "None is on record." if found is None else f"The last one is over: {found.status}."
    return replace(plain, why_not=last, why_not_title="No rebalance runs.")


def _run_stop(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    stopped = rebalance.stop(target.ctx, target.name, actor=actor)
    return Outcome(
        "The rebalance is stopped." if stopped else "No rebalance was running.", target.address("begin_rebalance"),
        "Begin again",
    )  # fmt: skip


STOP: Final = Operation(
    action="stopRebalance",
    title="Stop the rebalance",
    button="Stop",
    tab="segments",
    needs=REBALANCE_STOP,
    explain=[
        "Segments that have arrived stay on their new servers, all others on those that have them.",
        "A new rebalance can be started at any time and continues from there.",
    ],
    preview=_to_stop,
    run=_run_stop,
    back=back_to("rebalance"),
)
