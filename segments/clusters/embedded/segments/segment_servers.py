"""The servers that may get segments of a table: those with its tag."""

from __future__ import annotations

from dataclasses import dataclass

from segments.domain.segments import assignment
from segments.domain.tables.server_tags import consuming_tag, segment_tag
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.names import REALTIME
from segments.services.core.context import Context
from segments.store import paths
from segments.store.records.instances import InstanceConfig, instance_configs


@dataclass(frozen=True)
class SegmentServers:
    """Servers with ``tag``: ``enabled`` are all that may be used, ``ready`` those of them that are alive."""

    tag: str
    ready: frozenset[str]
    enabled: frozenset[str]

    def choose(self, table: str, replication: int) -> list[str]:
        """Servers to assign over. StateConflict, which names the tag, when there is none."""
        return assignment.choose_servers(table, replication, ready=self.ready, known=self.enabled, tag=self.tag)


def segment_servers(ctx: Context, config: TableConfig) -> SegmentServers:
    """Who may get segments of the table now. One that is alive and has no config, and so no tags, is taken for every
    table.
    """
    tag, known = segment_tag(config), _servers(ctx)
    enabled = frozenset(i for i, c in known.items() if c.is_enabled and tag in c.tags)
    live = [i for i in ctx.store.children(paths.LIVE_INSTANCES) if i.startswith("Server_")]
    return SegmentServers(tag, frozenset(i for i in live if i in enabled or i not in known), enabled)


def check_has_servers(ctx: Context, config: TableConfig, before: TableConfig | None = None) -> None:
    """Raises InvalidInput when servers are known and none of them carries the table's tag, so that no segment could
    ever be placed.

    ``before``: the config that this one replaces; one that asks for the same tag is accepted, whatever became of the
    servers.
    """
    tag, known = segment_tag(config), _servers(ctx)
    if (before is not None and segment_tag(before) == tag) or (
        config.table.type == REALTIME and tag == consuming_tag(config)
    ):
        return  # who consumes a table is checked where partitions get their servers
    if known and not any(tag in c.tags for c in known.values()):
        tags = ", ".join(sorted({t for c in known.values() for t in c.tags})) or "none"
        raise InvalidInput(
            f"No server carries the tag '{tag}' that table '{config.table}' asks for; the servers' tags are {tags}.",
            remedy="Change 'tenants', or register a server with that tag with POST /instances.",
            field="tenants",
        )


def _servers(ctx: Context) -> dict[str, InstanceConfig]:
    return {i: c for i, c in instance_configs(ctx.store).items() if i.startswith("Server_")}
