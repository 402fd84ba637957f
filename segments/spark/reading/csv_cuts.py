"""Where a CSV file may be cut: at the beginning of a record, although quoted values may hold line ends.

Windows of the file are examined on their own, for both cases: it begins inside of quotes, or not. Put together in
order they say which case each was. A file whose quotes stand elsewhere than around values is not cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from segments.domain.push.reader_spec import ReaderSpec
from segments.spark.reading.text import Text

#: Bytes that are examined at once: what is found in them stays in the cache of a core.
_CHUNK: Final = 1 << 20
#: Bytes in which the first line end is searched for before all of a chunk is.
_NEAR: Final = 1 << 14
_LINE, _RETURN = 10, 13


@dataclass(frozen=True)
class Window:
    """What a window of bytes shows in either case: [not quoted where it begins, quoted].

    ``first``: the offset of the first record that begins in it (None: none does); ``is_possible``: all quotes stand
    around values in this case; ``flips``: the quotes are of an odd number.
    """

    first: tuple[int | None, int | None]
    is_possible: tuple[bool, bool]
    flips: bool


def scan_window(text: Text, reader: ReaderSpec, start: int, stop: int) -> Window:
    """Examine the bytes from ``start`` to ``stop``."""
    marks = _Marks(reader)
    count, at = 0, start
    possible, first = [True, True], list[int | None]([None, None])
    before = next(text.chunks(start - 1, start), b"") if start else b"\n"
    for chunk in text.chunks(start, stop, _CHUNK):
        data = np.frombuffer(chunk, np.uint8)
        quotes = marks.quotes(data)
        for case in (0, 1):
            if not possible[case]:
                continue  # the file does not begin so here, or it is cut by rows: nothing else of it counts
            opening = quotes[(count + case) % 2 :: 2]
            possible[case] = marks.can_open(data, opening, before[-1] if before else _LINE)
            if first[case] is None:
                place = _first_record(data, quotes, count + case)
                first[case] = None if place is None else at + place
        count += len(quotes)
        at += len(chunk)
        before = chunk[-1:]
    return Window((first[0], first[1]), (possible[0], possible[1]), bool(count % 2))


def record_starts(windows: Sequence[Window]) -> list[int] | None:
    """Offsets at which records begin, about one in every window but the first; None when no cut is sure."""
    case, found = 0, list[int]()
    for number, window in enumerate(windows):
        if not window.is_possible[case]:
            return None
        place = window.first[case]
        if number and place is not None and place > (found[-1] if found else 0):
            found.append(place)
        case ^= window.flips
    return found


def _first_record(data: NDArray[np.uint8], quotes: NDArray[np.int64], flips: int) -> int | None:
    """The place after the first line end outside of quotes; ``flips``: quotes before, odd when it begins inside."""
    for size in (_NEAR, len(data)):
        ends = np.flatnonzero(data[:size] == _LINE)
        outside = ends[(np.searchsorted(quotes, ends) + flips) % 2 == 0]
        if len(outside):
            return int(outside[0]) + 1
    return None


class _Marks:
    """The bytes of a reader's delimiter and quote."""

    def __init__(self, reader: ReaderSpec) -> None:
        self._quote = ord(reader.quote) if reader.quote else None
        opens_after = [ord(reader.delimiter), _LINE, _RETURN]
        self._opens_after = np.zeros(256, np.bool_)
        self._opens_after[opens_after if self._quote is None else [*opens_after, self._quote]] = True

    def quotes(self, data: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Where quotes stand."""
        return np.flatnonzero(data == self._quote) if self._quote is not None else np.zeros(0, np.int64)

    def can_open(self, data: NDArray[np.uint8], opening: NDArray[np.int64], before: int) -> bool:
        """Do all of these quotes stand where a value begins, or after another quote?"""
        if not len(opening):
            return True
        previous = data[opening - 1]
        if opening[0] == 0:
            previous[0] = before
        return bool(self._opens_after[previous].all())
