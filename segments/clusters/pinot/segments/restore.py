"""Bringing back segments of a real Pinot that were deleted through us, from the copies that were kept
(``pinot_kept``).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from segments.clusters.pinot.segments import uploads as pinot_uploads
from segments.clusters.pinot.segments.kept_copies import KEEP_COPIES, fate
from segments.domain.replacement.undo.return_rule import ReturnRule
from segments.domain.segments import archive as documents
from segments.domain.segments.archive import Outcome, refused
from segments.domain.tables.table_config import TableConfig
from segments.errors import NotFound, PinotAdminError
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.undo.beside import counted
from segments.services.replacement.undo.past_entries import read_past
from segments.services.segments import archive
from segments.services.segments.archive import KeptFile, document_path, kept_path
from segments.services.segments.replaced import in_place


def restore_segments(
    ctx: Context, table: TableName, segments: Sequence[str], *, dry_run: bool, include_hidden: bool, actor: Actor,
    overwrite: bool = False, files: Sequence[str] = (), force: bool = False,
) -> list[Outcome]:  # fmt: skip
    """Upload the kept copies again, one by one; what became of each. Pinot makes the record, with the same CRC."""
    names = in_place.names_of(segments, files)
    seen = observe(ctx, table)
    kept = archive.find(ctx, table, names, files)
    deleted = {} if force else {s: k.deleted_ms for s, k in kept.items()}
    rule = ReturnRule(include_hidden, deleted=deleted, is_refresh=seen.config.is_refresh)
    hidden = rule.obstacles(seen.lineage, read_past(ctx, table), seen.ideal.maps)
    over = in_place.foreseen(ctx, seen, hidden, kept) if overwrite else {}
    outcomes = []
    for name in names:
        if name in over:
            is_wanted = over[name].outcome == "done" and not dry_run
            outcomes.append(in_place.bring_back(ctx, table, kept[name], actor) if is_wanted else over[name])
            continue
        refusal = documents.name_refusal(name, table.typed, seen.ideal.maps, hidden)
        refusal = refusal and counted(ctx, seen, {name: refusal}, hidden).get(name, refusal)
        found = refusal or _possible(seen.config, name, kept.get(name))
        outcomes.append(found if dry_run or found.outcome != "done" else _bring_back(ctx, table, kept[name], actor))
    if not dry_run:
        done = [o.segment for o in outcomes if o.outcome == "done"]
        audit.record(
            actor, "restoreSegments", cluster=ctx.cluster, target=table.typed, segments=done[:100], count=len(done),
            notDone=[o.segment for o in outcomes if o.outcome != "done"][:100],
        )  # fmt: skip
    return outcomes


def _possible(config: TableConfig, segment: str, kept: KeptFile | None) -> Outcome:
    if kept is None or not kept.is_there:
        text = f"No copy of segment '{segment}' was kept when it was deleted. {fate(config, None)}"
        return refused(
            segment,
            text,
            f"Set {KEEP_COPIES} to true in the table's customConfigs for the next time, or push the data again.",
        )
    crc = kept.kept.metadata.crc if kept.kept else None
    return Outcome(segment, "done", f"Segment '{segment}' is back.", "", kept.bytes, crc)


def _bring_back(ctx: Context, table: TableName, kept: KeptFile, actor: Actor) -> Outcome:
    store = archive.kept_context(ctx).deep_store
    try:
        with tempfile.TemporaryDirectory(prefix="restore-") as folder:
            tar = Path(folder) / "segment.tar.gz"
            store.fetch(kept_path(table, kept.file), tar)
            pinot_uploads.upload_tar(ctx, table, tar, actor=actor)
    except NotFound:
        return refused(kept.segment, f"The kept file of segment '{kept.segment}' is gone.", "Push the data again.")
    except PinotAdminError as error:
        return Outcome(kept.segment, "refused" if error.permanent else "failed", error.message, error.remedy)
    store.delete(kept_path(table, kept.file))
    store.delete(document_path(table, kept.file))
    crc = kept.kept.metadata.crc if kept.kept else None
    return Outcome(kept.segment, "done", f"Segment '{kept.segment}' is back, with CRC {crc}.", "", kept.bytes, crc)
