"""What the page's cluster can not do, with the reason: for buttons that are shown disabled and operations that are refused."""

from __future__ import annotations

from django.http import HttpRequest

from segments.console.cluster_address import cluster_of
from segments.domain.pinot_version import CAPABILITIES, PinotVersion, lacking, parse_version
from segments.models import Cluster
from segments.services.page_addresses import default_cluster


def lacking_here(request: HttpRequest, *capabilities: str) -> str:
    """Why the page's cluster lacks the first of these that it does lack; empty when it may be asked for all of them."""
    version = _version(request)
    return next((why for name in capabilities if (why := lacking(version, name))), "")


def lacks_of(request: HttpRequest) -> list[tuple[str, str]]:
    """(title, reason) of everything that it lacks."""
    version = _version(request)
    return [(c.title, why) for c in CAPABILITIES if (why := c.lacking(version))]


def _version(request: HttpRequest) -> PinotVersion | None:
    """As the mirror found it last; None for the installation's own cluster, which lacks nothing. Asked once a page."""
    if cluster_of(request) == default_cluster():
        return None
    if not hasattr(request, "pinot_version"):
        text = Cluster.objects.filter(name=cluster_of(request)).values_list("version", flat=True).first()
        request.pinot_version = parse_version(text)  # type: ignore[attr-defined]  # ours
    found: PinotVersion | None = request.pinot_version  # type: ignore[attr-defined]  # ours
    return found
