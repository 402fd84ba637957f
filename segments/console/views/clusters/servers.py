"""Instances of the cluster: which are alive, where they listen, what the servers hold; draining a server and letting it
serve again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from segments.console.access import OPERATE, may, page
from segments.console.cluster_address import cluster_of, ctx_of
from segments.console.operation import Operation, Outcome, Target, no_table
from segments.console.presenters.servers import instance_rows
from segments.services.access.read_rights import readable
from segments.services.clusters import instances
from segments.services.core.context import Actor


@page
@require_safe
def server_list(request: HttpRequest) -> HttpResponse:
    """Servers first, then brokers and the rest; refreshes itself."""
    return render(
        request,
        "console/servers.html",
        {
            "rows": instance_rows(ctx_of(request), readable(request.user, cluster_of(request))),
            "may_operate": may(request, OPERATE),
        },
    )


#: What a real Pinot does is harder: Helix takes every replica of a disabled server offline (tried on 0.11.0).
_DISABLED: Final = [
    "Pinot takes all its segments offline: queries go to other replicas, and miss the rows of segments that only "
    "this server holds.",
    "It stops consuming. It gets no new segments, and keeps the files that it has.",
    "Undo: enable it; it loads its segments again.",
]
_DRAINED: Final = [
    "Queries go to other replicas; it is asked only for what nobody else holds. It gets no new segments.",
    "It keeps what it holds and goes on consuming: stop or restart it afterwards, and nobody notices.",
    "Undo: let it serve again.",
]


def _drains(target: Target) -> bool:
    """Does a disabled server go on with what it holds? Else it is taken offline."""
    return target.ctx.engine.offers.own_processes


def _words(target: Target) -> tuple[str, str]:
    """What letting it serve and taking it out are called on this kind of cluster."""
    return ("Let it serve again", "Drain") if _drains(target) else ("Enable", "Disable")


def _to_drain(target: Target, plain: Operation) -> Operation:
    instance, drains, (_, disable) = target.arguments["instance"], _drains(target), _words(target)
    return replace(
        plain,
        title=f"{disable} {instance}",
        button=disable,
        explain=_DRAINED if drains else _DISABLED,
        lists=[("Concerned", [instance])],
        is_danger=not drains,
    )


def _run_drain(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    instance = target.arguments["instance"]
    instances.set_instance_state(target.ctx, instance, is_enabled=False, actor=actor)
    done = "drained" if _drains(target) else "disabled"
    back = reverse("console:enable_server", args=[instance])
    return Outcome(f"{instance} is {done}.", back, _words(target)[0])


#: Keeps queries and new segments from a server.
DRAIN: Final = Operation(
    action="disableInstance",
    title="Drain",
    button="Drain",
    find=no_table,
    preview=_to_drain,
    run=_run_drain,
    back=lambda _: reverse("console:servers"),
)


def _to_enable(target: Target, plain: Operation) -> Operation:
    instance, (enable, disable) = target.arguments["instance"], _words(target)
    return replace(
        plain,
        title=f"Let {instance} serve again" if _drains(target) else f"Enable {instance}",
        button=enable,
        explain=["Queries and new segments go to it again.", f"Undo: {disable.lower()} it."],
        lists=[("Concerned", [instance])],
    )


def _run_enable(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    instance = target.arguments["instance"]
    instances.set_instance_state(target.ctx, instance, is_enabled=True, actor=actor)
    back = reverse("console:drain_server", args=[instance])
    return Outcome(f"{instance} serves again.", back, f"{_words(target)[1]} it")


#: Lets a drained server serve again.
ENABLE: Final = replace(DRAIN, action="enableInstance", preview=_to_enable, run=_run_enable)
