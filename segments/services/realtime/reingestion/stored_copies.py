"""A copy of a broken segment that still lies in the deep store: an upload that no commit took, or the kept file of a
deleted one. With it the segment is back whole, also where the stream has lost its rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from segments.domain.realtime.llc_name import parse_llc_name
from segments.domain.realtime.reingestion.rules import Range, offsets_of
from segments.domain.segments.store_address import recorded
from segments.errors import NotFound, PinotAdminError, StateConflict
from segments.gateways.deep_store.deepstore import DELETED, encode
from segments.names import TableName
from segments.segmentfile import compute_crc, extract_tar, read_info
from segments.segmentfile.format.info import SegmentInfo
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.realtime.reingestion.broken_segments import check_broken, read_broken
from segments.services.realtime.reingestion.jobs import check_free, reopen
from segments.services.segments.upload_files import temporary_path


def find_copy(ctx: Context, table: TableName, segment: str) -> str | None:
    """The path of a file in the deep store that holds exactly the segment's rows; None when there is none.

    Every file that may be one is read whole, so that nothing is promised that a server would refuse. NotFound,
    InvalidInput and StateConflict as for a reingestion.
    """
    found = read_broken(ctx, table, segment)
    check_broken(ctx, table, found)
    wanted = offsets_of(found.metadata)
    return next((path for path in _candidates(ctx, table, segment) if _info_of(ctx, path, segment, wanted)), None)


def restore_copy(ctx: Context, table: TableName, segment: str, *, actor: Actor) -> str:
    """Register such a file as the segment's and have its replicas load it; returns where the file lay.

    NotFound when there is none; otherwise as ``find_copy``. The file stays until it is registered.
    """
    with audit.recorded(ctx, actor, "restoreSegmentCopy", table.typed, segment=segment) as detail:
        found = read_broken(ctx, table, segment)
        check_free(ctx, found)
        path = find_copy(ctx, table, segment)
        info = _info_of(ctx, path, segment, offsets_of(found.metadata)) if path else None
        if path is None or info is None:
            raise NotFound(
                f"No file in the deep store has the rows of segment '{segment}'.",
                remedy="Reingest it; rows that the stream has lost are gone.",
            )
        detail.update(path=path, rows=info.total_docs, crc=info.crc)
        reopen(ctx, table, found)
        given = temporary_path(ctx, table.raw, segment)
        if not ctx.deep_store.copy(path, given):
            raise StateConflict(f"The file '{path}' was removed meanwhile.", remedy="Try again.")
        ctx.engine.commits.register(ctx, table, parse_llc_name(segment), info, recorded(given))
    return path


def _candidates(ctx: Context, table: TableName, segment: str) -> Iterator[str]:
    """Files named for the segment, the newest first: its own and uploads for it, then kept ones of deleted segments."""
    own, raw = encode(segment), encode(table.raw)
    for folder in (raw, f"{DELETED}/{raw}"):
        named = [f for f in ctx.deep_store.files(folder) if _is_of(f.name, own, segment)]
        yield from (f"{folder}/{f.name}" for f in sorted(named, key=lambda f: f.modified_ms, reverse=True))


def _is_of(name: str, own: str, segment: str) -> bool:
    return any(text == word or text.startswith((f"{word}.", f"{word}__")) for text, word in (
        (name, own), (unquote(name), segment)
    ))  # fmt: skip


def _info_of(ctx: Context, path: str, segment: str, wanted: Range) -> SegmentInfo | None:
    """What the file holds, if it is whole and has exactly these rows."""
    try:
        with tempfile.TemporaryDirectory(prefix="stored-copy-") as folder:
            tar = Path(folder) / "segment.tar.gz"
            ctx.deep_store.fetch(path, tar)
            unpacked = extract_tar(tar, Path(folder) / "unpacked")
            info = read_info(unpacked)
            is_whole = compute_crc(unpacked) == info.crc
    except (PinotAdminError, OSError):
        return None
    held = (info.name, info.realtime_start_offset, info.realtime_end_offset)
    return info if is_whole and held == (segment, wanted.start, wanted.end) else None
