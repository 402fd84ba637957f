"""Engines of the embedded cluster for tests: without servers, or with what a test has in their place."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

from segments.clusters.embedded import NoLocalBroker, embedded_engine
from segments.clusters.embedded.connected_engine import EmbeddedEngine, LocalBroker
from segments.errors import Unavailable
from segments.gateways.servers import Servers
from segments.services.core.context import Context
from segments.services.engine.snapshots import SnapshotReader


def _no_servers(*_: Any) -> Any:
    raise Unavailable("This test has no servers.")


def unreadable(_: str) -> AbstractContextManager[SnapshotReader]:
    """Of a process that cannot read segments."""
    raise Unavailable("This process cannot read segments.")


def engine_of(
    servers: Servers | None = None,
    read_snapshots: Callable[[str], AbstractContextManager[SnapshotReader]] = unreadable,
    local_broker: Callable[[], LocalBroker] = NoLocalBroker,
) -> EmbeddedEngine:
    """An engine with these parts; without one what needs it raises Unavailable."""
    nobody: Any = SimpleNamespace(ask=_no_servers)
    return embedded_engine(servers or nobody, read_snapshots, local_broker)


#: Nobody is asked, nobody reads.
EMBEDDED: Final = engine_of()


def asking(ctx: Context, ask: Callable[..., Any]) -> Context:
    """The same whose servers answer with ``ask(url, method, path, timeout_s)``."""
    return with_servers(ctx, SimpleNamespace(ask=ask))


def with_servers(ctx: Context, servers: Any) -> Context:
    """The same with these servers, which need no more than what is asked of them."""
    assert isinstance(ctx.engine, EmbeddedEngine)
    return replace(ctx, engine=replace(ctx.engine, servers=servers))


def reading(ctx: Context, read_snapshots: Callable[[str], Any]) -> Context:
    """The same whose snapshots are read so."""
    assert isinstance(ctx.engine, EmbeddedEngine)
    return replace(ctx, engine=replace(ctx.engine, read_snapshots=read_snapshots))
