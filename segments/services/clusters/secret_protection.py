"""What an asker over console and REST may not do with the secrets of clusters: read them by way of a cluster of their
own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from segments.errors import Forbidden
from segments.models import Cluster
from segments.services.clusters.clusters import ClusterSpec


def check_secret_use(user: Any, spec: ClusterSpec, row: Cluster | None) -> None:
    """Forbidden, unless ``user`` is a superuser, for naming a place of a secret (by which any file or variable of ours
    could be leaked), and for sending a secret that is kept to another host. ``row`` is the cluster as it was, None for
    a new one.
    """
    if getattr(user, "is_superuser", False):
        return
    kept, kept_zookeeper = (row.auth_source, row.zookeeper_source) if row is not None else ("", "")
    _check_place("secret", spec.secret_source, kept)
    _check_place("zookeeper_secret", spec.zookeeper_secret_source, kept_zookeeper)
    if row is not None and kept and spec.auth and not spec.secret:
        known = _hosts([*map(str, row.controller_urls), row.broker_url])
        _check_hosts("secret", _hosts([*spec.controller_urls, spec.broker_url]) - known)
    if row is not None and kept_zookeeper and spec.zookeeper_user and not spec.zookeeper_secret:
        _check_hosts("zookeeper_secret", _servers(spec.zookeeper) - _servers(row.zookeeper))
        if ":" in row.zookeeper_user and ":" not in spec.zookeeper_user:
            _check_hosts("zookeeper_secret", {"in a digest login, which goes over the wire as it is"})


def _check_place(field: str, given: str, kept: str) -> None:
    if given and given != kept:
        raise Forbidden(
            "Only a superuser may name a place where a secret is.",
            remedy="Give the password or token itself.",
            field=field,
        )


def _check_hosts(field: str, foreign: set[str]) -> None:
    if foreign:
        text = f"The secret that is kept is not sent to another host ({', '.join(sorted(foreign))})."
        raise Forbidden(text, remedy="Give the password or token again.", field=field)


def _servers(zookeeper: str) -> set[str]:
    """Hosts with their ports of ``a:2181,b:2181/path``; those that are reached over TLS are not the same without."""
    way, _, rest = zookeeper.rpartition("://")
    return {f"{way}{server.strip().lower()}" for server in rest.partition("/")[0].split(",") if server.strip()}


def _hosts(addresses: Iterable[str]) -> set[str]:
    """Hosts with their ports; what is not an address stands for itself."""
    return {urlsplit(a).netloc.rpartition("@")[2].lower() or a for a in addresses if a}
