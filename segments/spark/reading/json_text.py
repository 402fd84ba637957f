"""Cuts JSON text into lines of one value each, whatever its form: lines, one array, or values over several lines.

Works on bytes by NumPy, chunk by chunk: what is inside of quotes or brackets is known from what came before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from segments.spark.reading.locate import json_object

_QUOTE, _ESCAPE, _COMMA, _LINE, _SPACE = (ord(c) for c in '"\\,\n ')
_OPEN, _CLOSE = (ord("{"), ord("[")), (ord("}"), ord("]"))
#: Lines that show the form of a file.
_SHOWN: Final = 20
_BLANK: Final = b" \t\r\n"
#: Bytes of lines that are parsed at once.
BLOCK: Final = 8 << 20


def has_object_lines(head: bytes) -> bool:
    """Is it the usual form, one object per line, as far as the first lines show? Some of them may be damaged."""
    first = head.lstrip(_BLANK)
    if not first.startswith(b"{"):
        return not first.startswith(b"[")
    return any(line.startswith(b"{") and json_object(line) is not None for line in first.split(b"\n", _SHOWN)[:_SHOWN])


def whole_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same text in chunks that end where a line ends."""
    left: list[bytes] = []
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join((*left, chunk[:end]))
            left = []
        left.append(chunk[end:])
    if any(left):
        yield b"".join(left)


class ValueLines:
    """Turns an array of values, or values one after the other, into one line per value.

    ``began`` has the line on which each object or list began, with ``keeps_lines``.
    """

    def __init__(self, *, keeps_lines: bool = False) -> None:
        self._keeps_lines = keeps_lines
        self._in_text = False
        self._is_escaped = False
        self._depth = 0
        self._floor: int | None = None
        self._line = 1
        self.began: list[int] = []

    @property
    def is_complete(self) -> bool:
        """Did the text end outside of brackets and quotes?"""
        return self._depth <= 0 and not self._in_text

    def lines(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Chunks of whole lines, one value each; what is left of a value that does not end is the last line."""
        return whole_lines(self._converted(chunk) for chunk in chunks if chunk)

    def _converted(self, chunk: bytes) -> bytes:
        data = np.frombuffer(chunk, np.uint8)
        if self._floor is None:
            first = chunk.lstrip(_BLANK)
            if not first:
                return chunk
            self._floor = 1 if first.startswith(b"[") else 0
        in_text = self._texts(data)
        opens = np.isin(data, _OPEN) & ~in_text
        closes = np.isin(data, _CLOSE) & ~in_text
        depth = self._depth + np.cumsum(opens.astype(np.int32) - closes)
        line_ends = data == _LINE
        out = data.copy()
        out[line_ends & ~in_text] = _SPACE
        self._note_lines(opens & (depth == self._floor + 1), line_ends)
        is_end = closes & (depth == self._floor)
        if self._floor:
            out[opens & (depth <= self._floor)] = _SPACE
            out[closes & (depth < self._floor)] = _SPACE
            out[(data == _COMMA) & ~in_text & (depth == self._floor)] = _LINE
        self._depth = int(depth[-1])
        return out.tobytes() if self._floor else np.insert(out, np.flatnonzero(is_end) + 1, _LINE).tobytes()

    def _texts(self, data: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which bytes are inside of quotes, the opening quote included."""
        quotes = data == _QUOTE
        backslashes = np.flatnonzero(data == _ESCAPE)
        if len(backslashes) or self._is_escaped:
            quotes[self._escaped(backslashes, len(data))] = False
        flips = np.cumsum(quotes, dtype=np.int64) + int(self._in_text)
        self._in_text = bool(flips[-1] % 2)
        inside: NDArray[np.bool_] = flips % 2 == 1
        return inside

    def _escaped(self, backslashes: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """Positions after an odd number of backslashes."""
        found: list[Any] = [0] if self._is_escaped else []
        if self._is_escaped and len(backslashes) and backslashes[0] == 0:
            backslashes = backslashes[1:]  # it is escaped, and escapes nothing
        self._is_escaped = False
        if len(backslashes):
            starts = np.flatnonzero(np.diff(backslashes, prepend=-2) != 1)
            lengths = np.diff(np.append(starts, len(backslashes)))
            ends = backslashes[starts] + lengths
            odd = ends[lengths % 2 == 1]
            self._is_escaped = bool(len(odd) and odd[-1] == size)
            found += odd[odd < size].tolist()
        return np.array(found, np.int64)

    def _note_lines(self, begins: NDArray[np.bool_], line_ends: NDArray[np.bool_]) -> None:
        if not self._keeps_lines:
            return
        ends = np.flatnonzero(line_ends)
        self.began += (np.searchsorted(ends, np.flatnonzero(begins)) + self._line).tolist()
        self._line += len(ends)
