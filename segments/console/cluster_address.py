"""Which cluster a page is about, by its address, and how every link of the page stays with it.

``/console/c/NAME/...`` are the pages of cluster NAME; without ``c/NAME`` they are those of the installation's own. The
middleware takes the prefix off before Django resolves the view and sets it as the script prefix. So ``reverse``,
``redirect`` and ``{% url %}`` put it on again, and no page, button, redirect, export or live part can forget its
cluster.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import get_script_prefix

from segments import wiring
from segments.services.core.context import Context
from segments.services.core.page_addresses import PREFIX, default_cluster, mounted_at

_ADDRESS: Final = re.compile(rf"/{PREFIX}(?P<name>[-\w]+)(?P<rest>/.*)?\Z", re.ASCII | re.DOTALL)


class ClusterAddress:
    """Middleware: the cluster of the address becomes ``request.cluster_name``; other addresses are left alone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer with the prefix taken off for as long as it takes."""
        found = _ADDRESS.match(request.path_info)
        if not found:
            return self._get_response(request)
        if not found["rest"]:
            return HttpResponseRedirect(request.get_full_path(force_append_slash=True))
        request.cluster_name = found["name"]  # type: ignore[attr-defined]  # ours
        request.urlconf = settings.CLUSTER_URLCONF
        request.path_info = found["rest"]
        with mounted_at(f"{get_script_prefix()}{PREFIX}{found['name']}/"):
            return self._get_response(request)


def cluster_of(request: HttpRequest) -> str:
    """The cluster that the page is about. It may not exist: ``ctx_of`` raises then."""
    return str(getattr(request, "cluster_name", "")) or default_cluster()


def ctx_of(request: HttpRequest) -> Context:
    """The parts of the page's cluster. NotFound when there is none of that name."""
    return wiring.context(cluster_of(request))
