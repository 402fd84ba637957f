"""Where the files of segments come from: which addresses may be read, and what stands in the record then."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from segments.domain.segments import store_address
from segments.domain.segments.archive import RECORDS
from segments.errors import Forbidden, NotFound, PayloadTooLarge
from segments.gateways.deep_store.deepstore import DELETED, HISTORY, INGESTION, STAGING, encode
from segments.gateways.outgoing import fetch
from segments.gateways.outgoing.fetch import FetchRules
from segments.names import TABLE_TYPES, TableName
from segments.segmentfile.format.info import SegmentInfo, read_info
from segments.segmentfile.packed.tar import extract_tar
from segments.services.core.context import Context
from segments.store import paths

log = logging.getLogger(__name__)


def staged_path(ctx: Context, table: TableName, segment: str, crc: int) -> str:
    """Where the file waits until the record names ``crc``."""
    return ctx.deep_store.staged_path(table.raw, segment, crc)


def temporary_path(ctx: Context, raw_table: str, segment: str) -> str:
    """A fresh place for an upload that is not committed yet (``{segment}.tmp.{uuid}``)."""
    return f"{ctx.deep_store.segment_path(raw_table, segment)}.tmp.{ctx.new_id()}"


def checked_source(ctx: Context, table: TableName, uri: str) -> str:
    """The address to put on record for a metadata push. Raises InvalidInput or Forbidden for one that servers cannot
    or may not read.
    """
    check_place(ctx, table, uri)
    if own_path(ctx, table, uri) is None:
        fetch.check_address(uri, fetch_rules(ctx))
    return to_record(ctx, table, uri)


def to_record(ctx: Context, table: TableName, uri: str) -> str:
    """What stands in the record for an address that was pushed: a path in our deep store where it is one."""
    own = own_path(ctx, table, uri)
    return store_address.recorded(own) if own is not None else store_address.to_record(uri)


def check_place(ctx: Context, table: TableName, uri: str) -> None:
    """Forbidden for a place in the deep store that is another table's, or the cluster's own: its file is not the
    asker's to take.
    """
    own = ctx.deep_store.path_of(uri)
    if own is None:
        return
    folder = unquote(own.lstrip("/").partition("/")[0])
    foreign = folder in (DELETED, HISTORY, INGESTION, RECORDS, STAGING) or (
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
