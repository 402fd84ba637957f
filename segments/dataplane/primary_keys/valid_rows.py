"""Which row of each primary key counts, and in which segment: the keys of one partition of a table on this server.

The row that counts is the one with the greatest comparison value, of equal ones the latest in the stream; of dedup
tables the first. That is a function of the rows that are here: segments may be loaded, replaced and removed in any
order. Nothing here locks; the table's lock is held by whoever calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segments.dataplane.primary_keys.holder import Holder, Mask, ReadColumns
from segments.dataplane.primary_keys.key_hash_table import NOWHERE, KeyTable, Places
from segments.dataplane.primary_keys.key_hashes import Hashes
from segments.dataplane.primary_keys.key_rows import KeyReader, KeyRows, first_of_each, last_of_each
from segments.dataplane.primary_keys.order_of_values import are_equal, are_greater
from segments.dataplane.primary_keys.time_limits import lowered
from segments.dataplane.primary_keys.wide_values import WORDS, Wholes, joined, may_be_longer, whole
from segments.dataplane.query.arrow.row_mask import RowMask


class PartitionKeys:
    """``segments`` are the segments whose rows count, by name; ``dropped`` those that only queries planned before
    their removal still read. ``largest``: the greatest comparison value that ever came. ``first_counts``: of each key
    the first row; nothing is compared.
    """

    def __init__(self, reader: KeyReader, *, first_counts: bool = False) -> None:
        self._reader, self._first_counts = reader, first_counts
        self._of_each = first_of_each if first_counts else last_of_each
        self.is_real = reader.is_real
        self._has_longer = False
        self.largest = -(2**63)
        self._forgotten_below: int | None = None
        self.table = KeyTable(reader.width)
        self.segments: dict[str, Holder] = {}
        self.dropped: dict[str, Holder] = {}
        self._by_number: dict[int, Holder] = {}
        self._orders = np.zeros(64, np.int64)
        self._next = 0

    @property
    def nbytes(self) -> int:
        """Memory of keys and masks."""
        return self.table.nbytes + sum(h.nbytes for h in self._by_number.values())

    def begin(self, name: str, order: int, read: ReadColumns) -> Holder:
        """A segment without rows yet; what had its name is removed."""
        self.remove(name)
        self.dropped.pop(name, None)
        self.segments[name] = holder = self._new(name, order, read)
        return holder

    def append(self, holder: Holder, rows: KeyRows) -> None:
        """The segment's next rows."""
        docs = np.arange(holder.rows, holder.rows + len(rows))
        holder.grow(holder.rows + len(rows))
        self._take(holder, rows, docs)

    def replace(self, name: str, order: int, read: ReadColumns, rows: KeyRows) -> Holder:
        """All rows of a segment, in place of those that had its name."""
        before = self.segments.get(name)
        let_go = self._let_go(before, 0) if before is not None else None
        self.dropped.pop(name, None)
        self.segments[name] = holder = self._new(name, order, read)
        self.append(holder, rows)
        if before is not None and let_go is not None:
            self._forget(before)
            lost, values = let_go
            places = self.table.find(lost)
            now = self.table.values[places]  # where words do not decide, all rows of the key are compared
            may_win = ~are_greater(now, values) if self._has_longer else are_greater(values, now)
            self._revive(lost.take((places == NOWHERE) | may_win))
        if self._forgotten_below is not None:  # which of those rows is the latest is not known any more
            self._revive(rows.keys.take(rows.values < self._forgotten_below))
        return holder

    def forget_old(self, ttl: float, deleted_ttl: float) -> None:
        """Keys whose values are so much below the largest are not kept any more, nor, with ``deleted_ttl``, deleted
        ones. Their rows stay as they are.
        """
        if ttl <= 0 and deleted_ttl <= 0:
            return
        largest = np.array([self.largest])
        floors = [int(lowered(largest, by, is_real=self.is_real)[0]) for by in (ttl, deleted_ttl)]
        if ttl > 0:
            self.table.drop(self.table.below(floors[0]))
        if deleted_ttl > 0:
            old = self.table.below(floors[1])
            self.table.drop(old[~self.are_visible(old)])
        self._forgotten_below = max(floor for floor, by in zip(floors, (ttl, deleted_ttl), strict=True) if by > 0)
        self.table.shrink()

    def seal(self, name: str, read: ReadColumns) -> None:
        """The very same rows are read from somewhere else from now on."""
        self.segments[name].read = read

    def cut(self, name: str, rows: int) -> None:
        """Only the segment's first rows count."""
        holder = self.segments[name]
        if rows < holder.rows:
            lost, _ = self._let_go(holder, rows)
            holder.cut(rows)
            self._revive(lost)

    def remove(self, name: str, *, is_still_read: bool = False) -> None:
        """The segment's rows count no more: older rows of their keys do. ``is_still_read``: by queries under way."""
        holder = self.segments.pop(name, None)
        if holder is None:
            return
        lost, _ = self._let_go(holder, 0)
        self._forget(holder)
        if is_still_read:
            self.dropped[name] = holder
        self._revive(lost)
        self.table.shrink()

    def masks(self, names: Mapping[str, int]) -> dict[str, RowMask | None]:
        """{segment: which of its first rows queries see, None: all}, of the ``names`` that are known, each with the
        number of its rows. With those that were dropped it is as if they were still here.
        """
        known = {name: self.segments[name] for name in names if name in self.segments}
        dropped = [self.dropped[name] for name in names if name in self.dropped]
        if not dropped:
            return {
                n: None if h.is_whole and h.rows >= names[n] else h.mask().first(names[n]) for n, h in known.items()
            }
        found = {name: holder.mask().first(names[name]).flags for name, holder in known.items()}
        self._overlay(found, dropped)
        return {name: RowMask(flags) for name, flags in found.items()}

    def are_visible(self, places: Places) -> Mask:
        """Do queries see the rows at these places? The last rows of deleted keys they do not."""
        held, docs = self.table.holders[places], self.table.docs[places]
        found = np.zeros(len(places), np.bool_)
        for number in np.unique(held):
            found[held == number] = self._by_number[int(number)].is_visible(docs[held == number])
        return found

    def holder_at(self, number: int) -> Holder:
        """The segment with this number."""
        return self._by_number[number]

    def values_at(self, places: Places) -> tuple[NDArray[np.int64], Wholes | None]:
        """Comparison values at places, NOWHERE among them, and whole ones where they are longer."""
        values = self.table.values[places]
        if not self._has_longer:
            return values, None
        wholes = np.full(len(places), None, object)
        unsure = np.flatnonzero((places != NOWHERE) & may_be_longer(values))
        wholes[unsure] = self._wholes_at(places[unsure])
        wholes[[at for at in unsure if len(wholes[at]) <= 8 * WORDS]] = None
        return values, wholes

    def _new(self, name: str, order: int, read: ReadColumns) -> Holder:
        holder = Holder(self._next, name, order, read)
        self._next += 1
        if holder.number >= len(self._orders):
            self._orders = np.concatenate([self._orders, np.zeros_like(self._orders)])
        self._orders[holder.number] = order
        self._by_number[holder.number] = holder
        return holder

    def _forget(self, holder: Holder) -> None:
        self._by_number.pop(holder.number, None)

    def _take(self, holder: Holder, rows: KeyRows, docs: NDArray[np.int64]) -> None:
        """Rows of a segment: those that count for their keys take over."""
        if not len(rows):
            return
        if rows.values.ndim == 1:
            self.largest = max(self.largest, int(rows.values.max()))
        self._has_longer |= rows.wholes is not None
        own = self._of_each(rows)
        rows, docs = rows.take(own), docs[own]
        places = self.table.find(rows.keys)
        is_new = places == NOWHERE
        wins = np.flatnonzero(~is_new)
        wins = wins[self._is_better(holder, docs[wins], rows.take(wins), places[wins])]
        self._hide(places[wins])
        self._put(holder, places[wins], rows.values[wins], docs[wins])
        fresh = np.flatnonzero(is_new)
        self._put(holder, self.table.put(rows.keys.take(fresh)), rows.values[fresh], docs[fresh])
        shown = np.concatenate([wins, fresh])
        holder.show(docs[shown], ~rows.deletes[shown])

    def _is_better(self, holder: Holder, docs: Any, rows: KeyRows, places: Places) -> Mask:
        """Does each row count more than the one at its key's place?"""
        table, held = self.table, self.table.holders[places]
        is_same = held == holder.number
        order = self._orders[held]
        is_behind = np.where(
            is_same,
            docs >= table.docs[places],
            (order < holder.order) | ((order == holder.order) & (held <= holder.number)),
        )
        if self._first_counts:
            is_ahead: Mask = ~is_behind
            return is_ahead
        greater, same = self._compared(rows, places)
        found: Mask = greater | (same & is_behind)
        return found

    def _compared(self, rows: KeyRows, places: Places) -> tuple[Mask, Mask]:
        """(is each row's value greater than the one at its key's place?, is it the same?)."""
        before = self.table.values[places]
        greater, same = are_greater(rows.values, before), are_equal(rows.values, before)
        if self._has_longer and len(unsure := np.flatnonzero(same & may_be_longer(before))):
            own = whole(rows.values[unsure], None if rows.wholes is None else rows.wholes[unsure])
            held = self._wholes_at(places[unsure])
            greater[unsure], same[unsure] = np.greater(own, held), np.equal(own, held)
        return greater, same

    def _wholes_at(self, places: Places) -> Wholes:
        """Wide values at these places, read from the rows that have them."""
        held, docs = self.table.holders[places], self.table.docs[places]
        found = np.empty(len(places), object)
        for number in np.unique(held):
            at = np.flatnonzero(held == number)
            rows = self._by_number[int(number)].read(self._reader.columns).take(docs[at])
            found[at] = self._reader.encoded(rows, len(at))
        return found

    def _put(self, holder: Holder, places: Places, values: Any, docs: Any) -> None:
        self.table.values[places], self.table.docs[places] = values, docs
        self.table.holders[places] = holder.number

    def _hide(self, places: Places) -> None:
        held, docs = self.table.holders[places], self.table.docs[places]
        for number in np.unique(held):
            self._by_number[int(number)].hide(docs[held == number])

    def _let_go(self, holder: Holder, first_doc: int) -> tuple[Hashes, NDArray[np.int64]]:
        """Drop the keys whose row is in this segment, from a row on; returns them with their comparison values."""
        places = self.table.held_by(holder.number, first_doc)
        lost, values = self.table.keys_at(places), self.table.values[places]
        self.table.drop(places)
        return lost, values

    def _revive(self, keys: Hashes) -> None:
        """Find the rows that count now of keys whose row has gone."""
        if not len(keys):
            return
        lost = np.sort(keys.low)
        for holder in list(self.segments.values()):
            docs = self._candidates(holder)
            if len(docs):
                rows = self._read(holder, docs)
                at = np.minimum(np.searchsorted(lost, rows.keys.low), len(lost) - 1)
                same = np.flatnonzero(lost[at] == rows.keys.low)
                self._take(holder, rows.take(same), docs[same])

    def _candidates(self, holder: Holder) -> NDArray[np.int64]:
        """The rows of a segment that may be those of a key that is not in the table: the hidden ones, since the key of
        a visible row is there, at this row. Only where keys were forgotten it may not be.
        """
        if self._forgotten_below is not None:
            return np.arange(holder.rows)
        return holder.hidden()

    def _read(self, holder: Holder, docs: NDArray[np.int64] | None = None) -> KeyRows:
        columns = holder.read(self._reader.columns).slice(0, holder.rows)
        if docs is None or len(docs) == holder.rows:
            return self._reader.read(columns, holder.rows)
        return self._reader.read(columns.take(docs), len(docs))

    def _overlay(self, masks: dict[str, Mask], dropped: list[Holder]) -> None:
        """Change ``masks`` to what they would be if the dropped segments were still here."""
        for holder in sorted(dropped, key=lambda h: (h.order, h.number)):
            masks[holder.name] = np.zeros(holder.rows, np.bool_)
        read = [self._read(h) for h in dropped]
        best = BestOf(dropped, read, self._of_each)
        places = self.table.find(best.rows.keys)
        is_known = np.flatnonzero(places != NOWHERE)
        is_better = np.ones(len(best.rows), np.bool_)
        for at, holder in enumerate(dropped):
            mine = is_known[best.holders[is_known] == at]
            is_better[mine] = self._is_better(holder, best.docs[mine], best.rows.take(mine), places[mine])
        beaten = places[is_better & (places != NOWHERE)]
        held, docs = self.table.holders[beaten], self.table.docs[beaten]
        for number in np.unique(held):
            name = self._by_number[int(number)].name
            if name in masks:
                mask = masks[name].copy()
                hidden = docs[held == number]
                mask[hidden[hidden < len(mask)]] = False
                masks[name] = mask
        for at, holder in enumerate(dropped):
            mine = np.flatnonzero(is_better & (best.holders == at))
            masks[holder.name][best.docs[mine]] = ~best.rows.deletes[mine]


class BestOf:
    """Of the rows of several segments the one of each key that counts: ``holders`` are positions in the list."""

    def __init__(
        self, holders: list[Holder], read: list[KeyRows], of_each: Callable[[KeyRows], NDArray[np.int64]]
    ) -> None:
        in_order = sorted(range(len(holders)), key=lambda i: (holders[i].order, holders[i].number))
        rows = KeyRows(
            Hashes(*(np.concatenate([getattr(read[i].keys, half) for i in in_order]) for half in ("high", "low"))),
            np.concatenate([read[i].values for i in in_order]),
            np.concatenate([read[i].deletes for i in in_order]),
            joined([(len(read[i]), read[i].wholes) for i in in_order]),
        )
        own = of_each(rows)
        self.rows = rows.take(own)
        self.holders = np.repeat(in_order, [len(read[i]) for i in in_order])[own]
        self.docs = np.concatenate([np.arange(len(read[i])) for i in in_order])[own]
