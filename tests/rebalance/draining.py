"""A cluster in memory whose servers have tags: A and B hold a table, C is alive and has room."""

from __future__ import annotations

from pathlib import Path

from segments.services.rebalance import drain, rebalance
from segments.store import paths
from segments.store.records.instances import instance_configs, join
from tests.rebalance.spread import A, B, C, Spread

TAGS = ("DefaultTenant_OFFLINE", "DefaultTenant_REALTIME")


class Tagged(Spread):
    """``Spread`` with servers that have joined."""

    def __init__(self, folder: Path, segments: int = 12, **config: object) -> None:
        super().__init__(folder, segments, **config)
        for server in (A, B, C):
            self.memory.delete(paths.live_instance(server))
            join(self.memory, server, server.split("_")[1], 1, TAGS)

    def tags(self, server: str) -> tuple[str, ...]:
        """The tags that it has."""
        return instance_configs(self.memory)[server].tags

    def stop_server(self, server: str) -> None:
        """It is gone: nothing is served by it."""
        self.memory.delete(paths.live_instance(server))

    def move_on(self) -> None:
        """Servers and the passes take turns until nothing is left to do."""
        for _ in range(100):
            drain.keep(self.ctx)
            rebalance.keep(self.ctx)
            self.serve()
            if not any(found.is_at_work for found in drain.all_drains(self.ctx)):
                return
            self.now += 5_000
        raise AssertionError("the drain does not end")
