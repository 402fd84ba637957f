"""Files of deleted segments: kept so that they can come back, listed, removed when their time is over.

Order of a deletion: document (record, servers, who), file's time, file. So a kept file always has its document, and a
cut deletion is done again without loss. A restore goes the other way and removes the document last
(``segments.services.segments.restore``).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeVar
from urllib.parse import unquote

from segments.domain.formats.plural import counted
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments import archive as documents
from segments.domain.segments import segment_metadata
from segments.domain.segments.archive import RECORDS, ArchivedSegment
from segments.domain.segments.pending_deletion import Pending
from segments.domain.segments.segment_metadata import COMPLETED_STATUSES
from segments.domain.upkeep import retention as rules
from segments.errors import PinotAdminError, RecordCorrupt
from segments.gateways.deep_store.deepstore import DELETED, StoredFile, encode
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.segments.addresses import own_file, stored_paths
from segments.traces import carried

log = logging.getLogger(__name__)

A = TypeVar("A")
B = TypeVar("B")

#: A file that is still being written, as the deep store names it; a segment's own name may hold ``.tmp.``.
_HALF_WRITTEN: Final = re.compile(r"\.tmp\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
#: Files are moved this many at a time: a remote store answers slowly, and each on its own.
_THREADS: Final = 8


def in_parallel(run: Callable[[A], B], items: Iterable[A]) -> list[B]:
    """``run`` over all items, a few at a time; same order. What one raises is raised after all have run."""
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="segment-files") as pool:
        return [future.result() for future in [pool.submit(carried(run), item) for item in items]]


def kept_context(ctx: Context) -> Context:
    """The context whose deep store is the one that holds what is kept."""
    return replace(ctx, deep_store=ctx.engine.segments.kept_store(ctx))


def kept_path(table: TableName, file: str) -> str:
    """Where the tar of a deleted segment is kept."""
    return f"{DELETED}/{encode(table.raw)}/{file}"


def document_path(table: TableName, file: str) -> str:
    """Where the rest of it is kept."""
    return f"{RECORDS}/{encode(table.raw)}/{file}"


def archive_segment(ctx: Context, table: TableName, item: Pending, record: ZNRecord | None, term: str | None) -> str:
    """Keep file and record of one deleted segment, or remove them when nothing is to be kept; says what was done.

    May run again after it was cut anywhere. ``term`` is the table's ``deletedSegmentsRetentionPeriod``; what the call
    requested takes precedence.
    """
    store = ctx.deep_store
    if not store.exists:
        return "nothing is kept: this installation has no deep store"
    store.delete(store.segment_path(table.raw, item.segment) + ".metadata.tar.gz")
    sources = _sources(ctx, table, item.segment, record)
    source = next((s for s in sources if store.size(s) is not None), None)
    target = _target(ctx, table, item, record, item.retention if item.retention is not None else term)
    if target is None:
        return "the file is removed" if [s for s in sources if store.delete(s)] else "there was no file"
    file = target.rsplit("/", 1)[1]
    keeps = _document(ctx, table, item, file, record, store.size(source) if source else None)
    if keeps is not None:
        store.write(document_path(table, file), documents.to_json(keeps))
        store.touch(document_path(table, file), ctx.clock())
    if source is None and store.size(target) is not None:
        return "the file is kept for a restore"
    if source is None:
        return "the record is kept, its file is elsewhere" if keeps else "there was no file"
    store.touch(source, ctx.clock())
    store.move(source, target)
    for stale in sources:
        store.delete(stale)
    return "the file is kept for a restore" if keeps else "the file is kept"


def _target(ctx: Context, table: TableName, item: Pending, record: ZNRecord | None, term: str | None) -> str | None:
    """Where the file goes, None: nowhere. As in Pinot by the segment's name, unless another version of it is kept
    there.
    """
    name, days, at = encode(item.segment), ctx.limits.deleted_segments_days, item.requested_ms
    plain = rules.deleted_file_path(encode(table.raw), name, term, days, at)
    if plain is None or not _is_of_another(ctx, table, plain, record):
        return plain
    crc = segment_metadata.from_record(record).crc if record else None
    return rules.deleted_file_path(
        encode(table.raw), documents.version_name(name, at if crc is None else crc), term, days, at
    )


def _is_of_another(ctx: Context, table: TableName, target: str, record: ZNRecord | None) -> bool:
    """Is another version of the segment kept under this name? It stays until its own time is over."""
    if ctx.deep_store.size(target) is None:
        return False
    there = read_document(ctx, table, target.rsplit("/", 1)[1])
    crc = segment_metadata.from_record(record).crc if record else None
    return there is None or crc is None or there.metadata.crc != crc


def _sources(ctx: Context, table: TableName, segment: str, record: ZNRecord | None) -> list[str]:
    return stored_paths(ctx, table, segment, segment_metadata.from_record(record) if record else None)


def _document(
    ctx: Context, table: TableName, item: Pending, file: str, record: ZNRecord | None, size: int | None
) -> ArchivedSegment | None:
    """What to keep with the file. None when there is nothing that could come back, or the document was written before
    the cut.
    """
    meta = segment_metadata.from_record(record) if record else None
    if meta is None or record is None or meta.status not in COMPLETED_STATUSES or meta.crc is None:
        return None
    if size is None and (own_file(ctx, table, meta) or not meta.download_url):
        return None
    return ArchivedSegment(
        table=table.typed,
        segment=item.segment,
        file=file,
        record=record,
        bytes=size,
        servers=item.servers,
        requested_ms=item.requested_ms,
        deleted_ms=ctx.clock(),
        deleted_by=item.by,
        reason=item.reason,
    )


@dataclass(frozen=True)
class KeptFile:
    """One entry of the archive as listed. ``kept`` is None where no document says what it was; ``expires_ms`` in epoch
    milliseconds.
    """

    segment: str
    file: str
    bytes: int | None
    deleted_ms: int
    expires_ms: int
    kept: ArchivedSegment | None
    is_there: bool

    @property
    def why(self) -> str:
        """``replaced`` by a segment of the same name, or ``deleted``."""
        return "deleted" if self.kept is None or self.kept.replaced_by is None else "replaced"


def find(ctx: Context, table: TableName, segments: Iterable[str], files: Collection[str] = ()) -> dict[str, KeptFile]:
    """The newest kept version of each of these segments, or the one that ``files`` names; those without any are left
    out.
    """
    ctx, wanted, chosen = kept_context(ctx), set(segments), {segment_of(f) for f in files}
    listed: dict[str, tuple[StoredFile, bool]] = {}
    for file, is_tar in _listing(ctx, table):
        name = segment_of(file.name)
        if name in wanted and name not in listed and (name not in chosen or file.name in files):
            listed[name] = (file, is_tar)
    found = in_parallel(lambda one: _kept(ctx, table, *one), listed.values())
    return {k.segment: k for k in found if k is not None}


def find_versions(ctx: Context, table: TableName, crcs: Mapping[str, int]) -> dict[str, KeptFile]:
    """The kept version of each of these segments that has this CRC; those without one are left out."""
    ctx = kept_context(ctx)
    listed = [one for one in _listing(ctx, table) if segment_of(one[0].name) in crcs]
    found = in_parallel(lambda one: _kept(ctx, table, *one), listed)
    return {k.segment: k for k in found if k is not None and k.kept and k.kept.metadata.crc == crcs[k.segment]}


def kept_names(ctx: Context, table: TableName) -> set[str]:
    """Segments of which a file or a document is kept (both types of a hybrid table together)."""
    return {segment_of(file.name) for file, _ in _listing(kept_context(ctx), table)}


def list_kept(
    ctx: Context, table: TableName, *, offset: int = 0, limit: int = 100, prefix: str = ""
) -> tuple[list[KeptFile], int]:
    """A page of the archive, latest deletion first, and how many entries there are in all (both types of a hybrid table
    together).
    """
    ctx = kept_context(ctx)
    files = [f for f in _listing(ctx, table) if segment_of(f[0].name).startswith(prefix)]
    page = in_parallel(lambda one: _kept(ctx, table, *one), islice(files, offset, offset + limit))
    return [k for k in page if k is not None], len(files)


def _listing(ctx: Context, table: TableName) -> list[tuple[StoredFile, bool]]:
    """(file, is it a tar?), latest first: every kept tar, and documents of segments whose tar is elsewhere."""
    folder = encode(table.raw)
    tars = {f.name: f for f in _whole(ctx.deep_store.files(f"{DELETED}/{folder}"))}
    alone = [f for f in _whole(ctx.deep_store.files(f"{RECORDS}/{folder}")) if f.name not in tars]
    both = [*((f, True) for f in tars.values()), *((f, False) for f in alone)]
    return sorted(both, key=lambda one: (-one[0].modified_ms, one[0].name))


def _whole(files: Iterator[StoredFile]) -> Iterator[StoredFile]:
    return (f for f in files if not _HALF_WRITTEN.search(f.name))


def _kept(ctx: Context, table: TableName, file: StoredFile, is_tar: bool) -> KeptFile | None:
    """None for the other type of a hybrid table, and for what a cut restore or deletion left: a document of ours
    without its tar.
    """
    kept = read_document(ctx, table, file.name)
    if kept is not None and kept.table != table.typed:
        return None
    if not is_tar and (kept is None or kept.bytes is not None):
        return None
    expires = rules.expires_ms(file.name, file.modified_ms, ctx.limits.deleted_segments_days)
    size = file.size if is_tar else None
    return KeptFile(
        segment_of(file.name), file.name, size, kept.deleted_ms if kept else file.modified_ms, expires, kept, is_tar
    )


def read_document(ctx: Context, table: TableName, file: str) -> ArchivedSegment | None:
    """The document kept under this file name, None when there is none that can be read."""
    data = ctx.deep_store.read(document_path(table, file))
    try:
        return documents.from_json(data) if data else None
    except RecordCorrupt:
        log.exception("The document of %s of %s is damaged.", file, table)
        return None


def segment_of(file: str) -> str:
    """The segment whose deleted file has this name."""
    return unquote(re.sub(r"__RETENTION_UNTIL__\d{12}$", "", file).partition(documents.VERSION)[0])


def remove_aged(ctx: Context, folder: str) -> list[str]:
    """Remove files of deleted segments whose time is over, and their documents, from one table's folder (its encoded
    raw name).
    """
    ctx = kept_context(ctx)
    now, days = ctx.clock(), ctx.limits.deleted_segments_days

    def aged(root: str) -> list[str]:
        listed = ctx.deep_store.files(f"{root}/{folder}")
        return [f.name for f in listed if rules.is_aged(f.name, f.modified_ms, days, now)][: rules.AGED_BATCH]

    tars, papers = aged(DELETED), aged(RECORDS)
    in_parallel(lambda name: ctx.deep_store.delete(f"{DELETED}/{folder}/{name}"), tars)
    in_parallel(lambda name: ctx.deep_store.delete(f"{RECORDS}/{folder}/{name}"), {*tars, *papers})
    return (
        [f"Removed {counted(len(tars), 'file')} of deleted segments of {folder} whose time was over."] if tars else []
    )


def keep_all(
    ctx: Context, table: TableName, items: Iterable[tuple[Pending, ZNRecord | None]], term: str | None, deadline: float
) -> dict[str, str]:
    """``archive_segment`` for many; {segment: what was done}. One that fails is logged and left out; so is what is late
    for ``deadline``.
    """

    def one(pair: tuple[Pending, ZNRecord | None]) -> tuple[str, str | None]:
        if ctx.timer.seconds() > deadline:
            return pair[0].segment, None
        try:
            return pair[0].segment, archive_segment(ctx, table, *pair, term)
        except (PinotAdminError, OSError):
            log.exception("Deleting segment %s of %s failed; it stays in the queue.", pair[0].segment, table)
            return pair[0].segment, None

    return {segment: fate for segment, fate in in_parallel(one, items) if fate is not None}
