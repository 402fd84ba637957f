"""An open-addressing table from 128-bit keys to the row that counts, worked on in whole batches.

32 bytes a place, and a third to two thirds of the places are taken: at most 100 bytes a key.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from segments.dataplane.primary_keys.key_hashes import Hashes

Ints = NDArray[np.int64]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: In ``holders``: nothing was ever here; there was something that is gone.
_EMPTY: Final = -1
_GONE: Final = -2
_FIRST: Final = 1 << 10
_FULL: Final = 0.66
NOWHERE: Final = -1


class KeyTable:
    """``holders`` and ``docs`` say where a key's row is, ``values`` its comparison value; by place, as ``find`` and
    ``put`` give them. A place is good until the next ``put``. ``width``: values of a key; each more takes 8 bytes a
    place.
    """

    def __init__(self, width: int = 1) -> None:
        self._width = width
        self._make(_FIRST)
        self.keys = 0
        self._gone = 0

    def _make(self, size: int) -> None:
        self._high, self._low = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
        self.values = np.zeros(size if self._width == 1 else (size, self._width), np.int64)
        self.holders = np.full(size, _EMPTY, np.int32)
        self.docs = np.zeros(size, np.int32)

    @property
    def nbytes(self) -> int:
        """Memory of the table."""
        return sum(a.nbytes for a in (self._high, self._low, self.values, self.holders, self.docs))

    def find(self, keys: Hashes) -> Places:
        """The place of each key, NOWHERE for one that is not there."""
        found = np.full(len(keys), NOWHERE, np.int64)
        mask = len(self.holders) - 1
        left = np.arange(len(keys))
        at = (keys.low & np.uint64(mask)).astype(np.int64)
        while len(left):
            held = self.holders[at]
            is_same = (held >= 0) & (self._low[at] == keys.low[left]) & (self._high[at] == keys.high[left])
            found[left[is_same]] = at[is_same]
            goes_on = ~is_same & (held != _EMPTY)
            left, at = left[goes_on], (at[goes_on] + 1) & mask
        return found

    def put(self, keys: Hashes) -> Places:
        """Make a place for each of these keys, none of which is there, no two alike; the caller fills it."""
        self._make_room(len(keys))
        return self._claim(keys)

    def drop(self, places: Places) -> None:
        """Forget the keys at these places."""
        self.holders[places] = _GONE
        self.keys -= len(places)
        self._gone += len(places)

    def held_by(self, holder: int, first_doc: int = 0) -> Places:
        """The places of the keys whose row is in this holder, from a doc on."""
        return np.flatnonzero((self.holders == holder) & (self.docs >= first_doc))

    def below(self, value: int) -> Places:
        """The places of the keys with a smaller comparison value."""
        return np.flatnonzero((self.holders >= 0) & (self.values < value))

    def keys_at(self, places: Places) -> Hashes:
        """The keys at these places."""
        return Hashes(self._high[places], self._low[places])

    def shrink(self) -> None:
        """Give back the memory of what is gone."""
        if self._gone > self.keys:
            self._resize(0)

    def _make_room(self, more: int) -> None:
        if self.keys + self._gone + more > _FULL * len(self.holders):
            self._resize(more)

    def _resize(self, more: int) -> None:
        size = _FIRST
        while self.keys + more > _FULL * size:
            size *= 2
        kept = np.flatnonzero(self.holders >= 0)
        keys = self.keys_at(kept)
        values, holders, docs = self.values[kept], self.holders[kept], self.docs[kept]
        self._make(size)
        self.keys = self._gone = 0
        at = self._claim(keys)
        self.values[at], self.holders[at], self.docs[at] = values, holders, docs

    def _claim(self, keys: Hashes) -> Places:
        """Places for new keys. Where several want one, the one that wrote last has it, and the others go on."""
        mask = len(self.holders) - 1
        places = np.full(len(keys), NOWHERE, np.int64)
        left = np.arange(len(keys))
        at = (keys.low & np.uint64(mask)).astype(np.int64)
        while len(left):
            held = self.holders[at]
            mine, spot = left[held < 0], at[held < 0]
            self.docs[spot] = mine
            won = self.docs[spot] == mine
            winners, spots = mine[won], spot[won]
            self._gone -= int((self.holders[spots] == _GONE).sum())
            places[winners] = spots
            self.holders[spots] = 0
            self._high[spots], self._low[spots] = keys.high[winners], keys.low[winners]
            is_left = places[left] == NOWHERE
            left, at = left[is_left], (at[is_left] + 1) & mask
        self.keys += len(keys)
        return places
