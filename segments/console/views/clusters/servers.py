"""Instances of the cluster: which are alive, where they listen, what the servers hold; draining a server and letting it
serve again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from segments.console.access import OPERATE, may, page
from segments.console.cluster_address import cluster_of, ctx_of
from segments.console.operation import Operation, Outcome, perform
from segments.console.presenters.servers import instance_rows
from segments.services.access.reading import readable
from segments.services.clusters import instances
from segments.services.core.context import Actor, Context


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


@page
@require_http_methods(["GET", "HEAD", "POST"])
def drain(request: HttpRequest, instance: str) -> HttpResponse:
    """Turn queries and new segments away from a server."""
    return perform(request, None, _operation(request, instance, is_enabled=False))


@page
@require_http_methods(["GET", "HEAD", "POST"])
def enable(request: HttpRequest, instance: str) -> HttpResponse:
    """Let a drained server serve again."""
    return perform(request, None, _operation(request, instance, is_enabled=True))


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


def _operation(request: HttpRequest, instance: str, *, is_enabled: bool) -> Operation:
    drains = ctx_of(request).engine.offers.own_processes
    enable, disable = ("Let it serve again", "Drain") if drains else ("Enable", "Disable")
    other = reverse("console:drain_server" if is_enabled else "console:enable_server", args=[instance])

    def run(ctx: Context, _: Mapping[str, Any], actor: Actor) -> Outcome:
        instances.set_instance_state(ctx, instance, is_enabled=is_enabled, actor=actor)
        done = f"{instance} serves again." if is_enabled else f"{instance} is {'drained' if drains else 'disabled'}."
        return Outcome(done, other, f"{disable} it" if is_enabled else enable)

    back = ["Queries and new segments go to it again.", f"Undo: {disable.lower()} it."]
    gone = _DRAINED if drains else _DISABLED
    return Operation(
        action="enableInstance" if is_enabled else "disableInstance",
        button=enable if is_enabled else disable,
        title=f"{disable} {instance}"
        if not is_enabled
        else f"Let {instance} serve again"
        if drains
        else f"Enable {instance}",
        explain=back if is_enabled else gone,
        back=reverse("console:servers"),
        run=run,
        items=[instance],
        is_danger=not drains and not is_enabled,
    )
