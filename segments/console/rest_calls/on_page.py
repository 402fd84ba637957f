"""What a call is written for, by the page that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from django.http import HttpRequest

from segments.console.cluster_address import cluster_of
from segments.console.rest_calls.call import Pressed
from segments.services.core.page_addresses import address_of, default_cluster


def pressed_on(
    request: HttpRequest, names: Mapping[str, str], chosen: Callable[[str], Sequence[str]] = lambda _: ()
) -> Pressed:
    """With the address and the cluster of this page; ``names`` and ``chosen`` as in ``Pressed``."""
    cluster, root = cluster_of(request), request.build_absolute_uri(address_of("/"))
    return Pressed(names, chosen, root, "" if cluster == default_cluster() else cluster)
