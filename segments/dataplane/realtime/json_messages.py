"""JSON messages: all of a batch at once by Arrow's reader, which lets other threads run, or one by one where that does
not fit.

Arrow wants one type per column. It is learned from a message; when a later one does not fit, the batch is parsed
message by message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.json as pajson

from segments.dataplane.realtime.decoded import CONTENT_ERRORS, RawRows
from segments.dataplane.realtime.raw_columns import parsed_rows
from segments.datatypes.jsontext import check_depth
from segments.domain.tables.schema import FieldSpec, Schema
from segments.segmentfile.columns.complex_type import ComplexType

#: Below this many messages the start of Arrow's reader costs more than it saves.
FEW: Final = 192
#: After a batch that did not fit, so many batches at most are not tried.
_MOST_SKIPPED: Final = 64
#: Numbers that are none in JSON, although Arrow's reader takes them; the second is searched for where the first
#: matches.
_ODD_WORDS: Final = (b"NaN", b"Inf")
_ODD_NUMBER: Final = re.compile(rb"[:\[,]\s*-?(?:NaN|Inf)")
_REAL: Final[dict[str, Any]] = {"FLOAT": pa.float32(), "DOUBLE": pa.float64()}
_WHOLE: Final[dict[str, Any]] = {"INT": pa.int32(), **_REAL}


class JsonMessages:
    """Reader of JSON objects, one per message. With ``complex_type`` each is read on its own: Arrow's reader knows the
    types of the schema's columns only, not of what is nested.
    """

    def __init__(self, schema: Schema, complex_type: ComplexType | None = None) -> None:
        self._schema, self._complex_type = schema, complex_type
        self._types: Any = None
        self._skip = 0
        self._pause = 1

    def read(self, values: Sequence[bytes]) -> RawRows:
        """See :class:`segments.dataplane.realtime.decoded.MessageReader`."""
        table = self._at_once(values) if len(values) >= FEW and self._complex_type is None else None
        return parsed_rows(values, json_value, self._schema, self._complex_type) if table is None else RawRows(table)

    def _at_once(self, values: Sequence[bytes]) -> Any:
        if self._skip:
            self._skip -= 1
            return None
        for _ in range(2):
            table = None if self._types is None else self._parse(values)
            if table is not None:
                self._pause = 1
                return table
            learned = self._learn(values)
            if learned is None or learned == self._types:
                break
            self._types = learned
        self._skip, self._pause = self._pause, min(self._pause * 2, _MOST_SKIPPED)
        return None

    def _parse(self, values: Sequence[bytes]) -> Any:
        """The table, or None when a message is not one object of the learned types."""
        data = b"\n".join(values)
        if data.count(b"\n") != len(values) - 1:
            data = b"\n".join(
                [v.replace(b"\n", b"\t") for v in values]
            )  # white space as well, and as wrong inside of a text
        if any(word in data for word in _ODD_WORDS) and _ODD_NUMBER.search(data):
            return None
        block = pajson.ReadOptions(use_threads=False, block_size=max(len(data), 1 << 16))
        options = pajson.ParseOptions(
            explicit_schema=self._types, unexpected_field_behavior="ignore", newlines_in_values=False
        )
        source: Any = pa.BufferReader(data)
        try:
            pa.array([data], pa.binary()).cast(pa.string())  # Arrow's reader takes bytes that are not UTF-8
            table = pajson.read_json(source, block, options)
        except CONTENT_ERRORS:
            return None
        if table.num_rows != len(values) or not all(
            v.startswith(b"{") for v in values
        ):  # one of nothing hides one of two objects
            return None
        for at, field in enumerate(self._schema.fields):
            if field.data_type == "JSON" and pa.types.is_integer(table.schema.field(at).type):
                table = table.set_column(at, field.name, table.column(at).cast(pa.string()))
        return table

    def _learn(self, values: Sequence[bytes]) -> Any:
        """Arrow types of the columns, from the first message that is an object; None when a column has none."""
        row = next((r for r in map(_loaded, values[:20]) if isinstance(r, dict)), None)
        if row is None:
            return None
        kinds = [(f.name, _kind(row.get(f.name), f)) for f in self._schema.fields]
        return None if any(k is None for _, k in kinds) else pa.schema(kinds)


def json_value(value: bytes) -> Any:
    """What a message spells. ValueError for one that is not JSON, or too deep to become text again."""
    found = orjson.loads(value)
    if isinstance(found, dict):
        check_depth(value, found)
    return found


def _loaded(value: bytes) -> Any:
    try:
        return orjson.loads(value)
    except ValueError:
        return None


def _kind(value: Any, field: FieldSpec) -> Any:
    """The Arrow type to read a column like this value as, None when only Python can."""
    if isinstance(value, list):
        if field.single_value or field.data_type == "JSON":
            return None
        inner = _kind(next((v for v in value if v is not None), None), field)
        return None if inner is None or pa.types.is_nested(inner) else pa.list_(inner)
    match value:
        case None:
            usual = {"LONG": pa.int64(), "BOOLEAN": pa.bool_(), **_WHOLE}.get(field.data_type, pa.string())
            return usual if field.single_value else pa.list_(usual)
        case str():
            return pa.string()
        case bool():
            return None if field.data_type == "JSON" else pa.bool_()
        case int():
            return _WHOLE.get(field.data_type, pa.int64())
        case float():
            return _REAL.get(field.data_type)
    return None
