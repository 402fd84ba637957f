"""Bringing back segments of a real Pinot that were deleted through us, from the copies that were kept
(``kept_copies``).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from segments.clusters.pinot.segments.kept_copies import fate
from segments.clusters.pinot.segments.uploads import upload_tar
from segments.domain.replacement.undo.return_rule import ReturnRule
from segments.domain.segments.archive import KEEP_COPIES, Outcome, refused
from segments.domain.tables.table_config import TableConfig
from segments.errors import NotFound, PinotAdminError
from segments.services.core.context import Actor, Context
from segments.services.engine.segments import Upload
from segments.services.segments import archive
from segments.services.segments.archive import KeptFile, document_path, kept_path
from segments.services.segments.restore import Found
from segments.services.segments.upload_options import UploadOptions


def find_kept(ctx: Context, config: TableConfig, names: Sequence[str], files: Sequence[str]) -> dict[str, Found]:
    """As ``SegmentEngine.find_kept``: the copies that we made."""
    kept = archive.find(ctx, config.table, names, files)
    return {name: Found(_possible(config, name, kept.get(name)), kept.get(name)) for name in names}


def bring_back(
    ctx: Context, config: TableConfig, found: Sequence[Found], rule: ReturnRule, actor: Actor
) -> dict[str, Outcome]:
    """Upload the kept copies again, one by one; what became of each. Pinot makes the record, with the same CRC."""
    upload = Upload(config.table, UploadOptions(), rule.into or None, actor)
    return {f.outcome.segment: _bring_back(ctx, upload, f.kept) for f in found if f.kept is not None}


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


def _bring_back(ctx: Context, upload: Upload, kept: KeptFile) -> Outcome:
    store, table = archive.kept_context(ctx).deep_store, upload.table
    try:
        with tempfile.TemporaryDirectory(prefix="restore-") as folder:
            tar = Path(folder) / "segment.tar.gz"
            store.fetch(kept_path(table, kept.file), tar)
            upload_tar(ctx, upload, tar)
    except NotFound:
        return refused(kept.segment, f"The kept file of segment '{kept.segment}' is gone.", "Push the data again.")
    except PinotAdminError as error:
        return Outcome(kept.segment, "refused" if error.permanent else "failed", error.message, error.remedy)
    store.delete(kept_path(table, kept.file))
    store.delete(document_path(table, kept.file))
    crc = kept.kept.metadata.crc if kept.kept else None
    return Outcome(kept.segment, "done", f"Segment '{kept.segment}' is back, with CRC {crc}.", "", kept.bytes, crc)
