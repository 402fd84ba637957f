"""The beginning of a text file, as if the file ended there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from segments.spark.reading.text import CHUNK, Text

#: Bytes of unpacked text that a sample is taken from.
MOST: Final = 8 << 20
_STEP: Final = 1 << 20


def first_bytes(text: Text, most: int = MOST) -> tuple[bytes, bool]:
    """(up to ``most`` bytes of the text, are they all of it). Raises InvalidInput for a file that cannot be read."""
    found = bytearray()
    for chunk in text.chunks(size=min(_STEP, most)):
        found += chunk
        if len(found) > most:
            return bytes(found[:most]), False
    return bytes(found), True


def whole_records(data: bytes, quote: str | None) -> bytes:
    """The text up to the last line end that stands outside of quotes; "" where there is none."""
    mark = (quote or "").encode()
    end = data.rfind(b"\n")
    quotes = data.count(mark, 0, end) if mark and end >= 0 else 0
    while end >= 0:
        if quotes % 2 == 0:
            return data[: end + 1]
        before = data.rfind(b"\n", 0, data.rfind(mark, 0, end))
        quotes -= data.count(mark, max(before, 0), end)  # what was counted once is not counted again
        end = before
    return b""


@dataclass(frozen=True)
class HeadText(Text):
    """A text of which ``data`` is all that is read."""

    data: bytes = b""

    def chunks(self, start: int = 0, stop: int | None = None, size: int = CHUNK) -> Iterator[bytes]:
        """As of a file."""
        rest = self.data[start:stop]
        for at in range(0, len(rest), size):
            yield rest[at : at + size]
