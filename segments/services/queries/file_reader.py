"""Answers queries from segment files, which are fetched and read here: of segments that no server holds any more, or
that a real Pinot's brokers and servers hide.

Files go to a folder of their own, once per reader; a count of all rows needs none. What is read is checked against the
CRC on record, so that an answer is of the segments that were asked for and no others.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import pyarrow as pa

from segments.dataplane import query as engine
from segments.dataplane import stopping
from segments.dataplane.query import QueryRejected
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables.keyed_tables import key_rules
from segments.domain.tables.schema import Schema
from segments.errors import PinotAdminError, SegmentCorrupt
from segments.names import TableName
from segments.segmentfile.packed.tar import extract_tar
from segments.services.core.context import Context
from segments.services.segments.downloads import save_tar
from segments.services.segments.segments import read_records
from segments.services.tables.schemas import read_schema
from segments.services.tables.table_record import read_table_config

if TYPE_CHECKING:
    from segments.dataplane.server.held.column_cache import ColumnCache
    from segments.dataplane.server.held.held_segment import HeldSegment

_CACHE_BYTES: Final = 256 << 20
#: What the files of one reader may unpack to.
_MOST_UNPACKED: Final = 8 << 30
#: Rows that are in memory at once.
_ROWS_AT_ONCE: Final = 2_000_000
_FAILED: Final = 200


@dataclass(frozen=True)
class SegmentSource:
    """A segment's record, the size of its tar in bytes as far as it is known, and how that is opened: (bytes, stream),
    which the reader closes.
    """

    record: SegmentMetadata
    bytes: int | None
    open: Callable[[], tuple[int, BinaryIO]]


#: {segment: its file} of those of the named segments that there are.
Find = Callable[[Sequence[str]], Mapping[str, SegmentSource]]


class FileReader:
    """A ``SnapshotReader`` of one table over the files that ``find`` finds. A context manager: what it fetched goes
    with the block.
    """

    def __init__(self, ctx: Context, table: TableName, find: Find) -> None:
        self._ctx, self._table, self._find = ctx, table, find
        self._folder = tempfile.TemporaryDirectory(prefix="snapshot-")
        self._held: dict[str, HeldSegment] = {}
        self._columns: ColumnCache | None = None
        self._unpacked = 0

    def __enter__(self) -> FileReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.clear()
        self._folder.cleanup()

    def query(
        self, sql: str, options: Mapping[str, str] | None = None, *, segments: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Pinot's broker response over these segments; what goes wrong is in its ``exceptions``."""
        try:
            return self._answer(sql, {**(options or {}), "now": str(self._ctx.clock())}, list(segments or ()))
        except QueryRejected as error:
            return _failure(error.error_code, str(error))
        except PinotAdminError as error:
            return _failure(_FAILED, str(error))

    def _answer(self, sql: str, options: Mapping[str, str], segments: Sequence[str]) -> dict[str, Any]:
        started = self._ctx.timer.seconds()
        schema: Schema = read_schema(self._ctx, self._table.raw)
        plan = engine.plan_query(sql, schema, options=options)
        files = self._find(segments)
        missing = [s for s in segments if s not in files]
        if missing:
            raise SegmentCorrupt(
                f"Segment '{missing[0]}' of table '{self._table}' has no record.", remedy="Upload it again."
            )
        wanted = [files[s] for s in segments]
        masks = {} if engine.shows_all_rows(plan.options) else self._masks(wanted, schema)
        needed = wanted if masks else _needed(plan, wanted)
        parts = [
            engine.execute_partial(plan, [self._rows(file, plan.columns, masks) for file in some])
            for some in _pieces(needed)
        ]
        return engine.broker_response(
            engine.merge(plan, parts),
            segments_queried=len(segments),
            segments_processed=sum(p.segments for p in parts),
            docs_scanned=sum(p.docs_scanned for p in parts),
            total_docs=sum(p.total_docs for p in parts) + _docs(wanted[len(needed) :]),
            time_used_ms=round((self._ctx.timer.seconds() - started) * 1000),
        )

    def _masks(self, files: Sequence[SegmentSource], schema: Schema) -> Mapping[str, engine.RowMask | None]:
        """Which rows count where a primary key has one row: decided among these segments alone. Those that came from
        no stream count row by row.
        """
        from segments.dataplane.primary_keys.table_keys import TableKeys  # only who reads such files needs it

        rules = key_rules(read_table_config(self._ctx, self._table), schema)
        if rules is None or not rules.masks_rows:
            return {}
        return TableKeys(rules, schema).masks_alone([self._hold(file) for file in files])

    def _rows(
        self, file: SegmentSource, columns: Sequence[str], masks: Mapping[str, engine.RowMask | None]
    ) -> engine.SegmentRows:
        record, mask = file.record, masks.get(file.record.name)
        if not columns and record.total_docs is not None:
            return engine.SegmentRows(record.name, "", pa.table({}), record.total_docs, valid=mask)
        held = self._hold(file)
        return engine.SegmentRows(record.name, "", held.table_of(columns), held.num_docs, valid=mask)

    def _hold(self, file: SegmentSource) -> HeldSegment:
        """The segment's file, fetched and unpacked when first needed. QueryRejected once the query is stopped."""
        from segments.dataplane.server.held.column_cache import (
            ColumnCache,
        )  # only who reads such files needs a server's parts
        from segments.dataplane.server.held.held_segment import HeldSegment

        record = file.record
        if record.name not in self._held:
            stopping.current().check()
            self._columns = self._columns or ColumnCache(_CACHE_BYTES)
            held = HeldSegment(record.name, self._unpack(file), record.crc or 0, self._columns)
            if record.crc is not None and held.info.crc != record.crc:
                raise SegmentCorrupt(
                    f"The file of segment '{record.name}' has CRC {held.info.crc}, its record says {record.crc}.",
                    remedy="Upload it again.",
                )
            self._held[record.name] = held
        return self._held[record.name]

    def _unpack(self, file: SegmentSource) -> Path:
        place = Path(self._folder.name) / str(len(self._held))
        place.mkdir()
        tar = place / "segment.tar.gz"
        self._fetch(file, tar)
        most = min(self._ctx.limits.unpacked_bytes, _MOST_UNPACKED - self._unpacked)
        folder = extract_tar(tar, place / "unpacked", max_bytes=most)
        tar.unlink()
        self._unpacked += sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
        return folder

    def _fetch(self, file: SegmentSource, target: Path) -> None:
        save_tar(self._ctx, self._table.raw, file.record.name, file.open(), target)


def served_files(ctx: Context, table: TableName) -> Find:
    """Those of the segments on record, as the cluster has them."""

    def find(segments: Sequence[str]) -> Mapping[str, SegmentSource]:
        records = read_records(ctx, table, segments)
        opened = partial(ctx.engine.segments.open_file, ctx, table.raw)
        return {s: SegmentSource(r, r.size_bytes, partial(opened, s)) for s, r in records.items()}

    return find


def _docs(files: Sequence[SegmentSource]) -> int:
    return sum(file.record.total_docs or 0 for file in files)


def _needed(plan: engine.QueryPlan, files: Sequence[SegmentSource]) -> Sequence[SegmentSource]:
    """The first files that have as many rows as LIMIT needs where any rows will do, else all of them."""
    if plan.kind != "selection" or plan.where is not None or plan.order:
        return files
    rows = 0
    for count, file in enumerate(files, 1):
        rows += file.record.total_docs or 0
        if rows >= plan.fetch:
            return files[:count]
    return files


def _pieces(files: Sequence[SegmentSource]) -> Iterator[list[SegmentSource]]:
    """As many at a time as have ``_ROWS_AT_ONCE`` rows together; at least one piece, which may be empty."""
    piece: list[SegmentSource] = []
    rows = 0
    for file in files:
        docs = file.record.total_docs or 0
        if piece and rows + docs > _ROWS_AT_ONCE:
            yield piece
            piece, rows = [], 0
        piece.append(file)
        rows += docs
    yield piece


def _failure(code: int, message: str) -> dict[str, Any]:
    return {"exceptions": [{"errorCode": code, "message": message}]}
