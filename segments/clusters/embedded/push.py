"""Registers a push's staged segments on the embedded cluster: tars to their places, then records and rows, fenced
by the push's lineage entry (rule `fenced-uploads`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from segments.clusters.embedded.segments.replaced import Replaced, keep, take_back
from segments.domain.segments.admission import Conditions
from segments.domain.segments.archive import is_replaced_by
from segments.domain.tables.table_config import parse_table_config
from segments.errors import PinotAdminError, Unavailable
from segments.models import PushSegment
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.push.push_files import is_there, staged_and_place
from segments.services.push.push_session import Session
from segments.services.segments.replaced.by_push import check_names
from segments.services.segments.upload_files import release_names
from segments.services.segments.uploads import UploadOptions, upload_metadata
from segments.spark.build_part import Built, tar_path
from segments.store import paths

#: Segments per call of a hidden upload, so that progress shows; a visible one is a single call.
_BATCH: Final = 200


def register(session: Session, table: TableName, actor: Actor, built: Sequence[Built]) -> None:
    """Register what is not registered yet with the same content. StateConflict when the lineage entry is no longer
    IN_PROGRESS.
    """
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


def _register_batch(
    session: Session, table: TableName, actor: Actor, batch: Sequence[Built], entry: str | None
) -> None:
    ctx, push_id, plan = session.ctx, str(session.push.pk), session.push.plan
    on_record = _on_record(ctx, table, batch)
    rows = PushSegment.objects.filter(push=session.push, name__in=[b.name for b in batch])
    rows.update(uri=ctx.deep_store.url)  # from here on a failed push has to search for files in place
    release_names(ctx, table, [b.name for b in batch])
    config = parse_table_config(plan["config"])
    if entry is None and not plan.get("overwrite"):
        check_names(ctx, config, {b.name: (b.crc, b.rows) for b in batch})
    replaced = [r for b in batch if (r := on_record[b.name]) is not None and is_replaced_by(r.old, b.crc)]
    made = keep(ctx, config, replaced, actor)
    for one in batch:
        _bring_in(ctx, table, push_id, one, is_refresh=on_record[one.name] is not None)
    missing = [b for b in batch if (r := on_record[b.name]) is None or not r.servers or r.old.crc != b.crc]
    if missing:
        parts = [
            (b.info, ctx.deep_store.uri(ctx.deep_store.file_path(table.raw, b.name, b.crc)), b.size_bytes)
            for b in missing
        ]
        conditions = Conditions(keeps_content=not plan.get("overwrite") and entry is None)
        options = UploadOptions(conditions, kept={m.segment: m.crc for m in made})
        try:
            upload_metadata(ctx, table, parts, actor=actor, options=options, lineage_entry=entry)
        except PinotAdminError as error:
            if error.permanent:
                take_back(ctx, table, [m for m in made if m.is_new])
            raise
    for one in batch:
        staged, place = staged_and_place(ctx, table, one)
        if staged != place:
            ctx.deep_store.move(staged, place)
        PushSegment.objects.filter(push=session.push, name=one.name).update(uri=ctx.deep_store.uri(place))


def _bring_in(ctx: Context, table: TableName, push_id: str, one: Built, *, is_refresh: bool) -> None:
    """Move the tar from staging to its place; next to its place while an older segment of that name is being served
    from there.
    """
    staged, place = staged_and_place(ctx, table, one)
    if ctx.deep_store.move(tar_path(push_id, one.ordinal), staged if is_refresh else place):
        return
    if not is_there(ctx, table, push_id, one):
        raise Unavailable(f"The staged file of segment '{one.name}' is gone.", remedy="The push builds it again.")


def _on_record(ctx: Context, table: TableName, batch: Sequence[Built]) -> dict[str, Replaced | None]:
    """Record of each segment, with the servers of its row (none: it has no row), and what would take its place."""
    ideal, *nodes = ctx.store.get_many(
        [paths.ideal_state(table.typed), *(paths.segment(table.typed, b.name) for b in batch)]
    )
    rows = ideal.record.maps if ideal and ideal.record else {}
    return {
        b.name: Replaced(n.record, tuple(rows.get(b.name, ())), b.crc, "")
        if n is not None and n.record is not None
        else None
        for b, n in zip(batch, nodes, strict=True)
    }
