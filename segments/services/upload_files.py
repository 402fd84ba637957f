"""The file side of an upload: one writer per segment, staged under a name of its own until the record names its CRC.

Order for a local deep store: staged file, then the record, then the file's final name. Who downloads in between gets the staged file by
the CRC on record (``services.downloads``), so a process that dies at any point leaves the old or the new segment, never a mix.
A remote deep store is read by servers directly: there the final name comes first (storage-zk.md 3.3, 3.4).
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from segments.domain.admission import another_upload
from segments.domain.znrecord import ZNRecord
from segments.errors import Conflict, InvalidInput, NotFound, OutcomeUnknown
from segments.gateways import fetch
from segments.gateways.deepstore import encode
from segments.names import TableName
from segments.services import deletion
from segments.services.context import Context
from segments.store import paths

#: Seconds to wait for another upload of the same segment.
_LOCK_WAIT_S: Final = 10.0
_LOOK_S: Final = 0.02


def download_url(ctx: Context, table: TableName, segment: str) -> str:
    """Where servers fetch a segment of the deep store: through the controller when it is a local folder, else directly."""
    if ctx.deep_store.local_root is None:
        return ctx.deep_store.uri(ctx.deep_store.segment_path(table.raw, segment))
    return f"{ctx.controller_url}/segments/{encode(table.raw)}/{encode(segment)}"


def staged_path(ctx: Context, table: TableName, segment: str, crc: int) -> str:
    """Where the file waits until the record names ``crc``."""
    return f"{ctx.deep_store.segment_path(table.raw, segment)}.tmp.{crc}"


def checked_source(ctx: Context, table: TableName, segment: str, uri: str) -> str:
    """The address to put on record for a metadata push. Raises InvalidInput for one that servers can not or may not read."""
    own = ctx.deep_store.path_of(uri)
    if own is not None:
        return download_url(ctx, table, segment) if own == ctx.deep_store.segment_path(table.raw, segment) else uri
    if uri.partition("://")[0] in ("http", "https"):
        return uri
    raise InvalidInput(
        f"Servers can not fetch segment '{segment}' from '{uri}'.", remedy="Use http, https, or an address inside the deep store."
    )


def bring(ctx: Context, uri: str, target: Path) -> None:
    """Copy what ``uri`` names (http, https, or inside the deep store unless that is a local folder) to a local file."""
    own = ctx.deep_store.path_of(uri)
    if own is None:
        limits = ctx.limits
        fetch.fetch(uri, target, max_bytes=limits.upload_bytes, timeout_s=limits.fetch_s, allow_loopback=limits.fetch_from_loopback)
        return
    size = ctx.deep_store.size(own)
    if size is None:
        raise NotFound(f"The deep store has no file '{own}'.", remedy="Check DOWNLOAD_URI.")
    if size > ctx.limits.upload_bytes:
        raise InvalidInput(f"'{uri}' is larger than {ctx.limits.upload_bytes} bytes.", remedy="Split the segment or raise the limit.")
    ctx.deep_store.fetch(own, target)


@contextmanager
def sole_writer(ctx: Context, table: TableName, *segments: str) -> Iterator[None]:
    """Nobody else writes the files of these segments meanwhile. StateConflict when somebody does for longer than a few seconds."""
    with ExitStack() as held:
        for segment in sorted(set(segments)):
            held.enter_context(_lock(ctx, table, segment))
        release_names(ctx, table, segments)
        yield


@contextmanager
def _lock(ctx: Context, table: TableName, segment: str) -> Iterator[None]:
    path, deadline = paths.upload_lock(table.typed, segment), time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            ctx.store.create(path, ZNRecord(segment), ephemeral=True)
            break
        except (Conflict, OutcomeUnknown):
            if time.monotonic() > deadline:
                raise another_upload(table.typed, segment) from None
            time.sleep(_LOOK_S)
    try:
        yield
    finally:
        ctx.store.delete(path)


def release_names(ctx: Context, table: TableName, segments: tuple[str, ...] | list[str]) -> None:
    """Take names that are uploaded again off the deletion queue."""
    node = ctx.store.get(paths.pending_deletions(table.typed))
    queued = node.record.maps if node and node.record else {}
    for segment in segments:
        if segment in queued:
            deletion.release_name(ctx, table, segment)


class StagedFiles:
    """Files of one upload on their way into the deep store: {segment: (staged path, final path)}."""

    def __init__(self, ctx: Context, table: TableName) -> None:
        self._ctx, self._table = ctx, table
        self._moves: dict[str, tuple[str, str]] = {}

    def add(self, segment: str, crc: int, source: Path) -> int:
        """Copy a local file to its staged name; returns its bytes."""
        staged = staged_path(self._ctx, self._table, segment, crc)
        size = self._ctx.deep_store.put(source, staged)
        self._moves[segment] = (staged, self._ctx.deep_store.segment_path(self._table.raw, segment))
        return size

    @contextmanager
    def landing(self) -> Iterator[None]:
        """Write the records inside. Files get their final names after it (before it, for a remote store) or, if it fails, go."""
        is_local = self._ctx.deep_store.local_root is not None
        if not is_local:
            self._move(self._moves)
        try:
            yield
        except OutcomeUnknown:
            raise  # the records may name these files
        except Exception:
            if is_local:
                self.discard()
            raise
        if is_local:
            self._move(self._moves)

    def discard(self) -> None:
        """Remove what is staged."""
        for staged, _ in self._moves.values():
            self._ctx.deep_store.delete(staged)
        self._moves.clear()

    def _move(self, moves: Mapping[str, tuple[str, str]]) -> None:
        for staged, final in moves.values():
            self._ctx.deep_store.move(staged, final)


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder that is gone afterwards, whatever happens."""
    with tempfile.TemporaryDirectory(prefix="pinotadmin-upload-") as folder:
        yield Path(folder)
