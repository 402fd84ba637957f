"""Cluster-wide settings in ``CONFIGS/CLUSTER`` (rule `pinot-layout`)."""

from __future__ import annotations

from collections.abc import Mapping

from segments.domain.formats.znrecord import ZNRecord
from segments.services.core.context import Context
from segments.store import paths
from segments.store.base import Versioned
from segments.store.update import update_record


def read_settings(ctx: Context) -> dict[str, str]:
    """All settings."""
    node = ctx.store.get(_path(ctx))
    return dict(node.record.simple) if node and node.record else {}


def change_settings(ctx: Context, changes: Mapping[str, str | None]) -> None:
    """Set these keys, or remove those that are None."""

    def decide(node: Versioned | None) -> ZNRecord:
        before = node.record if node and node.record else ZNRecord(ctx.cluster)
        return before.with_simple_items(dict(changes))

    update_record(ctx.store, _path(ctx), decide)


def _path(ctx: Context) -> str:
    return f"{paths.CLUSTER_CONFIGS}/{ctx.cluster}"
