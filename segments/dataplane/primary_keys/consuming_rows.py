"""Rows of a consuming segment on their way in: buffer and keys change together."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from segments.dataplane.primary_keys.arrivals import Arrivals, are_first, are_late, with_late_rows_seen
from segments.dataplane.primary_keys.partial_rows import completed
from segments.dataplane.primary_keys.table_keys import TableKeys
from segments.dataplane.primary_keys.versions import with_values_before
from segments.dataplane.realtime.mutable_segment import MutableSegment
from segments.segmentfile.columns.transform import Mask


class _Buffer:
    """The segment as it is at the moment at which it is read."""

    def __init__(self, name: str, segment: MutableSegment) -> None:
        self.name, self._segment = name, segment

    @property
    def num_docs(self) -> int:
        return self._segment.rows

    def table_of(self, columns: object) -> pa.Table:
        return self._segment.snapshot().table_of(columns)  # type: ignore[arg-type]


class KeyedRows:
    """Of one segment, on the thread that reads its partition. ``dropped``: rows that came late or repeated a key."""

    def __init__(self, keys: TableKeys, name: str, segment: MutableSegment) -> None:
        self._keys, self._name, self._segment = keys, name, segment
        self.dropped = 0
        with keys.lock:
            keys.partition(name).forget_old(keys.rules.ttl, keys.rules.deleted_ttl)
            self._holder = keys.begin(name, _Buffer(name, segment))

    def append(self, rows: pa.Table, masks: Mapping[str, Mask]) -> None:
        """Rows in stored columns, as a decoder makes them: visible at once, and rows that they replace are not."""
        arrivals = Arrivals(rows, masks, self._keys.read(rows, masks))
        with self._keys.lock:
            taken = self._admitted(arrivals)
            self.dropped += rows.num_rows - taken.rows.num_rows
            self._segment.append(taken.rows, taken.masks)
            if self._is_known:
                self._keys.partition(self._name).append(self._holder, taken.keys)

    def _admitted(self, arrivals: Arrivals) -> Arrivals:
        rules, partition = self._keys.rules, self._keys.partition(self._name)
        if not rules.depends_on_rows:
            return arrivals
        if rules.mode == "DEDUP":
            return arrivals.take(are_first(partition, arrivals.keys, rules))
        if rules.compares_several:
            arrivals, late = with_values_before(partition, arrivals, rules.compared)
        else:
            late = are_late(partition, arrivals.keys)
        if rules.mode == "PARTIAL":
            arrivals = completed(arrivals, late, partition, rules, self._segment.schema)
        return with_late_rows_seen(arrivals, late, rules)

    def cut(self, rows: int | None) -> None:
        """Only the first rows are the segment's; None: nobody knows which."""
        with self._keys.lock:
            if self._is_known and rows is not None:
                self._keys.partition(self._name).cut(self._name, rows)
            elif self._is_known:
                self._keys.partition(self._name).remove(self._name)

    @property
    def _is_known(self) -> bool:
        """False once another copy of the segment stands in its place."""
        return self._keys.partition(self._name).segments.get(self._name) is self._holder
