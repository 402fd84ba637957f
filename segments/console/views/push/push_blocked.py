"""A push that its table's checks stopped: switch all the same with a reason, or have the checks decide anew."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from segments import wiring
from segments.console.access import page
from segments.console.cluster_address import cluster_of
from segments.console.operation import Operation, Outcome, perform
from segments.console.presenters.checks import entry_report, failures
from segments.models import Push, Table
from segments.names import OFFLINE, TableName
from segments.services.access.reading import readable_pushes
from segments.services.core.context import Actor, Context
from segments.services.jobs import queue
from segments.services.push import push_blocked

_LATER: Final = " The task queue does not answer now; it begins by itself once Redis is back."


@page
@require_http_methods(["GET", "HEAD", "POST"])
def finish(request: HttpRequest, push_id: uuid.UUID) -> HttpResponse:
    """The checks run again and decide: for when they, or the data they compare with, were changed."""
    return _finish(request, push_id, _AGAIN)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def override(request: HttpRequest, push_id: uuid.UUID) -> HttpResponse:
    """The switch happens although checks failed; the reason is on record."""
    return _finish(request, push_id, _OVERRIDE)


_AGAIN: Final = Operation(
    action="finishPush",
    title="Check again and finish",
    button="Check again",
    back="",
    tab="lineage",
    run=lambda *_: Outcome(""),
    explain=[
        "The table's checks run again on the uploaded segments, which queries do not see.",
        "If none of them blocks now, queries switch to the new snapshot; else the push stays blocked and nothing "
        "changes.",
    ],
)
_OVERRIDE: Final = replace(
    _AGAIN,
    title="Finish in spite of failed checks",
    button="Switch all the same",
    is_danger=True,
    explain=[
        "Queries switch to the new snapshot although the checks below refuse it.",
        "Your reason stays with the result of the checks and in the audit record. The way back is a rollback of "
        "the entry.",
    ],
)


def _finish(request: HttpRequest, push_id: uuid.UUID, operation: Operation) -> HttpResponse:
    push = get_object_or_404(readable_pushes(Push.objects.all(), request.user), pk=push_id, cluster=cluster_of(request))
    name = TableName(push.table_name, OFFLINE)
    table = Table.objects.select_related("cluster").filter(cluster__name=push.cluster, name=name.typed).first()
    if table is None:
        raise Http404
    is_override = operation is _OVERRIDE
    failed = failures(entry_report(wiring.context(push.cluster), name, push.entry_id))

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        push_blocked.finish_push(ctx, str(push.pk), actor.reason if is_override else "", actor)
        is_queued = queue.enqueue_push(ctx, str(push.pk))
        undo = reverse("console:rollback", args=[name.typed, push.entry_id])
        return Outcome(f"The switch is tried again.{'' if is_queued else _LATER}", undo, "Take it back")

    shown = replace(
        operation, run=run, back=reverse("console:push", args=[push.pk]), items=failed, items_title="Failed checks",
        confirm=name.typed if is_override else "", why_not=_why_not(push, failed if is_override else None),
    )  # fmt: skip
    return perform(request, table, shown)


def _why_not(push: Push, failed: Sequence[str] | None) -> str:
    if push.state != Push.State.BLOCKED:
        return f"The push is {push.get_state_display()}; only one that is blocked by checks can be finished."
    return "" if failed is None or failed else "No result of its checks is on record. Check again first."
