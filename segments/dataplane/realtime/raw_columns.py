"""Rows as Python dictionaries -> an Arrow table of raw columns, for formats and messages that Arrow cannot parse
itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from segments.dataplane.realtime.decoded import CONTENT_ERRORS, BadMessage, RawRows, bad_message
from segments.datatypes.value_texts import value_text, value_texts
from segments.domain.tables.schema import FieldSpec, Schema
from segments.segmentfile.columns.complex_type import ComplexType

#: What JSON calls the values that are not objects.
_KINDS: Final[dict[type, str]] = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
#: Rows that one message may become by unnesting, and bytes of all of them.
MOST_ROWS: Final = 10_000
MOST_BYTES: Final = 64 << 20
#: The same of all messages of a batch together: those that would give more are left to the next one.
MOST_ROWS_AT_ONCE: Final = 200_000
MOST_BYTES_AT_ONCE: Final = 256 << 20
#: Types that are tried first; what does not fit is taken as it is, or as text.
_HINTS: Final[dict[str, Any]] = {
    "INT": pa.int32(), "LONG": pa.int64(), "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "STRING": pa.string(),
}  # fmt: skip


def parsed_rows(
    values: Sequence[bytes], parse: Callable[[bytes], Any], schema: Schema, complex_type: ComplexType | None = None
) -> RawRows:
    """Parse message by message; one that is not an object is set aside. With ``complex_type`` one can give several
    rows, and all that would give too many together are not taken: at least one is.
    """
    rows: list[Mapping[str, Any]] = []
    size = 0
    positions: list[int] = []
    bad: list[BadMessage] = []
    for position, value in enumerate(values):
        try:
            row = parse(value)
            is_object = isinstance(row, dict)
            unnests = complex_type if is_object else None
            made, more = ([row], 0) if unnests is None else unnests.rows(row, MOST_ROWS, MOST_BYTES)
        except CONTENT_ERRORS as error:
            bad.append(bad_message(position, _why(error) if value.strip() else "The message is empty."))
            continue
        size += more
        if rows and more and (len(rows) + len(made) > MOST_ROWS_AT_ONCE or size > MOST_BYTES_AT_ONCE):
            return RawRows(raw_table(rows, schema), np.array(positions, np.int64), tuple(bad), taken=position)
        if is_object:
            rows += made
            positions += [position] * len(made)
        else:
            bad.append(bad_message(position, f"The message is {_KINDS.get(type(row), 'a number')}, not a JSON object."))
    is_one_each = not bad and complex_type is None
    return RawRows(raw_table(rows, schema), None if is_one_each else np.array(positions, np.int64), tuple(bad))


def _why(error: Exception) -> object:
    return f"The message is not JSON: {error}" if isinstance(error, json.JSONDecodeError) else error


def raw_table(rows: Sequence[Mapping[str, Any]], schema: Schema) -> pa.Table:
    """The schema's columns of these rows; a key that is missing is null."""
    return pa.table({f.name: _array([row.get(f.name) for row in rows], f) for f in schema.fields})


def _array(values: list[Any], field: FieldSpec) -> Any:
    if field.data_type == "JSON":
        return value_texts(values)
    hint = _HINTS.get(field.data_type)
    kind = hint if field.single_value or hint is None else pa.list_(hint)
    listed = values if field.single_value else [v if v is None or isinstance(v, list) else [v] for v in values]
    for attempt in (kind, None) if kind is not None else (None,):
        try:
            return pa.array(listed, attempt)
        except CONTENT_ERRORS:
            continue
    if field.single_value:
        return value_texts(values)
    return pa.array([None if v is None else [value_text(i) for i in v] for v in listed], pa.list_(pa.string()))
