"""Instances of the cluster in Pinot's JSON form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from segments.clusters.pinot import operations as pinot_operations
from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Conflict, InvalidInput, NotFound, StateConflict
from segments.names import instance_name
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.store import paths
from segments.store.base import Versioned
from segments.store.records.instances import parse_config
from segments.store.update import update_record

Kind = Literal["Server", "Broker", "Controller", "Minion"]
_KINDS: Final[dict[str, Kind]] = {
    "SERVER": "Server",
    "BROKER": "Broker",
    "CONTROLLER": "Controller",
    "MINION": "Minion",
}
_PORTS: Final = 65_535


def list_instances(ctx: Context) -> list[str]:
    """Every instance that ever joined or is alive, sorted."""
    return sorted({*ctx.store.children(paths.PARTICIPANT_CONFIGS), *ctx.store.children(paths.LIVE_INSTANCES)})


def instance_json(ctx: Context, name: str) -> dict[str, Any]:
    """One instance: ports, tags, whether it may be used and whether it is alive. NotFound when it never joined."""
    node = ctx.store.get(paths.participant(name))
    if node is None or node.record is None:
        raise NotFound(f"Instance '{name}' does not exist.", remedy="List them with GET /instances.")
    config = parse_config(node.record)
    return {
        "instanceName": name,
        "hostName": config.host,
        "enabled": config.is_enabled,
        "port": str(config.port),
        "tags": list(config.tags),
        "pools": node.record.maps.get("pool"),
        "adminPort": config.admin_port,
        "grpcPort": int(config.simple.get("grpcPort", "-1")),
        "queryServicePort": int(config.simple.get("queryServerPort", "-1")),
        "queryMailboxPort": int(config.simple.get("queryMailboxPort", "-1")),
        "queriesDisabled": config.simple.get("queriesDisabled") == "true",
        "isAlive": ctx.store.exists(paths.live_instance(name)) is not None,
    }


def add_instance(ctx: Context, *, host: str, port: int, kind: str, tags: Sequence[str], actor: Actor) -> str:
    """Register an instance that has not joined yet; returns its name. InvalidInput, StateConflict when it is known
    already.
    """
    if kind.upper() not in _KINDS or not host.strip() or "/" in host or not 0 < port <= _PORTS:
        raise InvalidInput(
            "An instance has a host, a port and a type.", remedy="type is SERVER, BROKER, CONTROLLER or MINION."
        )
    if ctx.pinot is not None:
        return pinot_operations.add_instance(ctx, host=host.strip(), port=port, kind=kind, tags=tags, actor=actor)
    name = instance_name(_KINDS[kind.upper()], host.strip(), port)
    record = replace(
        ZNRecord(name, {"HELIX_HOST": host.strip(), "HELIX_PORT": str(port)}), lists={"TAG_LIST": list(tags)}
    )
    try:
        ctx.store.create(paths.participant(name), record)
    except Conflict as error:
        raise StateConflict(f"Instance '{name}' exists already.", remedy="List them with GET /instances.") from error
    audit.record(actor, "addInstance", cluster=ctx.cluster, target=name, tags=list(tags))
    return name


def set_instance_state(ctx: Context, name: str, *, is_enabled: bool, actor: Actor) -> None:
    """Drain a server (disable), or let it serve again (enable). NotFound when it never joined.

    A drained server gets no queries where another replica can answer, and no new segments; what it consumes goes on. It
    can be stopped then without anybody noticing.
    """
    if ctx.pinot is not None:
        pinot_operations.set_instance_state(ctx, name, is_enabled=is_enabled, actor=actor)
        return

    def decide(node: Versioned | None) -> ZNRecord:
        if node is None or node.record is None:
            raise NotFound(f"Instance '{name}' does not exist.", remedy="List them with GET /instances.")
        return node.record.with_simple_items({"HELIX_ENABLED": str(is_enabled).lower()})

    update_record(ctx.store, paths.participant(name), decide)
    audit.record(actor, "enableInstance" if is_enabled else "disableInstance", cluster=ctx.cluster, target=name)


def drop_instance(ctx: Context, name: str, *, actor: Actor) -> None:
    """Forget an instance. NotFound; StateConflict while it is alive or a table counts on it."""
    if ctx.pinot is not None:
        pinot_operations.drop_instance(ctx, name, actor=actor)
        return
    if ctx.store.exists(paths.participant(name)) is None:
        raise NotFound(f"Instance '{name}' does not exist.", remedy="List them with GET /instances.")
    if ctx.store.exists(paths.live_instance(name)) is not None:
        raise StateConflict(f"Instance '{name}' is alive.", remedy="Stop it first.")
    for typed in ctx.store.children(paths.IDEAL_STATES):
        node = ctx.store.get(f"{paths.IDEAL_STATES}/{typed}")
        if node and node.record and typed != "brokerResource" and any(name in row for row in node.record.maps.values()):
            raise StateConflict(
                f"Instance '{name}' holds segments of table '{typed}'.",
                remedy="Drop the table, or start the server again: its segments can not be moved to other servers.",
            )
    ctx.store.delete_tree(f"{paths.INSTANCES}/{name}")
    ctx.store.delete(paths.participant(name))
    audit.record(actor, "dropInstance", cluster=ctx.cluster, target=name)
