"""The text of a CSV file as Arrow's reader wants it: a quoted value begins right after its delimiter, and a line ends.

Spaces before a quote are removed, without a change of lines, where spaces around values do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from segments.domain.push.reader_spec import ReaderSpec
from segments.spark.reading.text import CHUNK, Text

_SPACE: Final = ord(" ")
_LINE_ENDS: Final = b"\r\n"


@dataclass(frozen=True)
class CsvText(Text):
    """The text of ``of``, a CSV file that is read by ``reader``. Pieces begin where a record does."""

    of: Text
    reader: ReaderSpec

    def chunks(self, start: int = 0, stop: int | None = None, size: int = CHUNK) -> Iterator[bytes]:
        """As of any text."""
        chunks = self.of.chunks(start, stop, size)
        is_spaced = self.reader.trim and self.reader.quote and not self.reader.escape and self.reader.delimiter != " "
        chunk, is_one_line = b"", start == 0
        for chunk in _Quotes(self.reader).moved(chunks) if is_spaced else chunks:
            is_one_line = is_one_line and not any(bytes((end,)) in chunk for end in _LINE_ENDS)
            yield chunk
        if is_one_line and chunk:
            yield b"\n"


def csv_text(text: Text, reader: ReaderSpec) -> CsvText:
    """A text as one of CSV."""
    return CsvText(text.path, text.encoding, text.source, text, reader)


class _Quotes:
    """Moves opening quotes to the delimiter or line end before them, over spaces."""

    def __init__(self, reader: ReaderSpec) -> None:
        self._mark = str(reader.quote).encode()
        self._before = list(reader.delimiter.encode() + _LINE_ENDS)
        self._is_inside = False
        self._last = b"\n"

    def moved(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The same text without the spaces."""
        waiting = b""
        for chunk in chunks:
            data = waiting + chunk if waiting else chunk
            whole = data.rstrip(b" ") if data.endswith(b" ") else data
            waiting = data[len(whole) :]
            if whole:
                yield self._chunk(whole)
                self._last = whole[-1:]
        if waiting:
            yield waiting

    def _chunk(self, chunk: bytes) -> bytes:
        if b" " + self._mark not in chunk:
            self._is_inside ^= chunk.count(self._mark) % 2 == 1
            return chunk
        data = np.frombuffer(chunk, np.uint8)
        quotes = np.flatnonzero(data == ord(self._mark))
        opening = quotes[int(self._is_inside) :: 2]
        self._is_inside ^= len(quotes) % 2 == 1
        return np.delete(data, self._spaces(data, opening)).tobytes()

    def _spaces(self, data: NDArray[np.uint8], opening: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where spaces stand between an opening quote and what ends the value before it."""
        after_space = opening[(opening > 0) & (data[opening - 1] == _SPACE)]
        others = np.flatnonzero(data != _SPACE)
        at = np.searchsorted(others, after_space) - 1
        last = np.where(at >= 0, others[np.maximum(at, 0)], -1)
        ends = np.isin(np.where(last >= 0, data[last], self._last[0]), self._before)
        spans = zip((last[ends] + 1).tolist(), after_space[ends].tolist(), strict=True)
        found = [np.arange(first, quote) for first, quote in spans]
        return np.concatenate(found) if found else np.zeros(0, np.int64)
