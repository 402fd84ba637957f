"""A broker that belongs to no cluster: it reads one table's routing when asked, answers queries from it, and is gone.

For checks of a new snapshot, which run wherever a switch runs: web, worker or a command. It does not join, follow or
acknowledge, so no switch waits for it and nothing depends on whether a web process is up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Final

from segments.dataplane.broker.broker import Broker
from segments.dataplane.broker.routing import Routing, ServerRef, build_routing, find_hosting, observe
from segments.gateways.servers import Servers
from segments.store.base import Store
from segments.store.records.instances import instance_configs, live_instances

_POLL_S: Final = 0.02


class DetachedBroker(Broker):
    """Only ``query`` is of use. A context manager: its threads end with the block."""

    def __init__(self, store: Store, servers: Servers, clock: Callable[[], int], table: str) -> None:
        super().__init__(store, "Broker_detached_0", servers, clock)
        self._follower = _Read(store, table)  # type: ignore[assignment]  # the two methods of it that queries use

    def __enter__(self) -> DetachedBroker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._fan_out.close()
        self._pool.shutdown(wait=True, cancel_futures=True)


class _Read:
    """The routing of one typed table, read when first needed and again when it turned out to be outdated."""

    def __init__(self, store: Store, table: str) -> None:
        self._store, self._table = store, table
        self._routing: Routing | None = None

    def routings(self) -> Mapping[str, Routing]:
        """{table: routing}; empty when there is no such table."""
        if self._routing is None:
            self._routing = self._fresh()
        return {} if self._routing is None else {self._table: self._routing}

    def wait_change(self, known: Sequence[Routing], timeout_s: float) -> bool:
        """Read until the routing is another; False when time is up first."""
        deadline = time.monotonic() + timeout_s
        while True:
            self._routing = self._fresh()
            if self._routing not in known:
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)

    def _fresh(self) -> Routing | None:
        live, configs = live_instances(self._store), instance_configs(self._store)
        servers = {
            name: ServerRef(name, instance.session, configs[name].admin_url, not configs[name].is_enabled)
            for name, instance in live.items()
            if name.startswith("Server_") and name in configs
        }
        seen = observe(self._store, self._table, servers)
        return None if seen is None else build_routing(seen, find_hosting(seen, servers))
