"""The buttons of a push: cancel it; and where its table's checks stopped it, switch anyway with a reason, or have
the checks decide again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

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
from segments.services.push import push_blocked, pushes

_BLOCKED_GOES: Final = (
    "The new snapshot is given up: its replacement is reverted, and its segments are removed. Queries go on seeing the "
    "old snapshot."
)
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


def _found(target: Target) -> None:
    """The push's table. Where it is gone by now, the right for the whole cluster is asked."""
    push = _push(target)
    typed = TableName(push.table_name, OFFLINE).typed
    target.row = Table.objects.select_related("cluster").filter(cluster__name=push.cluster, name=typed).first()


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


def _to_cancel(target: Target, plain: Operation) -> Operation:
    push = _push(target)
    over = f"The push is over: {push.get_state_display()}." if push.state in Push.TERMINAL else ""
    explain = [_BLOCKED_GOES, *plain.explain[1:]] if push.state == Push.State.BLOCKED else plain.explain
    return replace(plain, title=f"Cancel the push to {push.table_name}", why_not=over, explain=explain)


def _cancel(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    push_id = str(target.arguments["push_id"])
    pushes.cancel_push(target.ctx, push_id, actor)
    again = f"{reverse('console:new_push')}?{urlencode({'again': push_id})}"
    return Outcome("Cancelled. What the push had begun is taken back.", again, "Push again")


def _page_of(target: Target) -> str:
    return reverse("console:push", args=[target.arguments["push_id"]])


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
    back=_page_of,
)
#: The switch happens although checks failed; the reason is on record.
OVERRIDE: Final = replace(
    FINISH,
    title="Finish in spite of failed checks",
    button="Switch anyway",
    is_danger=True,
    explain=[
        "Queries switch to the new snapshot although the checks below refuse it.",
        "Your reason stays with the result of the checks and in the audit record.",
        "It can be taken back: go back to the snapshot before, under History.",
    ],
    preview=_to_override,
    run=lambda target, values, actor: _run(target, values, actor, override=actor.reason),
)
#: What the push had begun is taken back; nothing of it becomes visible.
CANCEL: Final = Operation(
    action="cancelPush",
    title="Cancel a push",
    button="Cancel this push",
    tab="lineage",
    place="pushes",
    find=_found,
    explain=[
        "The worker stops, and what the push had begun is taken back: its segments are removed, its replacement is "
        "reverted. Queries go on seeing the old snapshot.",
        "It can be pushed again with the same specification afterwards.",
    ],
    preview=_to_cancel,
    run=_cancel,
    back=_page_of,
    is_danger=True,
)


def _why_not(push: Push, failed: Sequence[str] | None) -> str:
    if push.state != Push.State.BLOCKED:
        return f"The push is {push.get_state_display()}; only one that is blocked by checks can be finished."
    return "" if failed is None or failed else "No result of its checks is on record. Check again first."
