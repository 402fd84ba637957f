"""The file side of an upload: one writer per segment, staged under a name of its own until the record names its CRC.

Order: staged file, then the record, then the file's final name in a local deep store. Who downloads in between gets
the staged file by the CRC on record (``services.downloads``), so a process that dies at any point leaves the old or the
new segment, never a mix. A remote deep store is read by servers directly: there the name with the CRC is the final one.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from segments.domain.segments.admission import another_upload
from segments.domain.segments.archive import RECORDS
from segments.errors import Forbidden, NotFound, OutcomeUnknown, PayloadTooLarge
from segments.gateways.deep_store.deepstore import DELETED, STAGING, encode
from segments.gateways.outgoing import fetch
from segments.gateways.outgoing.fetch import FetchRules
from segments.names import TABLE_TYPES, TableName
from segments.segmentfile.format.info import SegmentInfo, read_info
from segments.segmentfile.packed.tar import extract_tar
from segments.services.core.context import Context
from segments.services.jobs.job_lock import locked
from segments.services.segments import deletion_queue
from segments.store import paths

log = logging.getLogger(__name__)

#: Seconds to wait for another upload of the same segment.
_LOCK_WAIT_S: Final = 10.0


def download_url(ctx: Context, table: TableName, segment: str, crc: int) -> str:
    """Where servers fetch a version of a segment of the deep store: through the controller when it is a local folder,
    else directly.
    """
    if ctx.deep_store.local_root is None:
        return ctx.deep_store.uri(ctx.deep_store.file_path(table.raw, segment, crc))
    return f"{ctx.controller_url}/segments/{encode(table.raw)}/{encode(segment)}"


def staged_path(ctx: Context, table: TableName, segment: str, crc: int) -> str:
    """Where the file waits until the record names ``crc``."""
    return ctx.deep_store.staged_path(table.raw, segment, crc)


def checked_source(ctx: Context, table: TableName, segment: str, crc: int, uri: str) -> str:
    """The address to put on record for a metadata push. Raises InvalidInput or Forbidden for one that servers can not
    or may not read.
    """
    check_place(ctx, table, uri)
    own = own_path(ctx, table, uri)
    if own is not None:
        is_place = own == ctx.deep_store.file_path(table.raw, segment, crc)
        return download_url(ctx, table, segment, crc) if is_place else uri
    fetch.check_address(uri, fetch_rules(ctx))
    return uri


def check_place(ctx: Context, table: TableName, uri: str) -> None:
    """Forbidden for a place in the deep store that is another table's, or the cluster's own: its file is not the
    asker's to take.
    """
    own = ctx.deep_store.path_of(uri)
    if own is None:
        return
    folder = unquote(own.lstrip("/").partition("/")[0])
    foreign = folder in (DELETED, RECORDS, STAGING) or (
        folder != table.raw
        and any(ctx.store.exists(paths.table_config(f"{folder}_{kind}")) is not None for kind in TABLE_TYPES)
    )
    if foreign:
        raise Forbidden(
            f"'{uri}' is not a file of table '{table.raw}'.",
            remedy="Name a file in the table's own folder, or one below an allowed root.",
        )


def fetch_rules(ctx: Context) -> FetchRules:
    """What a client may have this cluster read.

    This machine's own addresses are among it only where whoever reads them runs here, too.
    """
    limits, is_here = ctx.limits, ctx.engine.segments.reads_own_loopback(ctx)
    return FetchRules(limits.fetch_roots, limits.fetch_from_loopback and is_here, limits.upload_bytes, limits.fetch_s)


def own_path(ctx: Context, table: TableName, uri: str) -> str | None:
    """The path of an address in the table's own folder of the deep store; None for any other, other
    tables' files too.
    """
    path = ctx.deep_store.path_of(uri)
    return path if path is not None and path.startswith(f"{encode(table.raw)}/") else None


def bring(ctx: Context, table: TableName, uri: str, target: Path) -> None:
    """Copy what ``uri`` names (an allowed address, or a file of the table in the deep store) to a local file."""
    own = own_path(ctx, table, uri)
    if own is None:
        fetch.fetch(uri, target, fetch_rules(ctx))
        return
    size = ctx.deep_store.size(own)
    if size is None:
        raise NotFound(f"The deep store has no file '{own}'.", remedy="Check DOWNLOAD_URI.")
    if size > ctx.limits.upload_bytes:
        raise PayloadTooLarge(
            f"'{uri}' is larger than {ctx.limits.upload_bytes} bytes.",
            remedy="Split it, or raise PINOTADMIN_MAX_UPLOAD_BYTES.",
        )
    ctx.deep_store.fetch(own, target)


@contextmanager
def sole_writer(ctx: Context, table: TableName, *segments: str) -> Iterator[None]:
    """Nobody else writes the files of these segments meanwhile. StateConflict when somebody does for longer than a few
    seconds.
    """
    with ExitStack() as held:
        for segment in sorted(set(segments)):
            lock = locked(
                ctx, paths.upload_lock(table.typed, segment), wait_s=_LOCK_WAIT_S, void_after_s=ctx.limits.upload_lock_s
            )
            if not held.enter_context(lock):
                raise another_upload(table.typed, segment)
        release_names(ctx, table, segments)
        yield


def release_names(ctx: Context, table: TableName, segments: tuple[str, ...] | list[str]) -> None:
    """Take names that are uploaded again off the deletion queue."""
    node = ctx.store.get(paths.pending_deletions(table.typed))
    queued = node.record.maps if node and node.record else {}
    for segment in segments:
        if segment in queued:
            deletion_queue.release_name(ctx, table, segment)


class StagedFiles:
    """Files of one upload on their way into the deep store: {segment: (staged path, final path)}."""

    def __init__(self, ctx: Context, table: TableName) -> None:
        self._ctx, self._table = ctx, table
        self._moves: dict[str, tuple[str, str]] = {}
        self._on_record: set[str] = set()

    def add(self, segment: str, crc: int, source: Path, crc_on_record: int | None) -> int:
        """Copy a local file to its staged name; returns its bytes. What the record names already is never discarded."""
        if crc == crc_on_record:
            self._on_record.add(segment)
        staged = staged_path(self._ctx, self._table, segment, crc)
        size = self._ctx.deep_store.put(source, staged)
        self._moves[segment] = (staged, self._ctx.deep_store.file_path(self._table.raw, segment, crc))
        return size

    @contextmanager
    def landing(self) -> Iterator[None]:
        """Write the records inside. Files get their final names after it or, if it fails, go."""
        try:
            yield
        except OutcomeUnknown:
            raise  # the records may name these files
        except Exception:
            self.discard()
            raise
        for staged, final in self._moves.values():
            if staged != final:
                self._ctx.deep_store.move(staged, final)

    def discard(self) -> None:
        """Remove what is staged and no record names."""
        for segment, (staged, _) in self._moves.items():
            if segment not in self._on_record:
                self._ctx.deep_store.delete(staged)
        self._moves.clear()


def verified_info(ctx: Context, tar: Path) -> SegmentInfo:
    """What a tar says of itself; it is unpacked whole once, so that a damaged one is refused before anything is
    written. SegmentCorrupt.
    """
    with scratch() as folder:
        return read_info(extract_tar(tar, folder, max_bytes=ctx.limits.unpacked_bytes))


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder that is gone afterwards, whatever happens."""
    with tempfile.TemporaryDirectory(prefix="pinotadmin-upload-") as folder:
        yield Path(folder)
