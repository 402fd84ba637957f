"""The health strip of the header: which servers and brokers are alive now, and which workers do not do their work."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from segments import wiring
from segments.console.access import page
from segments.console.cluster_address import cluster_of, ctx_of
from segments.console.presenters.badges import Mark
from segments.errors import PinotAdminError
from segments.services.access.read_rights import reads_all
from segments.services.core.page_addresses import default_cluster
from segments.store import paths


@dataclass(frozen=True)
class Part:
    """One kind of process and how many of it are alive."""

    mark: Mark
    names: list[str]


@page
@require_safe
def strip(request: HttpRequest) -> HttpResponse:
    """A fragment that htmx loads after the page, so that a slow ZooKeeper slows no page."""
    try:
        live = ctx_of(request).store.children(paths.LIVE_INSTANCES)
    except PinotAdminError as error:
        problem = "no ZooKeeper" if cluster_of(request) == default_cluster() else "no answer"
        return render(request, "console/partials/health.html", {"error": error, "problem": problem})
    parts = [_part(live, "Server_", "server", "no server"), _part(live, "Broker_", "broker", "no broker")]
    stuck = [s for s in wiring.worker_states() if not s.ok] if cluster_of(request) == default_cluster() else []
    # What a worker is at names tables.
    context = {"parts": parts, "stuck": stuck, "may_read_why": reads_all(request.user)}
    return render(request, "console/partials/health.html", context)


def _part(live: list[str], prefix: str, word: str, none: str) -> Part:
    names = [i for i in live if i.startswith(prefix)]
    if not names:
        return Part(Mark(none, "bad", "cross"), names)
    return Part(Mark(f"{len(names)} {word}{'' if len(names) == 1 else 's'}", "ok", "check"), names)
