"""Cluster-wide settings: Pinot's dynamic configs, text by key."""

from __future__ import annotations

from collections.abc import Mapping

from segments.domain.formats.recorded_change import recorded_change
from segments.domain.realtime.cluster_keys import check_cluster_settings
from segments.domain.tables.kept_secrets import has_mask, keep_secrets
from segments.domain.tables.secret_masks import mask
from segments.errors import InvalidInput, NotFound
from segments.services.core import audit
from segments.services.core.context import Actor, Context


def shown_settings(ctx: Context) -> dict[str, str]:
    """All settings, secrets masked."""
    shown: dict[str, str] = mask(read_settings(ctx))
    return shown


def read_settings(ctx: Context) -> dict[str, str]:
    """All settings."""
    return ctx.engine.instances.read_settings(ctx)


def set_settings(ctx: Context, changes: Mapping[str, str], *, actor: Actor) -> None:
    """Set these keys; one that is masked stays as it is.

    InvalidInput when a key is empty, a value is not text, a mask stands for nothing, or a known key would get a value
    without a meaning.
    """
    if not changes or not all(isinstance(k, str) and k.strip() and isinstance(v, str) for k, v in changes.items()):
        raise InvalidInput("Cluster settings are an object of texts.", remedy='Send {"key": "value"}.')
    check_cluster_settings(changes)
    before = {k: v for k, v in read_settings(ctx).items() if k in changes}
    after: dict[str, str] = keep_secrets(dict(changes), before) if has_mask(dict(changes)) else dict(changes)
    with audit.recorded(ctx, actor, "setClusterConfigs", changes=after, **recorded_change(before, after)):
        ctx.engine.instances.change_settings(ctx, after)


def remove_setting(ctx: Context, key: str, *, actor: Actor) -> None:
    """Remove a key; its default holds again. NotFound when it is not set."""
    before = {k: v for k, v in read_settings(ctx).items() if k == key}
    if not before:
        raise NotFound(f"Cluster setting '{key}' is not set.", remedy="List them with GET /cluster/configs.")
    with audit.recorded(ctx, actor, "deleteClusterConfig", key, **recorded_change(before, {})):
        ctx.engine.instances.change_settings(ctx, {key: None})
