"""Instances of the cluster: which are alive, where they listen, what the servers hold; disabling and enabling one."""

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
_OFFLINE: Final = [
    "Pinot takes all its segments offline: queries go to other replicas, and miss the rows of segments that only "
    "this server holds.",
    "It stops consuming. It gets no new segments, and keeps the files that it has.",
    "Undo: enable it; it loads its segments again.",
]
_KEPT: Final = [
    "Queries go to other replicas; it is asked only for what nobody else holds. It gets no new segments.",
    "It keeps what it holds and goes on consuming: stop or restart it afterwards, and nobody notices.",
    "Undo: enable it.",
]


def _goes_on(target: Target) -> bool:
    """Does a disabled server go on with what it holds? Else it is taken offline."""
    return target.ctx.engine.offers.own_processes


def _to_disable(target: Target, plain: Operation) -> Operation:
    instance, goes_on = target.arguments["instance"], _goes_on(target)
    return replace(
        plain,
        title=f"Disable {instance}",
        explain=_KEPT if goes_on else _OFFLINE,
        lists=[("Concerned", [instance])],
        is_danger=not goes_on,
    )


def _run_disable(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    instance = target.arguments["instance"]
    instances.set_instance_state(target.ctx, instance, is_enabled=False, actor=actor)
    return Outcome(f"{instance} is disabled.", reverse("console:enable_server", args=[instance]), "Enable it")


#: Keeps queries and new segments from a server.
DISABLE: Final = Operation(
    action="disableInstance",
    title="Disable",
    button="Disable",
    find=no_table,
    preview=_to_disable,
    run=_run_disable,
    back=lambda _: reverse("console:servers"),
)


def _to_enable(target: Target, plain: Operation) -> Operation:
    instance = target.arguments["instance"]
    return replace(
        plain,
        title=f"Enable {instance}",
        button="Enable",
        explain=["Queries and new segments go to it again.", "Undo: disable it."],
        lists=[("Concerned", [instance])],
    )


def _run_enable(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    instance = target.arguments["instance"]
    instances.set_instance_state(target.ctx, instance, is_enabled=True, actor=actor)
    return Outcome(f"{instance} is enabled.", reverse("console:disable_server", args=[instance]), "Disable it")


#: Lets a disabled server serve again.
ENABLE: Final = replace(DISABLE, action="enableInstance", preview=_to_enable, run=_run_enable)
