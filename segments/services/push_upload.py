"""Registers a push's staged segments: tars to their places, then records and ideal state, fenced by the push's lineage entry (B8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from segments.domain import segment_metadata
from segments.errors import Unavailable
from segments.models import PushSegment
from segments.names import TableName
from segments.services import pinot_push
from segments.services.context import Actor, Context
from segments.services.push_session import Session
from segments.services.upload_files import release_names, staged_path
from segments.services.uploads import upload_metadata
from segments.spark.build_part import Built, tar_path
from segments.store import paths

#: Segments per call of a hidden upload, so that progress shows; a visible one is a single call.
_BATCH: Final = 200


def register(session: Session, table: TableName, actor: Actor, built: Sequence[Built]) -> None:
    """Register what is not registered yet with the same content. StateConflict when the lineage entry is no longer IN_PROGRESS."""
    if session.ctx.pinot is not None:
        pinot_push.register(session, table, actor, built)
        return
    fenced = bool(session.push.plan["replaces"])
    size = _BATCH if fenced else max(len(built), 1)
    done = 0
    for at in range(0, len(built), size):
        batch = built[at : at + size]
        session.check()
        _register_batch(session, table, actor, batch, session.push.entry_id if fenced else None)
        done += len(batch)
        names = [b.name for b in batch]
        PushSegment.objects.filter(push=session.push, name__in=names).update(state=PushSegment.State.UPLOADED)
        session.update(segments_uploaded=done)


def _register_batch(session: Session, table: TableName, actor: Actor, batch: Sequence[Built], entry: str | None) -> None:
    ctx, push_id = session.ctx, str(session.push.pk)
    crcs = _crcs_on_record(ctx, table, batch)
    rows = PushSegment.objects.filter(push=session.push, name__in=[b.name for b in batch])
    rows.update(uri=ctx.deep_store.url)  # from here on a failed push has to look for files in place
    release_names(ctx, table, [b.name for b in batch])
    for one in batch:
        _bring_in(ctx, table, push_id, one, is_refresh=crcs[one.name] is not None)
    missing = [b for b in batch if crcs[b.name] != b.crc]
    if missing:
        parts = [(b.info, ctx.deep_store.uri(ctx.deep_store.segment_path(table.raw, b.name)), b.size_bytes) for b in missing]
        upload_metadata(ctx, table, parts, actor=actor, lineage_entry=entry)
    for one in batch:
        ctx.deep_store.move(staged_path(ctx, table, one.name, one.crc), ctx.deep_store.segment_path(table.raw, one.name))
        PushSegment.objects.filter(push=session.push, name=one.name).update(
            uri=ctx.deep_store.uri(ctx.deep_store.segment_path(table.raw, one.name))
        )


def _bring_in(ctx: Context, table: TableName, push_id: str, one: Built, *, is_refresh: bool) -> None:
    """Move the tar from staging to its place; beside its place while an older segment of that name is being served from there."""
    place, beside = ctx.deep_store.segment_path(table.raw, one.name), staged_path(ctx, table, one.name, one.crc)
    target = beside if is_refresh and ctx.deep_store.local_root is not None else place
    if ctx.deep_store.move(tar_path(push_id, one.ordinal), target):
        return
    if not is_there(ctx, table, push_id, one):
        raise Unavailable(f"The staged file of segment '{one.name}' is gone.", remedy="The push builds it again.")


def is_there(ctx: Context, table: TableName, push_id: str, one: Built) -> bool:
    """Whether a built segment's tar is in the deep store, whole: staged, or already at its place."""
    places = (
        tar_path(push_id, one.ordinal),
        ctx.deep_store.segment_path(table.raw, one.name),
        staged_path(ctx, table, one.name, one.crc),
    )
    return any(ctx.deep_store.size(p) == one.size_bytes for p in places)


def _crcs_on_record(ctx: Context, table: TableName, batch: Sequence[Built]) -> dict[str, int | None]:
    """CRC of each segment that has a record and a row in the ideal state, None for the others."""
    ideal = ctx.store.get(paths.ideal_state(table.typed))
    rows = ideal.record.maps if ideal and ideal.record else {}
    nodes = ctx.store.get_many([paths.segment(table.typed, b.name) for b in batch])
    return {
        b.name: segment_metadata.from_record(n.record).crc if n and n.record and b.name in rows else None
        for b, n in zip(batch, nodes, strict=True)
    }
