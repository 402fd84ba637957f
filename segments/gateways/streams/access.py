"""What streams are opened with: the installation's own brokers, and what a table's config may name besides them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from segments.domain.access.outgoing import Kind, Rules


@dataclass(frozen=True)
class StreamAccess:
    """``redis_url``, ``kafka_bootstrap``: where streams are when the config does not say it; empty: nowhere.

    ``file_roots``: folders below which a config may name files, such as certificates. The rules say which brokers and
    registries it may name; without any, none but the installation's own.
    """

    redis_url: str = ""
    kafka_bootstrap: str = ""
    file_roots: tuple[str, ...] = ()
    kafka: Rules = field(default_factory=lambda: Rules(Kind.KAFKA))
    redis: Rules = field(default_factory=lambda: Rules(Kind.REDIS))
    registries: Rules = field(default_factory=lambda: Rules(Kind.REGISTRY))


def stream_access(
    redis_url: str = "",
    kafka_bootstrap: str = "",
    *,
    file_roots: Sequence[str] = (),
    kafka_roots: Sequence[str] = (),
    redis_roots: Sequence[str] = (),
    registry_roots: Sequence[str] = (),
    loopback: bool = False,
) -> StreamAccess:
    """The access of an installation: its own Redis and Kafka, the roots of each kind, and this machine's own addresses
    if ``loopback``.
    """
    brokers = tuple(one.strip() for one in kafka_bootstrap.split(",") if one.strip())
    own_redis = urlsplit(redis_url).netloc.rpartition("@")[2] if redis_url.startswith(("redis://", "rediss://")) else ""
    return StreamAccess(
        redis_url,
        kafka_bootstrap,
        tuple(file_roots),
        Rules(Kind.KAFKA, tuple(kafka_roots), brokers, loopback),
        Rules(Kind.REDIS, tuple(redis_roots), (own_redis,) if own_redis else (), loopback),
        Rules(Kind.REGISTRY, tuple(registry_roots), (), loopback),
    )
