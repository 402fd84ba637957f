"""Reads exactly the named segments of a real Pinot, hidden ones too: its brokers answer from visible ones only, and its
servers only them.

Files come through the controller, once per check run, into a folder of their own; SQL runs here over our reader. A
count of all rows needs no file. What is read is checked against the CRC on record, so that a switch is decided from the
segments that servers have.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from segments.clusters.pinot.segments.files import fetch_segment
from segments.dataplane import query as engine
from segments.dataplane.query import QueryRejected
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables.keyed_tables import key_rules
from segments.domain.tables.schema import Schema
from segments.errors import PinotAdminError, SegmentCorrupt
from segments.names import TableName, split_table_name
from segments.segmentfile.packed.tar import extract_tar
from segments.services.core.context import Context
from segments.services.segments.segments import read_records
from segments.services.tables.schemas import read_schema
from segments.services.tables.table_record import read_table_config

if TYPE_CHECKING:
    from segments.dataplane.server.held.held_segment import HeldSegment

log = logging.getLogger(__name__)

_CACHE_BYTES: Final = 256 << 20
_FAILED: Final = 200


class PinotSnapshots:
    """A ``SnapshotReader`` of one table (typed name). A context manager: its files go with the block."""

    def __init__(self, ctx: Context, typed: str) -> None:
        raw, kind = split_table_name(typed)
        self._ctx, self._table = ctx, TableName(raw, kind or "OFFLINE")
        self._folder = tempfile.TemporaryDirectory(prefix="snapshot-")
        self._held: dict[str, HeldSegment] = {}

    def __enter__(self) -> PinotSnapshots:
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
        started = time.monotonic()
        schema: Schema = read_schema(self._ctx, self._table.raw)
        plan = engine.plan_query(sql, schema, options=options)
        records = read_records(self._ctx, self._table, segments)
        missing = [s for s in segments if s not in records]
        if missing:
            raise SegmentCorrupt(
                f"Segment '{missing[0]}' of table '{self._table}' has no record.", remedy="Upload it again."
            )
        masks = {} if engine.shows_all_rows(plan.options) else self._masks([records[s] for s in segments], schema)
        part = engine.execute_partial(plan, [self._rows(records[s], plan.columns, masks) for s in segments])
        return engine.broker_response(
            engine.merge(plan, [part]),
            segments_queried=len(segments),
            segments_processed=part.segments,
            docs_scanned=part.docs_scanned,
            total_docs=part.total_docs,
            time_used_ms=round((time.monotonic() - started) * 1000),
        )

    def _masks(self, records: Sequence[SegmentMetadata], schema: Schema) -> Mapping[str, engine.RowMask | None]:
        """Which rows count where a primary key has one row: decided among these segments alone. Those that came from
        no stream count row by row.
        """
        from segments.dataplane.primary_keys.table_keys import TableKeys  # only who checks snapshots needs it

        rules = key_rules(read_table_config(self._ctx, self._table), schema)
        if rules is None or not rules.masks_rows:
            return {}
        return TableKeys(rules, schema).masks_alone([self._hold(record) for record in records])

    def _rows(
        self, record: SegmentMetadata, columns: Sequence[str], masks: Mapping[str, engine.RowMask | None]
    ) -> engine.SegmentRows:
        mask = masks.get(record.name)
        if not columns:
            return engine.SegmentRows(record.name, "", pa.table({}), record.total_docs or 0, valid=mask)
        held = self._hold(record)
        return engine.SegmentRows(record.name, "", held.table_of(columns), held.num_docs, valid=mask)

    def _hold(self, record: SegmentMetadata) -> HeldSegment:
        """The segment's file, fetched and unpacked when first needed."""
        from segments.dataplane.server.held.column_cache import (
            ColumnCache,
        )  # only who checks snapshots needs a server's parts
        from segments.dataplane.server.held.held_segment import HeldSegment

        if record.name not in self._held:
            place = Path(self._folder.name) / str(len(self._held))
            place.mkdir()
            tar = place / "segment.tar.gz"
            fetch_segment(self._ctx, self._table.raw, record.name, tar)
            folder = extract_tar(tar, place / "unpacked", max_bytes=self._ctx.limits.unpacked_bytes)
            tar.unlink()
            held = HeldSegment(record.name, folder, record.crc or 0, ColumnCache(_CACHE_BYTES))
            if record.crc is not None and held.info.crc != record.crc:
                raise SegmentCorrupt(
                    f"The file of segment '{record.name}' has CRC {held.info.crc}, its record says {record.crc}.",
                    remedy="Upload it again.",
                )
            self._held[record.name] = held
        return self._held[record.name]


def _failure(code: int, message: str) -> dict[str, Any]:
    return {"exceptions": [{"errorCode": code, "message": message}]}
