"""Instances of the cluster in Pinot's JSON form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from segments.errors import InvalidInput, NotFound, StateConflict
from segments.names import instance_name
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.store import paths
from segments.store.records.instances import parse_config

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
        raise instance_not_found(name)
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
    kind, host = kind.upper(), host.strip()
    if kind not in _KINDS or not host or "/" in host or not 0 < port <= _PORTS:
        raise InvalidInput(
            "An instance has a host, a port and a type.", remedy="type is SERVER, BROKER, CONTROLLER or MINION."
        )
    name = instance_name(_KINDS[kind], host, port)
    with audit.recorded(ctx, actor, "addInstance", name, tags=list(tags)):
        ctx.engine.instances.add_instance(ctx, name, (host, port), kind, tags)
    return name


def set_instance_state(ctx: Context, name: str, *, is_enabled: bool, actor: Actor) -> None:
    """Take an instance out of service, or let it serve again (enable). NotFound when it never joined."""
    with audit.recorded(ctx, actor, "enableInstance" if is_enabled else "disableInstance", name):
        ctx.engine.instances.set_instance_state(ctx, name, is_enabled=is_enabled)


def drop_instance(ctx: Context, name: str, *, actor: Actor) -> None:
    """Forget an instance. NotFound; StateConflict while it is alive or a table counts on it."""
    with audit.recorded(ctx, actor, "dropInstance", name):
        ctx.engine.instances.drop_instance(ctx, name)
        node = ctx.store.get(paths.drain(name))
        if node is not None:
            ctx.store.delete(paths.drain(name), node.version)


def instance_exists(name: str) -> StateConflict:
    """To raise for an instance that is registered already."""
    return StateConflict(f"Instance '{name}' exists already.", remedy="List them with GET /instances.")


def instance_not_found(name: str) -> NotFound:
    """To raise for an instance that never joined."""
    return NotFound(f"Instance '{name}' does not exist.", remedy="List them with GET /instances.")
