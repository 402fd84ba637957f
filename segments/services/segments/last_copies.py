"""Segments whose only copies are on servers: which they are, who may lose them, and their upload by hand."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.errors import InvalidInput
from segments.names import REALTIME, TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.segments.segments import read_records
from segments.store import paths
from segments.store.records.instances import instance_configs, live_instances

#: What a server puts into its instance's record when it joins, and nobody who only registers an instance.
_ADMIN_PORT: Final = "adminPort"
#: Names in an audit record.
_SHOWN: Final = 100


def only_on_servers(ctx: Context, table: TableName, segments: Collection[str]) -> list[str]:
    """Those of the segments that are committed and have no file in the deep store. Only REALTIME tables have such."""
    return sorted(lonely(ctx, table, segments))


def lonely(ctx: Context, table: TableName, segments: Collection[str]) -> dict[str, SegmentMetadata]:
    """As ``only_on_servers``, with their records."""
    if table.type != REALTIME or not segments:
        return {}
    found = {s: m for s, m in read_records(ctx, table, sorted(segments)).items() if m.is_on_servers_only}
    held = _held(ctx, table, found) if found else set()
    return {s: m for s, m in found.items() if s in held}


def _held(ctx: Context, table: TableName, segments: Collection[str]) -> set[str]:
    """Those that some server may hold: not the ones that are assigned to instances only that were registered and never
    ran.
    """
    node = ctx.store.get(paths.ideal_state(table.typed))
    rows = node.record.maps if node is not None and node.record is not None else {}
    live, configs = live_instances(ctx.store), instance_configs(ctx.store)
    idle = {i for i, config in configs.items() if _ADMIN_PORT not in config.simple and i not in live}
    return {s for s in segments if not rows.get(s) or not idle.issuperset(rows[s])}


def upload_segments(
    ctx: Context, table: TableName, segments: Collection[str], *, is_forced: bool = False, actor: Actor
) -> list[str]:
    """Upload those of these segments that the deep store lacks, or with ``is_forced`` all that are committed; returns
    those done. StateConflict where servers are not asked from here.
    """
    named = {"segments": sorted(segments)[:_SHOWN], "asked": len(segments)}
    with audit.recorded(ctx, actor, "uploadFromServerToDeepstore", table.typed, **named) as detail:
        done = ctx.engine.segments.upload_to_store(ctx, table, segments, is_forced=is_forced)
        detail["segments"] = done[:_SHOWN]
    return done


def check_force(force: bool, actor: Actor) -> None:
    """Deleting for good wants a reason on record. Raises InvalidInput."""
    if force and not actor.reason.strip():
        raise InvalidInput(
            "force=true deletes for good and needs a reason.", remedy="Give it as reason=... or in the header X-Reason."
        )
