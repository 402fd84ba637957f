"""The rows of a consuming segment: a columnar buffer that one thread appends to and many read, and that becomes a
segment file.

Rows are kept as Arrow record batches of stored columns, as in a committed segment. Many small batches are merged as
they come, so that a buffer of any length has a few dozen pieces, and each row is copied a few times at most. A snapshot
is one reference: it never changes, and costs nothing to take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from segments.dataplane.query.arrow.totals import Totals
from segments.dataplane.query.nulls import null_of
from segments.datatypes.convert import ARROW
from segments.datatypes.timecolumn import segment_times
from segments.domain.tables.datetime_format import MILLIS
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.segmentfile import SegmentInfo, write_stored
from segments.segmentfile.columns.transform import Mask, stored_fields, uses_null_vector

#: Limits of the size classes; pieces below the last are merged with their neighbours, larger ones stay as they are.
_CLASSES: Final = (64, 512, 4_096)
_FAN_IN: Final = 16
#: A column of a segment file holds at most 2 GiB; a buffer beyond this must be committed.
MAX_BYTES: Final = 1_800_000_000


@dataclass(frozen=True)
class Piece:
    """Some rows in order. ``masks`` has the columns in which a value was null (True); ``size_class`` counts the limits
    reached.
    """

    rows: pa.RecordBatch
    masks: Mapping[str, Mask]
    size_class: int


@dataclass(frozen=True)
class Snapshot:
    """The rows that were there at one moment. Shaped as a held segment: ``name``, ``num_docs``, ``column``,
    ``table_of``.

    ``min_time_ms`` and ``max_time_ms`` are the time column's range, None without rows or time column.
    """

    name: str
    schema: Schema
    config: TableConfig
    pieces: tuple[Piece, ...] = ()
    num_docs: int = 0
    nbytes: int = 0
    min_time_ms: int | None = None
    max_time_ms: int | None = None

    @cached_property
    def columns(self) -> frozenset[str]:
        """Names of the columns."""
        return frozenset(f.name for f in stored_fields(self.schema))

    def column(self, name: str) -> Any:
        """One column as a chunked array of the stored type."""
        field = self.schema.by_name[name]
        kind: Any = ARROW[field.stored_type] if field.single_value else pa.list_(ARROW[field.stored_type])
        return pa.chunked_array([p.rows.column(name) for p in self.pieces], kind)

    def table_of(self, columns: Sequence[str]) -> pa.Table:
        """Those of the columns that this segment has; ``$isNull.<column>`` where the table records nulls."""
        found = {name: self.column(name) for name in columns if name in self.columns}
        for name in columns:
            column = null_of(name)
            if column in self.columns and uses_null_vector(self.schema.by_name[column], self.schema, self.config):
                found[name] = pa.array(_Masks(self)[column])
        return pa.table(found)

    def build(
        self, folder: Path, *, start_offset: str | None = None, end_offset: str = "", creation_time_ms: int,
        custom: Mapping[str, str] | None = None,
    ) -> SegmentInfo:  # fmt: skip
        """Write the segment directory ``folder/<name>``. The same rows give the same bytes on every replica.

        Without a ``start_offset`` it names no range of a stream. A time outside 1971..2071 does not stop the build:
        consumption would stand still for one row.
        """
        names = [f.name for f in stored_fields(self.schema)]
        lenient = {**(self.config.body.get("ingestionConfig") or {}), "segmentTimeValueCheck": False}
        config = replace(self.config, body={**self.config.body, "ingestionConfig": lenient})
        return write_stored(
            self.table_of(names),
            _Masks(self),
            self.schema,
            config,
            self.name,
            folder,
            creation_time_ms=creation_time_ms,
            custom=custom,
            realtime_offsets=None if start_offset is None else (start_offset, end_offset),
        )


class MutableSegment:
    """One consuming segment's rows. One thread appends; :meth:`snapshot` and the properties may be used by any."""

    def __init__(self, name: str, schema: Schema, config: TableConfig) -> None:
        self.name = name
        self.schema = schema
        self.config = config
        self.totals = Totals(grows=True)
        time = config.time_column
        self._time_field = schema.by_name.get(time) if time else None
        self._fields = [f.name for f in stored_fields(schema)]
        self._snapshot = Snapshot(name, schema, config)

    @property
    def rows(self) -> int:
        """Rows so far."""
        return self._snapshot.num_docs

    @property
    def bytes(self) -> int:
        """Size of the rows in Arrow."""
        return self._snapshot.nbytes

    @property
    def is_full(self) -> bool:
        """True when more rows would not fit into one segment file."""
        return self._snapshot.nbytes >= MAX_BYTES

    @property
    def min_time_ms(self) -> int | None:
        """Smallest time of the time column, epoch milliseconds; None when not known."""
        return self._snapshot.min_time_ms

    @property
    def max_time_ms(self) -> int | None:
        """Largest time of the time column, epoch milliseconds; None when not known."""
        return self._snapshot.max_time_ms

    def snapshot(self) -> Snapshot:
        """The rows up to now: immutable, taken in constant time."""
        return self._snapshot

    def append(self, table: pa.Table, masks: Mapping[str, Mask] | None = None) -> None:
        """Add rows of stored columns, as :func:`segments.segmentfile.transform_table` or a decoder makes them; visible
        at once.
        """
        if not table.num_rows:
            return
        old = self._snapshot
        low, high = self._times(table)
        batches = table.select(self._fields).combine_chunks().to_batches()
        found = {n: m for n, m in (masks or {}).items() if m.any()}
        pieces, start = list(old.pieces), 0
        for batch in batches:
            stop = start + batch.num_rows
            pieces.append(_piece(batch, found if len(batches) == 1 else {n: m[start:stop] for n, m in found.items()}))
            start = stop
        _merge_tail(pieces)
        self._snapshot = Snapshot(
            self.name,
            self.schema,
            self.config,
            tuple(pieces),
            old.num_docs + table.num_rows,
            old.nbytes + table.nbytes,
            low if old.min_time_ms is None or (low is not None and low < old.min_time_ms) else old.min_time_ms,
            high if old.max_time_ms is None or (high is not None and high > old.max_time_ms) else old.max_time_ms,
        )

    def build(
        self, folder: Path, *, start_offset: str | None = None, end_offset: str = "", creation_time_ms: int,
        custom: Mapping[str, str] | None = None,
    ) -> SegmentInfo:  # fmt: skip
        """Write the segment directory ``folder/<name>`` from the rows up to now; see :meth:`Snapshot.build`."""
        return self.snapshot().build(
            folder, start_offset=start_offset, end_offset=end_offset, creation_time_ms=creation_time_ms, custom=custom
        )

    def _times(self, table: pa.Table) -> tuple[int | None, int | None]:
        if self._time_field is None:
            return None, None
        try:
            low, high, unit = segment_times(self._time_field, table.column(self._time_field.name), 0)
        except (InvalidInput, ValueError):
            return None, None
        return int(low * MILLIS[unit]), int(high * MILLIS[unit])


class _Masks(Mapping[str, Mask]):
    """Null masks of a snapshot, made on demand."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __getitem__(self, name: str) -> Mask:
        if name not in self._snapshot.columns:
            raise KeyError(name)
        mask, at = np.zeros(self._snapshot.num_docs, bool), 0
        for piece in self._snapshot.pieces:
            stop = at + piece.rows.num_rows
            if name in piece.masks:
                mask[at:stop] = piece.masks[name]
            at = stop
        return mask

    def __iter__(self) -> Iterator[str]:
        return iter(self._snapshot.columns)

    def __len__(self) -> int:
        return len(self._snapshot.columns)


def _piece(rows: Any, masks: Mapping[str, Mask]) -> Piece:
    return Piece(rows, masks, sum(rows.num_rows >= limit for limit in _CLASSES))


def _merge_tail(pieces: list[Piece]) -> None:
    """Make one of the last pieces when many in a row are small: 16 below the first limit, 32 below the second, 48 below
    the third.
    """
    kind, run = 0, 0
    for piece in reversed(pieces):
        kind, run = max(kind, piece.size_class), run + 1
        if kind == len(_CLASSES):
            return
        if run == _FAN_IN * (kind + 1):
            pieces[-run:] = [_merged(pieces[-run:])]
            return


def _merged(pieces: Sequence[Piece]) -> Piece:
    arrow: Any = pa  # the published stubs lack concat_batches
    masks: dict[str, Mask] = {}
    for name in sorted({n for p in pieces for n in p.masks}):
        masks[name] = np.concatenate(
            [p.masks[name] if name in p.masks else np.zeros(p.rows.num_rows, bool) for p in pieces]
        )
    return _piece(arrow.concat_batches([p.rows for p in pieces]), masks)
