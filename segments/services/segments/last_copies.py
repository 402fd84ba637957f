"""Segments whose only copies are on servers: copied into the deep store before they are deleted, so that they can come
back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from segments.domain.segments.archive import Outcome, refused
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.errors import InvalidInput, StateConflict
from segments.names import REALTIME, TableName
from segments.services.core.context import Actor, Context
from segments.services.realtime.deep_store_upload import is_on_servers_only, try_upload
from segments.services.segments.segments import read_records
from segments.store import paths
from segments.store.records.instances import instance_configs, live_instances

#: Seconds for which a deletion copies; what it did not come to is refused, and uploaded by the validation pass in its
#: time.
_COPY_S: Final = 60.0
_NAMED: Final = 20
#: What a server puts into its instance's record when it joins, and nobody who only registers an instance.
_ADMIN_PORT: Final = "adminPort"
_REMEDY: Final = (
    "Start a server that holds it and try again, or give force=true and a reason: then it is gone for good."
)


def only_on_servers(ctx: Context, table: TableName, segments: Collection[str]) -> list[str]:
    """Those of the segments that are committed and have no file in the deep store. Only REALTIME tables have such."""
    return sorted(_lonely(ctx, table, segments))


def _lonely(ctx: Context, table: TableName, segments: Collection[str]) -> dict[str, SegmentMetadata]:
    if table.type != REALTIME or not segments:
        return {}
    found = {s: m for s, m in read_records(ctx, table, sorted(segments)).items() if is_on_servers_only(m)}
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


def copy_to_store(ctx: Context, table: TableName, segments: Collection[str]) -> dict[str, str]:
    """Copy those that only servers have into the deep store; {segment: why it could not be copied}."""
    if not ctx.deep_store.exists:
        return dict.fromkeys(_lonely(ctx, table, segments), "this installation has none.")
    until, failed = ctx.timer.seconds() + _COPY_S, {}
    for segment, metadata in _lonely(ctx, table, segments).items():
        in_time = ctx.timer.seconds() < until
        failure = try_upload(ctx, table, segment, metadata) if in_time else "there was no time left to copy it."
        if failure:
            failed[segment] = failure
    return failed


def check_force(force: bool, actor: Actor) -> None:
    """Deleting for good wants a reason on record. Raises InvalidInput."""
    if force and not actor.reason.strip():
        raise InvalidInput(
            "force=true deletes for good and needs a reason.", remedy="Give it as reason=... or in the header X-Reason."
        )


def refusal(segment: str, why: str) -> Outcome:
    """The outcome for a segment that would be lost."""
    return refused(
        segment, f"Only servers hold segment '{segment}', and it was not copied to the deep store: {why}", _REMEDY
    )


def lost(table: TableName, failed: Mapping[str, str]) -> StateConflict:
    """The refusal of a request of which nothing is done, because these segments would be lost."""
    first = min(failed)
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    return StateConflict(
        f"Only servers hold segment '{first}'{more} of table '{table}', and it was not copied to the deep store: "
        f"{failed[first]}",
        remedy=_REMEDY,
        segments=sorted(failed)[:_NAMED],
    )
