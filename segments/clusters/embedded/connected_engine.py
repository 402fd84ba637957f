"""The engine of the embedded cluster with its connections, for code below this folder that asks servers and brokers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from segments.gateways.servers import Servers
from segments.services.core.context import Context
from segments.services.engine import Engine
from segments.services.engine.snapshots import SnapshotReader


class LocalBroker(Protocol):
    """The broker of this very process: it can be asked what it serves without a way over ZooKeeper."""

    broker_id: str

    def wait_for(self, table: str, zxid: int, timeout_s: float) -> bool:
        """Wait until it serves the typed table with a lineage at least as new as ``zxid``; False when
        time is up first.
        """


class NoLocalBroker:
    """For processes without a broker: no live broker has its name, so all are followed by what they acknowledge."""

    broker_id = ""

    def wait_for(self, table: str, zxid: int, timeout_s: float) -> bool:
        """Never."""
        return False


@dataclass(frozen=True)
class EmbeddedEngine(Engine):
    """An engine with the connections of one process to the embedded cluster."""

    #: HTTP to the cluster's servers.
    servers: Servers
    #: Reads exactly the named segments of a typed table, hidden ones too.
    read_snapshots: Callable[[str], AbstractContextManager[SnapshotReader]]
    #: The broker of this process, as it is now.
    local_broker: Callable[[], LocalBroker]


def connected(ctx: Context) -> EmbeddedEngine:
    """The engine with its connections; only for contexts of the embedded cluster."""
    assert isinstance(ctx.engine, EmbeddedEngine)
    return ctx.engine
