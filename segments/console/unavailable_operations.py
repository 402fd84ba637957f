"""What the page's cluster cannot do: by its version, or now because it is unreachable. For buttons that are shown
disabled with the reason, and operations that are refused.
"""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest

from segments.console.cluster_address import cluster_of
from segments.domain.pinot.capabilities import CAPABILITIES, lacking, parse_version
from segments.models import Cluster
from segments.services.core.page_addresses import default_cluster

#: What a cluster does in each of the states in which it cannot be used, as the rest of a sentence that begins with its
#: name.
UNREACHABLE: Final = {
    Cluster.State.DOWN.value: "does not answer",
    Cluster.State.REFUSED.value: "refuses our credentials",
    Cluster.State.UNTRUSTED.value: "shows a certificate that is not trusted",
    Cluster.State.UNEXPECTED.value: "does not answer as Pinot does",
    Cluster.State.WRONG_CLUSTER.value: "is another cluster than the one that was added",
}
_ROW: Final = "cluster_row"


def lacking_here(request: HttpRequest, *capabilities: str) -> str:
    """Why the page's cluster lacks the first of these that it does lack; empty when it has all of them."""
    row = _row(request)
    version = parse_version(row.version) if row else None
    return next((why for name in capabilities if row and (why := lacking(version, name))), "")


def lacks_of(request: HttpRequest) -> tuple[list[tuple[str, str]], list[tuple[str, str]]] | None:
    """(title, reason) of everything that it lacks: without another way, and what is done differently. None: it lacks
    nothing.
    """
    row = _row(request)
    version = parse_version(row.version) if row else None
    lacks = [(c, why) for c in CAPABILITIES if row and (why := c.lacking(version))]
    split = [[(c.title, why) for c, why in lacks if bool(c.instead) is other] for other in (False, True)]
    return (split[0], split[1]) if lacks else None


def unreachable_here(request: HttpRequest, *, is_reading: bool = False) -> str:
    """Why nothing can be asked of the page's cluster now, as it was found last, some seconds ago at most; empty when it
    is there, or was not asked yet. ``is_reading``: its ZooKeeper would do, where the address of that is given.
    """
    row = _row(request)
    if (
        row is None
        or row.state not in UNREACHABLE
        or (is_reading and row.zookeeper and row.state == Cluster.State.DOWN)
    ):
        return ""
    return f"Cluster {row.name} {UNREACHABLE[row.state]}: this has to wait until it is back."


def queries_unreachable_here(request: HttpRequest) -> str:
    """Why queries cannot be answered; a broker whose address is given answers them without the controller."""
    row = _row(request)
    return "" if row is not None and row.broker_url and row.state == Cluster.State.DOWN else unreachable_here(request)


def _row(request: HttpRequest) -> Cluster | None:
    """As the mirror found it last; None for the installation's own cluster, which lacks nothing. Asked once a page."""
    if cluster_of(request) == default_cluster():
        return None
    if not hasattr(request, _ROW):
        setattr(request, _ROW, Cluster.objects.filter(name=cluster_of(request)).first())
    found: Cluster | None = getattr(request, _ROW)
    return found
