"""Tries each part that the configuration names once, within seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from django.conf import settings
from django.db import connection
from redis import Redis

from segments import wiring
from segments.services.clusters.own_deep_store import own_deep_store
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.records.instances import instance_configs, live_instances

_SECONDS: Final = 5.0


def _opened() -> ZooKeeperStore:
    return ZooKeeperStore(
        settings.ZOOKEEPER_URL, settings.CLUSTER_NAME, connect_timeout=_SECONDS, login=wiring.zookeeper_login()
    )


def _zookeeper() -> None:
    _opened().close()


def without_tls() -> list[str]:
    """Where parts are to speak TLS: those that run and do not. Unavailable without ZooKeeper."""
    if not settings.TLS_CERTIFICATE:
        return []
    store = _opened()
    try:
        live, configs = live_instances(store), instance_configs(store)
    finally:
        store.close()
    return [name for name in sorted(live) if name in configs and not configs[name].has_tls]


def _redis() -> None:
    with Redis.from_url(settings.REDIS_URL, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS) as client:
        client.ping()


def _database() -> None:
    connection.ensure_connection()
    connection.close()


def _deep_store() -> None:
    own_deep_store()


PARTS: Final[Mapping[str, Callable[[], None]]] = {
    "ZOOKEEPER_URL": _zookeeper,
    "REDIS_URL": _redis,
    "DATABASE_URL": _database,
    "DEEP_STORE_URL": _deep_store,
}
