"""Warns of a table that asks for more replicas than there are servers to hold them."""

from __future__ import annotations

from typing import Any, Final

from segments.domain.formats.plural import counted
from segments.domain.tables.server_tags import segment_tag
from segments.domain.tables.table_config import TableConfig
from segments.errors import PinotAdminError
from segments.services.core.context import Context
from segments.store.records.instances import instance_configs

_KEY: Final = "segmentsConfig.replication"


def replica_warnings(ctx: Context, config: TableConfig) -> list[dict[str, Any]]:
    """As entries of ``warnings``; none where enough servers carry the table's tag, or where no server is known.

    Pinot takes such a table, and refuses its segments ("Number of instances: 2 with tag: ... < table replication: 3");
    servers of this program hold as many replicas as they can.
    """
    try:
        servers = {i: c for i, c in instance_configs(ctx.store).items() if i.startswith("Server_")}
        tag, wanted = segment_tag(config), config.replication
    except PinotAdminError:  # servers that cannot be listed now, or a foreign config that our types do not read
        return []
    fit = sum(c.is_enabled and tag in c.tags for c in servers.values())
    if not servers or fit >= wanted:
        return []
    if ctx.engine.offers.own_processes:
        follows = f"each segment gets {counted(fit, 'replica')} until there are more."
        remedy = "Lower it, or start more servers with that tag and then rebalance the table."
    else:
        follows = "Pinot refuses to place segments until there are more."
        remedy = "Lower it, or start more servers with that tag."
    problem = f"'{_KEY}' is {wanted}, but only {counted(fit, 'enabled server', 'has', 'have')} the tag "
    return [{"key": _KEY, "problem": f"{problem}'{tag}': {follows}", "remedy": remedy, "isWrong": False}]
