"""Comparison values of rows: one 64-bit number a row, or one for each of several comparison columns.

With several columns a row says something in one of them and is compared by that one; what it does not say, it has from
the row of its key before it. So a key's values never fall, and of rows completed like that the greatest counts, the
first column that differs deciding; late rows are not completed and are less than the one that they came behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from segments.dataplane.primary_keys.arrivals import Arrivals
from segments.dataplane.primary_keys.key_hash_table import NOWHERE
from segments.dataplane.primary_keys.key_rows import KeyRows, numbers_of
from segments.dataplane.primary_keys.order_of_values import NOTHING, are_greater
from segments.dataplane.primary_keys.runs import Flags, by_key, starts_of
from segments.dataplane.primary_keys.valid_rows import PartitionKeys
from segments.segmentfile.columns.transform import Mask

Values = NDArray[np.int64]


def with_values_before(
    partition: PartitionKeys, arrivals: Arrivals, columns: tuple[str, ...]
) -> tuple[Arrivals, Flags]:
    """The batch with the values that its rows do not say, and which of them are late."""
    late, values = _in_turn(partition, arrivals.keys)
    rows, masks = arrivals.rows, dict(arrivals.masks)
    for at, name in enumerate(columns):
        filled = (arrivals.keys.values[:, at] == NOTHING) & (values[:, at] != NOTHING)
        if filled.any():
            rows = _with_numbers(rows, name, filled, values[filled, at])
            masks[name] = masks[name] & ~filled
    keys = KeyRows(arrivals.keys.keys, values, arrivals.keys.deletes)
    return Arrivals(rows, _some(masks), keys), late


def _in_turn(partition: PartitionKeys, rows: KeyRows) -> tuple[Flags, Values]:
    """(late rows, values of all of them): the n-th row of every key at once."""
    late, values = np.zeros(len(rows), np.bool_), rows.values.copy()
    if not len(rows):
        return late, values
    order, groups = by_key(rows.keys)
    starts = np.flatnonzero(starts_of(groups))
    places = partition.table.find(rows.keys.take(order[starts]))
    now = np.where((places != NOWHERE)[:, None], partition.table.values[places], NOTHING)
    sizes = np.diff(np.append(starts, len(rows)))
    for turn in range(int(sizes.max())):
        of = np.flatnonzero(sizes > turn)
        row = order[starts[of] + turn]
        own, before = values[row], now[of]
        filled = np.where(own == NOTHING, before, own)
        is_silent = (own == NOTHING).all(axis=1) & (before != NOTHING).any(axis=1)
        is_late = is_silent | are_greater(before, filled)
        late[row] = is_late
        values[row] = np.where(is_late[:, None], own, filled)
        now[of] = np.where(is_late[:, None], before, filled)
    return late, values


def _with_numbers(rows: pa.Table, name: str, where: Flags, values: Values) -> pa.Table:
    at = rows.schema.get_field_index(name)
    column: Any = rows.column(name).combine_chunks()
    numbers = column.to_numpy(zero_copy_only=False).copy()
    numbers[where] = numbers_of(values, numbers.dtype)
    return rows.set_column(at, rows.schema.field(at), pa.array(numbers, column.type))


def _some(masks: Mapping[str, Mask]) -> dict[str, Mask]:
    return {name: mask for name, mask in masks.items() if mask.any()}
