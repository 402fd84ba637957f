"""Registers the staged segments of a load on the embedded cluster: tars to their places, then records and rows, fenced
by its lineage entry (rule `fenced-uploads`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from segments.clusters.embedded.segments.replaced import Replaced, keep, take_back
from segments.clusters.embedded.segments.sole_writer import release_names
from segments.domain.segments.admission import Conditions
from segments.domain.segments.archive import is_replaced_by
from segments.errors import PinotAdminError, Unavailable
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.loading.load import Load
from segments.services.loading.staged_files import is_there, staged_and_place
from segments.services.segments.replaced.by_push import check_names
from segments.services.segments.uploads import UploadOptions, upload_metadata
from segments.spark.build_part import Built, tar_path
from segments.store import paths

#: Segments per call of a hidden upload, so that progress shows; a visible one is a single call.
_BATCH: Final = 200


def register(load: Load, table: TableName, actor: Actor, built: Sequence[Built]) -> None:
    """Register what is not registered yet with the same content. StateConflict when the lineage entry is no longer
    IN_PROGRESS.
    """
    size = _BATCH if load.is_fenced else max(len(built), 1)
    done = 0
    for at in range(0, len(built), size):
        batch = built[at : at + size]
        load.check()
        _register_batch(load, table, actor, batch, load.entry_id if load.is_fenced else None)
        done += len(batch)
        load.registered([b.name for b in batch], done)


def _register_batch(load: Load, table: TableName, actor: Actor, batch: Sequence[Built], entry: str | None) -> None:
    ctx, config = load.ctx, load.config
    on_record = _on_record(ctx, table, batch)
    load.in_doubt([b.name for b in batch])
    release_names(ctx, table, [b.name for b in batch])
    if entry is None and not load.overwrites:
        check_names(ctx, config, {b.name: (b.crc, b.rows) for b in batch})
    replaced = [r for b in batch if (r := on_record[b.name]) is not None and is_replaced_by(r.old, b.crc)]
    made = keep(ctx, config, replaced, actor)
    for one in batch:
        _bring_in(load, table, one, is_refresh=on_record[one.name] is not None)
    missing = [b for b in batch if (r := on_record[b.name]) is None or not r.servers or r.old.crc != b.crc]
    if missing:
        parts = [
            (b.info, ctx.deep_store.uri(ctx.deep_store.file_path(table.raw, b.name, b.crc)), b.size_bytes)
            for b in missing
        ]
        conditions = Conditions(keeps_content=not load.overwrites and entry is None)
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
        load.placed(one.name, ctx.deep_store.uri(place))


def _bring_in(load: Load, table: TableName, one: Built, *, is_refresh: bool) -> None:
    """Bring the tar from staging to its place; next to its place while an older segment of that name is being served
    from there.
    """
    ctx = load.ctx
    staged, place = staged_and_place(ctx, table, one)
    bring = ctx.deep_store.copy if load.keeps_staged else ctx.deep_store.move
    if bring(tar_path(load.id, one.ordinal), staged if is_refresh else place):
        return
    if not is_there(ctx, table, load.id, one):
        raise Unavailable(f"The staged file of segment '{one.name}' is gone.", remedy="It is built again.")


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
