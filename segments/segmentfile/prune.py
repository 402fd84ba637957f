"""Says without reading rows that a segment cannot hold what a filter wants: by min and max, partitions
and dictionary.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa

from segments.datatypes.compute import pc
from segments.datatypes.convert import BadValue, convert
from segments.datatypes.javatext import parse_decimal
from segments.errors import InvalidInput
from segments.segmentfile.columns.partition import partition_ids, partition_texts
from segments.segmentfile.format.crc import java_order
from segments.segmentfile.format.info import ColumnInfo, SegmentInfo
from segments.segmentfile.reader import SegmentReader

Operator = Literal["=", "<", "<=", ">", ">=", "IN"]
_OPERATORS: Final = ("=", "<", "<=", ">", ">=", "IN")


@dataclass(frozen=True)
class Condition:
    """``column operator value``; IN takes several values. Values are of the column's type, or text of them."""

    column: str
    operator: Operator
    values: tuple[Any, ...]


def may_match(info: SegmentInfo, condition: Condition) -> bool:
    """False when the metadata rule out that any value satisfies the condition; True when it may. A column that is
    missing: True.

    Rows that were null count with the column's default, as they are stored. Raises InvalidInput for a value that is not
    of the type.
    """
    column = info.columns.get(condition.column)
    if column is None or not info.total_docs:
        return column is None
    wanted = [_comparable(v, column) for v in _stored(condition, column)]
    low, high = (None if t is None else _parsed(t, column) for t in (column.min_value, column.max_value))
    match condition.operator:
        case "=" | "IN":
            inside = [w for w in wanted if (low is None or w >= low) and (high is None or w <= high)]
            return bool(inside) and _partition_may_match(condition, column)
        case "<" | "<=":
            return low is None or bool(
                wanted[0] > low if condition.operator == "<" and not _rounds(column) else wanted[0] >= low
            )
    return high is None or bool(
        wanted[0] < high if condition.operator == ">" and not _rounds(column) else wanted[0] <= high
    )


def may_hold(reader: SegmentReader, condition: Condition) -> bool:
    """As :func:`may_match`, and for ``=`` and ``IN`` on a dictionary column exact, from the dictionary. Raises
    SegmentCorrupt.
    """
    if not may_match(reader.info, condition):
        return False
    column = reader.info.columns.get(condition.column)
    if (
        column is None
        or not column.has_dictionary
        or condition.operator not in ("=", "IN")
        or column.stored_type == "BIG_DECIMAL"
    ):
        return True
    entries = reader.dictionary(column.name)
    return bool(pc.any(pc.is_in(pa.array(_stored(condition, column), entries.type), entries)).as_py())


def _stored(condition: Condition, column: ColumnInfo) -> list[Any]:
    if (
        condition.operator not in _OPERATORS
        or not condition.values
        or (condition.operator != "IN" and len(condition.values) > 1)
    ):
        raise InvalidInput(
            f"Condition '{condition.operator}' on column '{condition.column}' with {len(condition.values)} "
            "values is none."
        )
    try:
        found: list[Any] = convert(pa.array(list(condition.values)), column.data_type).to_pylist()
    except (BadValue, pa.ArrowException) as error:
        raise InvalidInput(f"Column '{column.name}' is {column.data_type}; {condition.values!r} is not.") from error
    return found


def _comparable(value: Any, column: ColumnInfo) -> Any:
    """A stored value in the form in which Pinot orders its type."""
    match column.stored_type:
        case "STRING":
            return java_order(value)
        case "BIG_DECIMAL":
            return parse_decimal(value)
        case "FLOAT":
            return float(np.float32(value))
    return value


def _parsed(text: str, column: ColumnInfo) -> Any:
    match column.stored_type:
        case "STRING":
            return java_order(text)
        case "BIG_DECIMAL":
            return Decimal(text)
        case "FLOAT":
            return float(np.float32(text))
        case "DOUBLE":
            return float(text)
        case "INT" | "LONG":
            return int(text)
    return bytes.fromhex(text)


def _rounds(column: ColumnInfo) -> bool:
    """A value given as a double may have been rounded to the column's float, so an equal bound says nothing."""
    return column.stored_type == "FLOAT"


def _partition_may_match(condition: Condition, column: ColumnInfo) -> bool:
    function, count = column.partition_function, column.num_partitions
    if not function or not count or not column.partitions:
        return True
    try:
        return bool(
            set(column.partitions)
            & set(partition_ids(partition_texts(_stored(condition, column), column.stored_type), function, count))
        )
    except InvalidInput:
        return True  # a function of a newer Pinot
