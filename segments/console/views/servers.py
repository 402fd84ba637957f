"""Instances of the cluster: which are alive, where they listen, what the servers hold."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from segments import wiring
from segments.console.access import page
from segments.console.presenters.servers import instance_rows


@page
@require_safe
def server_list(request: HttpRequest) -> HttpResponse:
    """Servers first, then brokers and the rest; refreshes itself."""
    return render(request, "console/servers.html", {"rows": instance_rows(wiring.context())})
