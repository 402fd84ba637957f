"""Lay the columns of many segments end to end as one Arrow table, without copying them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from segments.dataplane.query.arrow.row_mask import RowMask
from segments.dataplane.query.arrow.totals import Totals
from segments.dataplane.query.nulls import are_recorded, equals_default, null_of
from segments.dataplane.query.plan import QueryPlan
from segments.domain.tables.schema import FieldSpec

ARROW_TYPES: Final[dict[str, pa.DataType]] = {
    "INT": pa.int32(), "LONG": pa.int64(), "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "BIG_DECIMAL": pa.string(),
    "STRING": pa.string(), "BYTES": pa.binary(), "MAP": pa.string(),
}  # fmt: skip
#: Column that numbers the segments, and the one that stands in when a query reads no column at all.
SEGMENT: Final = "seg"
NOTHING: Final = "nothing"
#: Column that says which rows count, where some do not.
VALID: Final = "valid"


@dataclass(frozen=True)
class SegmentRows:
    """The columns of one segment that a plan asks for, in stored types; the row's position is its docId.

    ``num_docs`` is needed when the plan reads no column (``rows`` has no rows then); otherwise it may be left out.
    ``is_growing``: a consuming segment; the rows are those of one moment. ``is_tail``: rows that were read behind the
    segment's end. ``valid``: which rows count, None: all; the others are as if they were not there. ``first_doc``: the
    docId of the first row. ``totals``: what is known of rows that never change, None where they may.
    """

    name: str
    host: str
    rows: pa.Table
    num_docs: int = -1
    is_growing: bool = False
    is_tail: bool = False
    valid: RowMask | None = None
    first_doc: int = 0
    totals: Totals | None = None

    def __post_init__(self) -> None:
        if self.num_docs < 0 or self.rows.num_columns:
            object.__setattr__(self, "num_docs", self.rows.num_rows)

    @cached_property
    def valid_docs(self) -> int:
        """Rows that count."""
        return self.num_docs if self.valid is None else self.valid.count

    def first(self, rows: int) -> SegmentRows:
        """As many of the first rows as have so many that count, from the first one that does."""
        valid = self.valid
        start = 0 if valid is None else valid.begins
        stop = min(rows if valid is None else valid.prefix_with(rows), self.num_docs)
        size = max(0, stop - start)
        cut = self.rows.slice(start, size) if self.rows.num_columns else self.rows
        kept = None if valid is None else valid.between(start, stop)
        kept = kept if kept is not None and kept.count < size else None
        return SegmentRows(self.name, self.host, cut, size, valid=kept, first_doc=start)


def is_masked(segments: Sequence[SegmentRows]) -> bool:
    """Are there rows that do not count?"""
    return any(s.valid is not None for s in segments)


def scan_table(plan: QueryPlan, segments: Sequence[SegmentRows], *, number_segments: bool = False) -> pa.Table:
    """The plan's columns as ``c0, c1...``; a column that a segment lacks holds its default null value. ``valid``, one
    where a row counts, is there when ``is_masked``.
    """
    sizes = [s.num_docs for s in segments]
    columns: dict[str, Any] = {}
    for position, name in enumerate(plan.reads):
        match name:
            case "$segmentName":
                columns[f"c{position}"] = _per_segment([s.name for s in segments], sizes)
            case "$hostName":
                columns[f"c{position}"] = _per_segment([s.host for s in segments], sizes)
            case "$docId":
                ids = [np.arange(s.first_doc, s.first_doc + s.num_docs, dtype=np.int32) for s in segments]
                columns[f"c{position}"] = pa.chunked_array([pa.array(i) for i in ids], pa.int32())
            case _ if (column := null_of(name)) is not None:
                columns[f"c{position}"] = _nulls(plan, name, plan.fields[column], segments)
            case _:
                columns[f"c{position}"] = _column(plan.fields[name], segments)
    if number_segments:
        columns[SEGMENT] = pa.array(_numbers(sizes))
    if is_masked(segments):
        columns[VALID] = pa.chunked_array(
            [pa.repeat(pa.scalar(1, pa.uint8()), s.num_docs) if s.valid is None else s.valid.ones for s in segments],
            pa.uint8(),
        )
    if not columns:
        columns[NOTHING] = pa.array(np.zeros(sum(sizes), np.uint8))
    return pa.table(columns)


def stored_type(spec: FieldSpec) -> pa.DataType:
    """The Arrow type in which a column's values are stored."""
    kind = ARROW_TYPES[spec.stored_type]
    return kind if spec.single_value else pa.list_(kind)


def _numbers(sizes: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)


def _per_segment(texts: Sequence[str], sizes: Sequence[int]) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(_numbers(sizes)), pa.array(texts, pa.string()))


def _column(spec: FieldSpec, segments: Sequence[SegmentRows]) -> Any:
    wanted: Any = stored_type(spec)
    chunks: list[Any] = []
    for segment in segments:
        at = segment.rows.schema.get_field_index(spec.name)
        chunks += segment.rows.column(at).chunks if at >= 0 else [default_values(spec, wanted, segment.num_docs)]
    kinds = {c.type for c in chunks}
    if kinds <= {wanted} or (len(kinds) == 1 and _is_dictionary_of(kinds, wanted)):
        return pa.chunked_array(chunks, chunks[0].type if chunks else wanted)
    return pa.chunked_array([c if c.type == wanted else c.cast(wanted) for c in chunks], wanted)


def _nulls(plan: QueryPlan, name: str, spec: FieldSpec, segments: Sequence[SegmentRows]) -> Any:
    """Which rows of ``spec``'s column were null; all of them in a segment that lacks the column."""
    chunks: list[Any] = []
    for segment in segments:
        held = segment.rows.column_names
        if name in held:
            chunks += segment.rows.column(name).chunks
        elif spec.name in held and are_recorded(name, plan.options):
            chunks.append(pa.repeat(pa.scalar(False), segment.num_docs))
        elif spec.name in held:
            found = equals_default(segment.rows.column(spec.name), default_values(spec, stored_type(spec), 1)[0])
            chunks += found.chunks if isinstance(found, pa.ChunkedArray) else [found]
        else:
            chunks.append(pa.repeat(pa.scalar(True), segment.num_docs))
    return pa.chunked_array(chunks, pa.bool_())


def _is_dictionary_of(kinds: set[Any], wanted: pa.DataType) -> bool:
    kind = next(iter(kinds))
    return bool(pa.types.is_dictionary(kind)) and kind.value_type == wanted


def default_values(spec: FieldSpec, wanted: Any, size: int) -> Any:
    """So many times what stands for null in this column, as an Arrow array."""
    value: Any = spec.default_null
    if spec.stored_type == "BYTES":
        value = bytes.fromhex(str(value or "").replace("-", ""))
    elif spec.stored_type == "MAP":
        value = "{}"
    filled: Any = pa.scalar(value if spec.single_value else [value], wanted)
    return pa.repeat(filled, size)
