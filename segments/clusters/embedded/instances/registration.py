"""Which instances there are, and whether they serve: their records in ZooKeeper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Conflict, StateConflict
from segments.names import TableName
from segments.services.clusters.instances import instance_exists, instance_not_found
from segments.services.core.context import Context
from segments.store import paths
from segments.store.base import Versioned
from segments.store.update import update_record


def add_instance(ctx: Context, name: str, address: tuple[str, int], kind: str, tags: Sequence[str]) -> None:
    """Register an instance that has not joined yet. StateConflict when it is known already."""
    host, port = address
    record = ZNRecord(name, {"HELIX_HOST": host, "HELIX_PORT": str(port)})
    try:
        ctx.store.create(paths.participant(name), replace(record, lists={"TAG_LIST": list(tags)}))
    except Conflict as error:
        raise instance_exists(name) from error


def set_instance_state(ctx: Context, name: str, *, is_enabled: bool) -> None:
    """Take a server out of service (disable), or let it serve again. NotFound when it never joined.

    A disabled server gets no queries where another replica can answer, and no new segments; what it consumes goes on.
    It can be stopped then without anybody noticing.
    """

    def decide(node: Versioned | None) -> ZNRecord:
        if node is None or node.record is None:
            raise instance_not_found(name)
        return node.record.with_simple_items({"HELIX_ENABLED": str(is_enabled).lower()})

    update_record(ctx.store, paths.participant(name), decide)


def set_instance_tags(ctx: Context, name: str, tags: Sequence[str]) -> None:
    """Give an instance exactly these tags. NotFound when it never joined."""

    def decide(node: Versioned | None) -> ZNRecord:
        if node is None or node.record is None:
            raise instance_not_found(name)
        return replace(node.record, lists={**node.record.lists, "TAG_LIST": list(tags)})

    update_record(ctx.store, paths.participant(name), decide)


def drop_instance(ctx: Context, name: str) -> None:
    """Forget an instance. NotFound; StateConflict while it is alive or holds segments."""
    if ctx.store.exists(paths.participant(name)) is None:
        raise instance_not_found(name)
    if ctx.store.exists(paths.live_instance(name)) is not None:
        raise StateConflict(f"Instance '{name}' is alive.", remedy="Stop it first.")
    for typed in ctx.store.children(paths.IDEAL_STATES):
        node = ctx.store.get(f"{paths.IDEAL_STATES}/{typed}")
        if node and node.record and typed != "brokerResource" and any(name in row for row in node.record.maps.values()):
            raise StateConflict(
                f"Instance '{name}' holds segments of table '{typed}'.",
                remedy=f"Drain it first: POST /api/v1/instances/{name}/drain moves its segments to other servers.",
            )
    ctx.store.delete_tree(f"{paths.INSTANCES}/{name}")
    ctx.store.delete(paths.participant(name))


def start_own_pass(ctx: Context, name: str, table: TableName | None) -> list[str]:
    """StateConflict: all passes are run by the workers."""
    raise StateConflict(f"Cluster '{ctx.cluster}' has no controller that runs {name}.", remedy="Run it from here.")
