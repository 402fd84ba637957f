"""What becomes of a batch of rows before it is taken in: late rows dropped or marked, repeated ones dropped, partial
ones completed.

All of it follows from the rows before the batch, so that every replica makes the same segment of the same messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from segments.dataplane.primary_keys.key_hash_table import NOWHERE
from segments.dataplane.primary_keys.key_rows import KeyRows
from segments.dataplane.primary_keys.order_of_values import ranks
from segments.dataplane.primary_keys.runs import Flags, by_key, running_max, starts_of
from segments.dataplane.primary_keys.time_limits import lowered
from segments.dataplane.primary_keys.valid_rows import PartitionKeys
from segments.dataplane.primary_keys.wide_values import joined
from segments.domain.tables.keyed_tables import KeyRules
from segments.segmentfile.columns.transform import Mask


@dataclass(frozen=True)
class Arrivals:
    """Rows in stored columns, null masks of the columns that have nulls, and the rows' keys."""

    rows: pa.Table
    masks: Mapping[str, Mask]
    keys: KeyRows

    def take(self, kept: Flags) -> Arrivals:
        """Those of the rows."""
        if kept.all():
            return self
        masks = {name: mask[kept] for name, mask in self.masks.items()}
        return Arrivals(self.rows.filter(pa.array(kept)), masks, self.keys.take(kept))


def are_late(partition: PartitionKeys, rows: KeyRows) -> Flags:
    """Which rows come after one of their key with a greater value."""
    if not len(rows):
        return np.zeros(0, np.bool_)
    places = partition.table.find(rows.keys)
    values, wholes = partition.values_at(places)
    both = joined([(len(rows), rows.wholes), (len(rows), wholes)])
    ranked = ranks(np.concatenate([rows.values, values]), both)
    own, held = ranked[: len(rows)], np.where(places == NOWHERE, -1, ranked[len(rows) :])
    order, groups = by_key(rows.keys)
    best = running_max(np.maximum(own, held)[order], groups)
    before = np.where(starts_of(groups), held[order], np.concatenate([[-1], best[:-1]]))
    late = np.zeros(len(rows), np.bool_)
    late[order] = own[order] < before
    return late


def with_late_rows_seen(arrivals: Arrivals, late: Flags, rules: KeyRules) -> Arrivals:
    """Late rows dropped, or marked in their column, as the table wants it."""
    if rules.drops_out_of_order:
        return arrivals.take(~late)
    if rules.out_of_order_column is None:
        return arrivals
    at = arrivals.rows.schema.get_field_index(rules.out_of_order_column)
    marked = arrivals.rows.set_column(at, arrivals.rows.schema.field(at), pa.array(late.astype(np.int32)))
    masks = {name: mask for name, mask in arrivals.masks.items() if name != rules.out_of_order_column}
    return Arrivals(marked, masks, arrivals.keys)


def are_first(partition: PartitionKeys, rows: KeyRows, rules: KeyRules) -> Flags:
    """Which rows are the first of their key; with a TTL a row that is older than that is as if it had not been."""
    kept = np.zeros(len(rows), np.bool_)
    if not len(rows):
        return kept
    places = partition.table.find(rows.keys)
    order, groups = by_key(rows.keys)
    starts = np.flatnonzero(starts_of(groups))
    if rules.ttl <= 0:
        kept[order[starts]] = True
        kept &= places == NOWHERE
        return kept
    newest = np.maximum.accumulate(np.concatenate([[partition.largest], rows.values]))[1:]
    partition.largest = int(newest[-1])
    floor = lowered(newest, rules.ttl, is_real=partition.is_real)
    known = places[order[starts]]
    has, value = known != NOWHERE, partition.table.values[known]
    sizes = np.diff(np.append(starts, len(rows)))
    for turn in range(int(sizes.max())):  # the n-th row of every key at once
        of = np.flatnonzero(sizes > turn)
        row = order[starts[of] + turn]
        is_known = has[of] & (value[of] >= floor[row])
        kept[row] = ~is_known
        value[of], has[of] = np.where(is_known, value[of], rows.values[row]), True
    return kept
