"""Rows as dictionaries -> an Arrow table of the schema's columns, for formats and values that Arrow cannot read
itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from segments.datatypes.value_texts import value_text, value_texts
from segments.domain.tables.schema import FieldSpec, Schema

#: What Arrow raises for values that are not of one kind, or that it cannot hold.
_ODD: Final[tuple[Any, ...]] = (
    pa.ArrowInvalid,
    pa.ArrowTypeError,
    pa.ArrowNotImplementedError,
    OverflowError,
    UnicodeEncodeError,
)


def raw_rows(rows: Sequence[Mapping[str, Any]], schema: Schema) -> pa.Table:
    """The schema's columns of these rows; a key that is missing is null."""
    return pa.table({f.name: _array([row.get(f.name) for row in rows], f) for f in schema.fields})


def nested_as_text(table: pa.Table, schema: Schema) -> pa.Table:
    """Structs, maps, and lists of them as JSON text, as Pinot stores them; so are all lists of JSON columns."""
    for at, column in enumerate(table.schema):
        field = schema.by_name[column.name]
        kind = column.type
        if pa.types.is_nested(kind) and (field.data_type == "JSON" or _is_deep(kind)):
            table = table.set_column(
                at, column.name, _array(table.column(at).to_pylist(maps_as_pydicts="lossy"), field)
            )
    return table


def _is_deep(kind: Any) -> bool:
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return pa.types.is_nested(kind.value_type) if is_list else True


def _array(values: list[Any], field: FieldSpec) -> Any:
    """Values of any kind as one Arrow array; of mixed kinds, as text."""
    if field.data_type == "JSON":
        return value_texts(values)
    if field.single_value:
        try:
            found = pa.array(values)
            return value_texts(values) if pa.types.is_struct(found.type) else found
        except _ODD:
            return value_texts(values)
    lists = [v if v is None or isinstance(v, list) else [v] for v in values]
    try:
        found = pa.array(lists)
    except _ODD:
        found = None
    if found is None or (pa.types.is_list(found.type) and pa.types.is_nested(found.type.value_type)):
        return pa.array([None if v is None else [value_text(i) for i in v] for v in lists], pa.list_(pa.string()))
    return found
