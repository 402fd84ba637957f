"""Cluster-wide settings: Pinot's dynamic configs, text by key in ``CONFIGS/CLUSTER`` (rule `pinot-layout`)."""

from __future__ import annotations

from collections.abc import Mapping

from segments.clusters.pinot import operations as pinot_operations
from segments.domain.formats.recorded_change import recorded_change
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.tables.kept_secrets import has_mask, keep_secrets
from segments.domain.tables.secret_masks import mask
from segments.errors import InvalidInput, NotFound
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.store import paths
from segments.store.base import Versioned
from segments.store.update import update_record


def shown_settings(ctx: Context) -> dict[str, str]:
    """All settings, secrets masked."""
    shown: dict[str, str] = mask(read_settings(ctx))
    return shown


def read_settings(ctx: Context) -> dict[str, str]:
    """All settings."""
    if ctx.pinot is not None:
        return pinot_operations.read_settings(ctx)
    node = ctx.store.get(_path(ctx))
    return dict(node.record.simple) if node and node.record else {}


def set_settings(ctx: Context, changes: Mapping[str, str], *, actor: Actor) -> None:
    """Set these keys; one that is masked stays as it is.

    InvalidInput when a key is empty, a value is no text or a mask stands for nothing.
    """
    if not changes or not all(isinstance(k, str) and k.strip() and isinstance(v, str) for k, v in changes.items()):
        raise InvalidInput("Cluster settings are an object of texts.", remedy='Send {"key": "value"}.')
    before = {k: v for k, v in read_settings(ctx).items() if k in changes}
    if has_mask(dict(changes)):
        changes = keep_secrets(dict(changes), before)
    if ctx.pinot is not None:
        pinot_operations.set_settings(ctx, changes, before=before, actor=actor)
        return
    _change(ctx, dict(changes))
    audit.record(
        actor, "setClusterConfigs", cluster=ctx.cluster, changes=dict(changes), **recorded_change(before, dict(changes))
    )


def remove_setting(ctx: Context, key: str, *, actor: Actor) -> None:
    """Remove a key; its default holds again. NotFound when it is not set."""
    if ctx.pinot is not None:
        pinot_operations.remove_setting(ctx, key, actor=actor)
        return
    before = {k: v for k, v in read_settings(ctx).items() if k == key}
    if not before:
        raise NotFound(f"Cluster setting '{key}' is not set.", remedy="List them with GET /cluster/configs.")
    _change(ctx, {key: None})
    audit.record(actor, "deleteClusterConfig", cluster=ctx.cluster, target=key, **recorded_change(before, {}))


def _change(ctx: Context, changes: dict[str, str] | dict[str, None] | dict[str, str | None]) -> None:
    def decide(node: Versioned | None) -> ZNRecord:
        before = node.record if node and node.record else ZNRecord(ctx.cluster)
        return before.with_simple_items(dict(changes))

    update_record(ctx.store, _path(ctx), decide)


def _path(ctx: Context) -> str:
    return f"{paths.CLUSTER_CONFIGS}/{ctx.cluster}"
