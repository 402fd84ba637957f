"""What an asker over console and REST may not do with the secrets of clusters: read them by way of a cluster of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from segments.errors import Forbidden
from segments.models import Cluster
from segments.services.clusters import ClusterSpec


def check_asker(user: Any, spec: ClusterSpec, row: Cluster | None) -> None:
    """Forbidden, unless ``user`` is a superuser, for naming a place of a secret (by which any file or variable of ours could be sent away),
    and for sending a secret that is kept to another host. ``row`` is the cluster as it was, None for a new one.
    """
    if getattr(user, "is_superuser", False):
        return
    kept = row.auth_source if row is not None else ""
    if spec.secret_source and spec.secret_source != kept:
        raise Forbidden("Only a superuser may name a place where a secret is.", remedy="Give the password or token itself.", field="secret")
    if row is None or not kept or not spec.auth or spec.secret:
        return
    foreign = _hosts([*spec.controller_urls, spec.broker_url]) - _hosts([*map(str, row.controller_urls), row.broker_url])
    if foreign:
        text = f"The secret that is kept is not sent to another host ({', '.join(sorted(foreign))})."
        raise Forbidden(text, remedy="Give the password or token again.", field="secret")


def _hosts(addresses: Iterable[str]) -> set[str]:
    """Hosts with their ports; what is no address stands for itself."""
    return {urlsplit(a).netloc.rpartition("@")[2].lower() or a for a in addresses if a}
