"""Instances of the cluster in Pinot's JSON form."""

from __future__ import annotations

from typing import Any

from segments.errors import NotFound
from segments.services.context import Context
from segments.store import paths
from segments.store.instances import parse_config


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
