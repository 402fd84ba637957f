"""Finds what the columns of a sample are: an Arrow table in, one ``FoundColumn`` for each column out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as pt

from segments.datatypes.compute import pc
from segments.datatypes.convert import is_list, plain
from segments.datatypes.inference.written_times import TIMESTAMP, millis_of, moment, time_of_numbers
from segments.datatypes.inference.written_types import WrittenType, type_of_texts, whole_type
from segments.datatypes.jsontext import json_of
from segments.datatypes.shown_value import plain_text
from segments.domain.tables.design.found_column import FoundColumn

_LONGEST_EXAMPLE: Final = 120
#: A text is a list of values when at least this share of a column's texts has the delimiter, and no piece of any is
#: longer, or of more words, than names are.
_LISTS: Final = 0.1
_LONGEST_PIECE: Final = 64
_WORDS: Final = 3


def find_columns(
    table: pa.Table, names: Mapping[str, str], *, is_text: bool, multi_value: str | None
) -> list[FoundColumn]:
    """The columns of a sample. ``names``: {name in the file: name in the table}. ``is_text``: every value is text, and
    what it means is found out; ``multi_value``: the delimiter between values of one cell, None: there is none.
    """
    return [_column(source, names[source], table.column(source), is_text, multi_value) for source in table.column_names]


def _column(source: str, name: str, given: Any, is_text: bool, multi_value: str | None) -> FoundColumn:
    values = plain(given)
    nulls = int(values.null_count)
    present = values.drop_null()
    if is_list(present.type) and not pt.is_nested(present.type.value_type):
        inner = plain(pc.list_flatten(present)).drop_null()
        written, is_multi = _type(name, inner, is_text=False), True
    elif is_text and multi_value is not None and _is_list_text(present, multi_value):
        inner = plain(pc.list_flatten(pc.split_pattern(present, multi_value))).drop_null()
        written, is_multi = _type(name, inner, is_text=True), True
        if written.data_type == "JSON":
            written = WrittenType("STRING")
    else:
        written, is_multi = _type(name, present, is_text=is_text), False
    if is_multi:  # a list of times is not a time column
        written = WrittenType("STRING" if written.data_type == "JSON" else written.data_type)
    example = _shown(present[0].as_py()) if len(present) else ""
    times = _times(present, written.format)
    return FoundColumn(
        name, source, written.data_type, written.format, is_multi, len(values), nulls, _distinct(present), example,
        moment(millis) if (millis := _first_time(present, written.format)) is not None else "",
        times, written.nearly, written.misfits, written.examples,
    )  # fmt: skip


def _type(name: str, values: Any, *, is_text: bool) -> WrittenType:
    kind = values.type
    if pt.is_null(kind) or not len(values):
        return WrittenType(_ARROW_TYPES.get(str(kind), "STRING"))
    if pt.is_string(kind):
        return type_of_texts(name, _counts(values), only_times=not is_text)
    if pt.is_integer(kind):
        return _whole(name, values)
    if pt.is_timestamp(kind) or pt.is_date(kind):
        return WrittenType("TIMESTAMP", TIMESTAMP)
    if pt.is_nested(kind):
        return WrittenType("JSON")
    if pt.is_decimal(kind):
        return WrittenType("BIG_DECIMAL")
    return WrittenType(_ARROW_TYPES.get(str(kind), "STRING"))


_ARROW_TYPES: Final = {
    "bool": "BOOLEAN", "halffloat": "FLOAT", "float": "FLOAT", "double": "DOUBLE", "binary": "BYTES", "int8": "INT",
    "int16": "INT", "int32": "INT", "uint8": "INT", "uint16": "INT", "uint32": "LONG", "int64": "LONG",
    "uint64": "LONG",
}  # fmt: skip


def _whole(name: str, values: Any) -> WrittenType:
    """Whole numbers of a typed format: as wide as the file says, narrower numbers of JSON by what they are."""
    ends = pc.min_max(values).as_py()
    data_type = _ARROW_TYPES[str(values.type)] if values.type != pa.int64() else whole_type(ends["min"], ends["max"])
    distinct = [str(v) for v in pc.unique(values).to_pylist()]
    time = time_of_numbers(name, ends["min"], ends["max"], data_type, distinct)
    return WrittenType(data_type) if time is None else WrittenType(time.data_type, time.format)


def _counts(values: Any) -> dict[str, int]:
    return {str(item["values"]): int(item["counts"]) for item in pc.value_counts(values).to_pylist()}


def _distinct(values: Any) -> int:
    if not len(values):
        return 0
    if pt.is_nested(values.type):
        return len({json_of(v) for v in values.to_pylist()})
    return int(pc.count_distinct(values).as_py())


def _is_list_text(values: Any, delimiter: str) -> bool:
    if not len(values):
        return False
    having = Counter(delimiter in text for text in values.to_pylist())[True]
    if having < max(len(values) * _LISTS, 1):
        return False
    pieces = [p for text in pc.unique(values).to_pylist() for p in text.split(delimiter)]
    return all(p and p == p.strip() and len(p) <= _LONGEST_PIECE and len(p.split()) <= _WORDS for p in pieces)


def _times(values: Any, text: str) -> tuple[int, int] | None:
    if not text or not len(values):
        return None
    found = [m for v in pc.unique(values).to_pylist() if (m := millis_of(v, text)) is not None]
    return (min(found), max(found)) if found else None


def _first_time(values: Any, text: str) -> int | None:
    return millis_of(values[0].as_py(), text) if text and len(values) else None


def _shown(value: Any) -> str:
    text = plain_text(value)
    return text if len(text) <= _LONGEST_EXAMPLE else f"{text[:_LONGEST_EXAMPLE]}…"
