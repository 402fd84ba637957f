"""A push that its table's checks stopped: switch all the same with a reason, or have the checks decide again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from django.shortcuts import get_object_or_404
from django.urls import reverse

from segments.console.cluster_address import cluster_of
from segments.console.operation import Operation, Outcome, Target
from segments.console.presenters.checks import entry_report, failures
from segments.models import Push, Table
from segments.names import OFFLINE, TableName
from segments.services.access.read_rights import readable_pushes
from segments.services.core.context import Actor
from segments.services.jobs import queue
from segments.services.push import push_blocked

_LATER: Final = " The task queue does not answer now; it begins as soon as Redis is back."


def _push(target: Target) -> Push:
    found: Push = get_object_or_404(
        readable_pushes(Push.objects.all(), target.request.user),
        pk=target.arguments["push_id"],
        cluster=cluster_of(target.request),
    )
    return found


def _table_of_push(target: Target) -> None:
    push = _push(target)
    typed = TableName(push.table_name, OFFLINE).typed
    target.row = get_object_or_404(Table.objects.select_related("cluster"), cluster__name=push.cluster, name=typed)


def _failed(target: Target, push: Push) -> list[str]:
    return failures(entry_report(target.ctx, target.name, push.entry_id))


def _to_check(target: Target, plain: Operation) -> Operation:
    push = _push(target)
    return replace(plain, lists=[("Failed checks", _failed(target, push))], why_not=_why_not(push, None))


def _to_override(target: Target, plain: Operation) -> Operation:
    push = _push(target)
    failed = _failed(target, push)
    shown = _to_check(target, plain)
    return replace(shown, confirm=target.table.name, why_not=_why_not(push, failed))


def _run(target: Target, _: Mapping[str, Any], actor: Actor, *, override: str = "") -> Outcome:
    push = _push(target)
    push_blocked.finish_push(target.ctx, str(push.pk), override, actor)
    later = "" if queue.enqueue_push(target.ctx, str(push.pk)) else _LATER
    return Outcome(f"The switch is tried again.{later}", target.address("rollback", push.entry_id), "Take it back")


#: The checks run again and decide: for when they, or the data they compare with, were changed.
FINISH: Final = Operation(
    action="finishPush",
    title="Check again and finish",
    button="Check again",
    tab="lineage",
    find=_table_of_push,
    explain=[
        "The table's checks run again on the uploaded segments, which queries do not see.",
        "If none of them blocks now, queries switch to the new snapshot; else the push stays blocked and nothing "
        "changes.",
    ],
    preview=_to_check,
    run=_run,
    back=lambda target: reverse("console:push", args=[target.arguments["push_id"]]),
)
#: The switch happens although checks failed; the reason is on record.
OVERRIDE: Final = replace(
    FINISH,
    title="Finish in spite of failed checks",
    button="Switch anyway",
    is_danger=True,
    explain=[
        "Queries switch to the new snapshot although the checks below refuse it.",
        "Your reason stays with the result of the checks and in the audit record. The way back is a rollback of "
        "the entry.",
    ],
    preview=_to_override,
    run=lambda target, values, actor: _run(target, values, actor, override=actor.reason),
)


def _why_not(push: Push, failed: Sequence[str] | None) -> str:
    if push.state != Push.State.BLOCKED:
        return f"The push is {push.get_state_display()}; only one that is blocked by checks can be finished."
    return "" if failed is None or failed else "No result of its checks is on record. Check again first."
