"""Puts a kept version of a segment in the place of the present one: an upload by the same name, which keeps the present
one in turn.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from segments.domain.formats.plural import counted
from segments.domain.segments.admission import Conditions
from segments.domain.segments.archive import Outcome, refused
from segments.domain.segments.segment_metadata import SegmentMetadata, from_record
from segments.domain.segments.upload import CustomMapModifier
from segments.errors import NotFound, PinotAdminError
from segments.names import TableName, check_segment_name
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import Observed
from segments.services.segments import archive
from segments.services.segments.archive import KeptFile, document_path, kept_path
from segments.services.segments.uploads import UploadOptions, upload_tar
from segments.store import paths


def names_of(segments: Iterable[str], files: Iterable[str]) -> list[str]:
    """The segments that a request names, directly or by a kept file, each once. Raises InvalidInput."""
    return list(dict.fromkeys(check_segment_name(s) for s in (*segments, *map(archive.segment_of, files))))


def foreseen(
    ctx: Context, seen: Observed, hidden: Mapping[str, object], kept: Mapping[str, KeptFile]
) -> dict[str, Outcome]:
    """What would become of those kept versions whose segment exists; the others, and names that the lineage hides, are
    left out.
    """
    there = [s for s in kept if s in seen.ideal.maps and s not in hidden]
    nodes = ctx.store.get_many([paths.segment(seen.lineage.table, s) for s in there])
    return {
        s: _foreseen(kept[s], from_record(n.record) if n and n.record else None)
        for s, n in zip(there, nodes, strict=True)
    }


def _foreseen(one: KeptFile, now: SegmentMetadata | None) -> Outcome:
    name, document = one.segment, one.kept
    if document is None or not one.is_there or document.bytes != one.bytes:
        return refused(
            name, f"The kept file of segment '{name}' is not in the deep store as it was kept.", "Push the data again."
        )
    old = document.metadata
    if now is None or now.crc == old.crc:
        return Outcome(name, "unchanged", f"Segment '{name}' has the content of the kept version.")
    text = (
        f"Segment '{name}' goes back to its kept version: {_rows(old)} (CRC {old.crc}) instead of {_rows(now)} "
        f"(CRC {now.crc});"
        " the present version is kept in turn."
    )
    return Outcome(name, "done", text, "", one.bytes, old.crc, replaces=True)


def _rows(metadata: SegmentMetadata) -> str:
    return "rows" if metadata.total_docs is None else counted(metadata.total_docs, "row")


def bring_back(ctx: Context, table: TableName, one: KeptFile, actor: Actor) -> Outcome:
    """Upload the kept file over the present one, if that is still the one that is on record now; then the kept file
    goes.
    """
    assert one.kept is not None  # only such were foreseen as possible
    store, name, old = archive.kept_context(ctx).deep_store, one.segment, one.kept.metadata
    try:
        node = ctx.store.get(paths.segment(table.typed, name))
        present = from_record(node.record).crc if node and node.record else None
        conditions = Conditions(if_match=None if present is None else str(present))
        options = UploadOptions(conditions, modifier=CustomMapModifier("REPLACE", old.custom))
        with tempfile.TemporaryDirectory(prefix="restore-") as folder:
            tar = Path(folder) / "segment.tar.gz"
            store.fetch(kept_path(table, one.file), tar)
            upload_tar(ctx, table, tar, options=options, actor=actor)
    except NotFound:
        return refused(name, f"The kept file of segment '{name}' is gone.", "Push the data again.")
    except PinotAdminError as error:
        return Outcome(name, "refused" if error.permanent else "failed", error.message, error.remedy)
    store.delete(kept_path(table, one.file))
    store.delete(document_path(table, one.file))
    return Outcome(
        name,
        "done",
        f"Segment '{name}' is back at {_rows(old)}, with CRC {old.crc}.",
        "",
        one.bytes,
        old.crc,
        replaces=True,
    )
