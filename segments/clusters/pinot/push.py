"""The Spark push onto a real Pinot: built and staged here, sent by tar, or by metadata where its deep store is ours to
fill.

What differs from our own cluster: Pinot names the lineage entry when it makes it, staged files stay until the push is
over, and forceCleanup is only given when a start needs it, since with it Pinot deletes the snapshot before the present
one at once (rule `previous-snapshots-kept`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from segments.clusters.pinot.replacement.start import adopt, resolve_start
from segments.clusters.pinot.replacement.start_records import find_intent
from segments.clusters.pinot.segments import kept_copies as pinot_kept
from segments.clusters.pinot.segments.uploads import Described, crc_of, upload_described, upload_tar
from segments.domain.replacement.lineage import State
from segments.domain.segments import admission
from segments.domain.segments.admission import Conditions
from segments.domain.tables.table_config import TableConfig
from segments.errors import Unavailable
from segments.models import Cluster
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.engine.segments import Upload
from segments.services.loading.load import Load
from segments.services.replacement.lineage_record import read_lineage
from segments.services.segments.replaced.by_push import check_names
from segments.services.segments.upload_options import UploadOptions
from segments.spark.build_part import Built, tar_path

#: Segments that are sent at once, and after which progress is written down.
_TOGETHER: Final = 4
_BATCH: Final = 20


def needs_cleanup(ctx: Context, config: TableConfig, segments_from: Sequence[str], segments_to: Sequence[str]) -> bool:
    """Does a start have to clear a push that was left unfinished, or room under the table's quota?"""
    if admission.quota_bytes(config) is not None:
        return True
    lineage = read_lineage(ctx, config.table)
    if lineage is None:
        return False
    old, new = set(segments_from), set(segments_to)
    left = (e for e in lineage.entries.values() if e.state is State.IN_PROGRESS)
    return any(not old.isdisjoint(e.segments_from) or not new.isdisjoint(e.segments_to) for e in left)


def find_entry(load: Load, table: TableName) -> None:
    """Learn Pinot's id of the load's entry if its start arrived and the answer was lost; nothing when it is known or
    never arrived.
    """
    intent = find_intent(load.ctx, table, load.entry_id)
    if intent is None:
        return
    entry_id = resolve_start(load.ctx, table, intent)
    if entry_id is not None:
        adopt(load.ctx, table, intent, entry_id)
        load.save_entry(entry_id)


def register(load: Load, table: TableName, actor: Actor, built: Sequence[Built]) -> None:
    """Send what Pinot does not have with the same content. StateConflict when the lineage entry is no longer
    IN_PROGRESS.
    """
    entry = load.entry_id if load.is_fenced else None
    is_shared = Cluster.objects.filter(name=load.ctx.cluster).exclude(deep_store_url="").exists()
    done = 0
    for at in range(0, len(built), _BATCH):
        batch = built[at : at + _BATCH]
        load.check()
        names = [b.name for b in batch]
        if is_shared:
            load.in_doubt(names)
        with ThreadPoolExecutor(_TOGETHER, thread_name_prefix="pinot-push") as pool:
            for future in [pool.submit(_send, load, table, one, entry, actor, is_shared=is_shared) for one in batch]:
                future.result()
        done += len(batch)
        load.registered(names, done)
    how = "metadata" if is_shared else "tar"
    audit.record(
        actor, "uploadSegments", cluster=load.ctx.cluster, target=table.typed, count=len(built), how=how,
        segments=[b.name for b in built[:100]], push=load.id,
    )  # fmt: skip


def _send(load: Load, table: TableName, one: Built, entry: str | None, actor: Actor, *, is_shared: bool) -> None:
    ctx, staged = load.ctx, tar_path(load.id, one.ordinal)
    before = crc_of(ctx, table, one.name)
    if before == one.crc:
        return
    options = _conditions(load, one, before) if entry is None else UploadOptions()
    upload = Upload(table, options, entry, actor)
    place = ctx.deep_store.segment_path(table.raw, one.name)
    if before is not None:  # before the new file takes the place of the old one
        pinot_kept.keep_replaced(ctx, load.config, one.name, one.crc, actor)
    bring = ctx.deep_store.copy if load.keeps_staged else ctx.deep_store.move
    if is_shared and (bring(staged, place) or ctx.deep_store.size(place) == one.size_bytes):
        part = Described(one.info, one.metadata.encode(), bytes.fromhex(one.creation), ctx.deep_store.uri(place))
        upload_described(ctx, upload, part)
        return
    if ctx.deep_store.size(staged) is None:
        raise Unavailable(f"The staged file of segment '{one.name}' is gone.", remedy="It is built again.")
    with tempfile.TemporaryDirectory(prefix="push-") as folder:
        tar = Path(folder) / "segment.tar.gz"
        ctx.deep_store.fetch(staged, tar)
        upload_tar(ctx, upload, tar)


def _conditions(load: Load, one: Built, before: int | None) -> UploadOptions:
    """Pinot, too, decides on what is there when the segment comes in. StateConflict: it would replace one, which was
    not requested.
    """
    if before is not None and not load.overwrites:
        check_names(load.ctx, load.config, {one.name: (one.crc, one.rows)})
    return UploadOptions(Conditions(allow_refresh=load.overwrites, if_match=None if before is None else str(before)))
