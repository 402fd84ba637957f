"""Makes a backup: ZooKeeper at one moment, then the database at one moment, then the list of the deep store's files.

The order matters: what the database knows of a push or a change may be newer than ZooKeeper's records, never older, and
passes start from what ZooKeeper says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from segments.domain.backup.kept_znodes import is_kept, may_have_children, server_ids
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.segment_metadata import from_record
from segments.gateways.deep_store.deepstore import encode
from segments.names import split_table_name
from segments.services.backup import database_rows, stored_files
from segments.services.backup.backup_file import BackupWriter, written
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.store import paths
from segments.store.whole_tree import WholeTree


@dataclass(frozen=True)
class Made:
    """What is in a new backup."""

    znodes: int
    rows: int
    files: int
    bytes: int


def make_backup(
    ctx: Context, path: Path, actor: Actor, program: str, progress: Callable[[str], None] = lambda _: None
) -> Made:
    """Write a backup of this installation to ``path``; the file is there only when it is whole. ``program``: our
    version. Unavailable while ZooKeeper or the database does not answer, or is never still.
    """
    crcs: dict[str, dict[str, int]] = {}
    progress("Reading ZooKeeper")
    tree = WholeTree(ctx.store, is_kept, may_have_children, lambda p, record: _line(ctx, p, record, crcs)).read()
    with written(path) as writer:
        writer.header(
            id=ctx.new_id(),
            at=ctx.now().isoformat(timespec="seconds"),
            program=program,
            cluster=ctx.cluster,
            servers=server_ids(tree),
            migrations=database_rows.applied_migrations(),
        )
        for line in tree.values():
            writer.add("znode", line)
        _rows_and_files(ctx, writer, crcs, progress)
    counts = writer.counts
    made = Made(counts["znode"], counts["row"], counts["file"], path.stat().st_size)
    audit.record(actor, "backup", cluster=ctx.cluster, target=str(path), **_detail(made, path))
    return made


def _rows_and_files(
    ctx: Context, writer: BackupWriter, crcs: dict[str, dict[str, int]], progress: Callable[[str], None]
) -> None:
    progress(f"{writer.counts['znode']:,} znodes; reading the database")
    with database_rows.one_moment():
        for line in database_rows.dumped():
            writer.add("row", line)
    progress(f"{writer.counts['row']:,} rows; listing the deep store")
    for line in stored_files.listed(ctx.deep_store, crcs):
        writer.add("file", line)


def _line(ctx: Context, path: str, record: ZNRecord | None, crcs: dict[str, dict[str, int]]) -> bytes:
    """The znode as a line; the CRC of a segment's file is noted on the way."""
    if record is not None and path.startswith(paths.SEGMENTS + "/"):
        table, _, name = path[len(paths.SEGMENTS) + 1 :].partition("/")
        files, metadata = crcs.setdefault(encode(split_table_name(table)[0]), {}), from_record(record)
        file = ctx.deep_store.path_of(metadata.download_url or "") if name and ctx.deep_store.exists else None
        if file is not None and metadata.crc is not None:
            files[file] = metadata.crc
    return orjson.dumps({"znode": path, "record": record and as_json(record)})


def as_json(record: ZNRecord) -> dict[str, Any]:
    """As in a znode."""
    body: dict[str, Any] = {
        "id": record.id,
        "simpleFields": record.simple,
        "mapFields": record.maps,
        "listFields": record.lists,
    }
    return body if record.raw_payload is None else {**body, "rawPayload": record.raw_payload}


def _detail(made: Made, path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"znodes": made.znodes, "rows": made.rows, "files": made.files, "bytes": made.bytes, "sha256": digest}
