"""The primary keys of one table on this server: a lock, and keys by partition.

Rows and keys change together under the lock, and a query takes rows and masks under it: so no query sees a key twice,
or misses one, while a row moves from one segment to another.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from segments.dataplane import stopping
from segments.dataplane.primary_keys.holder import Holder
from segments.dataplane.primary_keys.key_rows import KeyReader, KeyRows, first_of_each, last_of_each
from segments.dataplane.primary_keys.valid_rows import BestOf, PartitionKeys
from segments.dataplane.query.arrow.row_mask import RowMask
from segments.domain.formats.plural import counted
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.domain.tables.keyed_tables import KeyRules
from segments.domain.tables.schema import Schema
from segments.errors import InvalidInput
from segments.segmentfile.columns.transform import Mask

#: Rows whose keys are compared for one query of a snapshot: some 50 bytes and a microsecond each.
MOST_ROWS_ALONE: Final = 5_000_000
#: Of these queries one at a time.
_ALONE: Final = threading.Lock()


class Rows(Protocol):
    """A segment, or what it had at one moment."""

    @property
    def name(self) -> str: ...

    @property
    def num_docs(self) -> int: ...

    def table_of(self, columns: Sequence[str]) -> pa.Table:
        """Those of the columns that it has."""


class TableKeys:
    """``lock`` is held by whoever calls anything but ``read``, ``keys_of``, ``keys_to_seal``, ``has`` and ``counts``;
    it is taken before the one of the server's slots.
    """

    def __init__(self, rules: KeyRules, schema: Schema) -> None:
        self.rules, self.schema = rules, schema
        self.lock = threading.RLock()
        self._reader = KeyReader(rules, schema)
        self._partitions: dict[int, PartitionKeys] = defaultdict(
            lambda: PartitionKeys(self._reader, first_counts=rules.first_counts)
        )

    def read(self, rows: pa.Table, masks: Mapping[str, Mask]) -> KeyRows:
        """The keys of rows, with null masks of their columns: the part of the work that needs no lock."""
        return self._reader.read(rows, rows.num_rows, masks)

    def keys_of(self, rows: Rows) -> KeyRows:
        """The keys of a whole segment, also without the lock."""
        return self._reader.read(rows.table_of(self._reader.columns), rows.num_docs)

    def partition(self, segment: str) -> PartitionKeys:
        """The keys of the segment's partition."""
        return self._partitions[_place(segment)[0]]

    def begin(self, name: str, read: Rows) -> Holder:
        """A segment that will grow."""
        return self.partition(name).begin(name, _place(name)[1], read.table_of)

    def put(self, rows: Rows, keys: KeyRows) -> None:
        """A segment as it is now, in place of what had its name. One that came from no stream counts row by row."""
        partition, sequence = _place(rows.name)
        if partition >= 0:
            self._partitions[partition].replace(rows.name, sequence, rows.table_of, keys)

    def keys_to_seal(self, rows: Rows) -> KeyRows | None:
        """What ``seal`` needs of this file, read before the lock is held; None when that is nothing."""
        with self.lock:
            is_same = self._has_rows_of(rows)
        return None if is_same else self.keys_of(rows)

    def seal(self, rows: Rows, keys: KeyRows | None = None) -> None:
        """The very rows that were consumed are in this file now; others are taken as any new segment."""
        if self._has_rows_of(rows):
            self.partition(rows.name).seal(rows.name, rows.table_of)
        else:
            self.put(rows, self.keys_of(rows) if keys is None else keys)

    def _has_rows_of(self, rows: Rows) -> bool:
        known = self.partition(rows.name).segments.get(rows.name)
        return known is not None and known.rows == rows.num_docs

    def has(self, rows: Rows) -> bool:
        """Are the keys of this very segment known? Takes the lock itself."""
        with self.lock:
            known = self.partition(rows.name).segments.get(rows.name)
            return known is not None and known.read == rows.table_of

    def keep(self, wanted: Set[str], answering: Set[str]) -> None:
        """Forget segments that are not both ``wanted`` and ``answering``; queries that were planned before still read
        those that are answering. A partition that left as a whole keeps its keys for them until its last segment goes.
        """
        live, held = wanted & answering, {_place(name)[0] for name in wanted}
        for number, keys in list(self._partitions.items()):
            if number not in held:
                if answering.isdisjoint({*keys.segments, *keys.dropped}):
                    del self._partitions[number]
                continue
            for name in [n for n in keys.segments if n not in live]:
                keys.remove(name, is_still_read=name in answering)
            for name in [n for n in keys.dropped if n not in answering]:
                del keys.dropped[name]

    def behind(self, name: str) -> list[str]:
        """The segments that are later in the partition than this one."""
        partition, sequence = _place(name)
        if partition < 0:
            return []
        known = self._partitions[partition].segments.values()
        return [h.name for h in sorted(known, key=lambda h: h.order) if h.order > sequence]

    def masks(self, found: Sequence[Rows]) -> Mapping[str, RowMask | None]:
        """{segment: which of its rows queries see, None: all}; what is not in it has no keys."""
        if not self.rules.masks_rows:
            return {}
        by_partition: dict[int, dict[str, int]] = defaultdict(dict)
        for rows in found:
            by_partition[_place(rows.name)[0]][rows.name] = rows.num_docs
        masks: dict[str, RowMask | None] = {}
        for partition, names in by_partition.items():
            masks.update(self._partitions[partition].masks(names))
        return masks

    def masks_alone(self, found: Sequence[Rows]) -> Mapping[str, RowMask | None]:
        """The same as if these segments were all there is: how a snapshot is read whose rows later ones hide. Needs no
        lock. A key that a TTL forgot counts like any other.

        InvalidInput for more than ``MOST_ROWS_ALONE`` rows, QueryRejected once the query is stopped.
        """
        if not self.rules.masks_rows:
            return {}
        by_partition: dict[int, list[Rows]] = defaultdict(list)
        for rows in found:
            by_partition[_place(rows.name)[0]].append(rows)
        by_partition.pop(-1, None)
        count = sum(rows.num_docs for one in by_partition.values() for rows in one)
        if count > MOST_ROWS_ALONE:
            raise InvalidInput(
                f"The snapshot has {counted(count, 'row')} on one server, whose primary keys would all be compared for "
                f"the query: at most {MOST_ROWS_ALONE:,} are.",
                remedy="Go back to the snapshot to query it.",
            )
        masks: dict[str, RowMask | None] = {}
        with _ALONE:
            for one in by_partition.values():
                stopping.current().check()
                masks |= self._best_alone(one)
        return masks

    def _best_alone(self, found: Sequence[Rows]) -> dict[str, RowMask | None]:
        """Of one partition."""
        holders = [Holder(at, rows.name, _place(rows.name)[1], rows.table_of) for at, rows in enumerate(found)]
        of_each = first_of_each if self.rules.first_counts else last_of_each
        best = BestOf(holders, [self.keys_of(rows) for rows in found], of_each)
        flags = [np.zeros(rows.num_docs, np.bool_) for rows in found]
        for at, mine in enumerate(flags):
            docs = best.holders == at
            mine[best.docs[docs]] = ~best.rows.deletes[docs]
        return {rows.name: RowMask(mine) for rows, mine in zip(found, flags, strict=True)}

    def counts(self) -> dict[int, int]:
        """{partition: its primary keys}, of partitions that have or had some. Takes the lock itself."""
        with self.lock:
            return {number: keys.table.keys for number, keys in self._partitions.items() if number >= 0}

    @property
    def keys(self) -> int:
        """Primary keys of all partitions."""
        return sum(p.table.keys for p in self._partitions.values())

    @property
    def nbytes(self) -> int:
        """Memory of keys and masks."""
        return sum(p.nbytes for p in self._partitions.values())


def locked(keys: TableKeys | None) -> AbstractContextManager[object]:
    """The lock of a table that has keys; of another one nothing."""
    return nullcontext() if keys is None else keys.lock


@lru_cache(1 << 16)
def _place(segment: str) -> tuple[int, int]:
    """Partition and sequence; -1 for what came from no stream."""
    if not is_llc_name(segment):
        return -1, 0
    name = parse_llc_name(segment)
    return name.partition, name.sequence
