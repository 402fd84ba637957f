"""Offsets of a stream's partition: ordered values, never assumed to be integers (rule `offsets-are-opaque`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import total_ordering
from typing import Final

from segments.errors import InvalidInput

_LARGEST: Final = 2**64 - 1
_NUMBER = re.compile(r"\d{1,20}", re.ASCII)


@total_ordering
@dataclass(frozen=True)
class Offset:
    """A position in one partition; the row at it is the next to be read, so as an end it is exclusive.

    ``text`` is what was given and what goes on record; ``value`` is what is compared. Offsets of different stream types
    have no order.
    """

    stream_type: str
    value: tuple[int, ...]
    text: str = field(compare=False)

    def __lt__(self, other: Offset) -> bool:
        if self.stream_type != other.stream_type:
            raise InvalidInput(f"Offsets of '{self.stream_type}' and '{other.stream_type}' cannot be compared.")
        return self.value < other.value

    def __str__(self) -> str:
        return self.text

    def after(self) -> Offset:
        """The exclusive end when the row at this offset was the last one read (kafka 7 -> 8, redis 5-0 -> 5-1)."""
        return _from_value(self.stream_type, (*self.value[:-1], self.value[-1] + 1))


def parse_offset(stream_type: str, text: str) -> Offset:
    """The offset in ``text``. Raises InvalidInput when it is none of this stream type, or the type is unknown."""
    read = _READERS.get(stream_type.lower())
    if read is None:
        raise InvalidInput(
            f"Stream type '{stream_type}' is not supported.", remedy=f"Use {' or '.join(sorted(_READERS))}."
        )
    return Offset(stream_type.lower(), read(text.strip()), text.strip())


def are_numbers(stream_type: str) -> bool:
    """Do offsets of this known stream type number its messages, so that their difference counts them?"""
    return _READERS[stream_type.lower()] is _integer


def _from_value(stream_type: str, value: tuple[int, ...]) -> Offset:
    return Offset(stream_type, value, "-".join(map(str, value)))


def _integer(text: str) -> tuple[int, ...]:
    return (_number(text, text),)


def _entry_id(text: str) -> tuple[int, ...]:
    """Redis: ``ms-seq``; a bare ``ms`` means sequence 0."""
    ms, _, sequence = text.partition("-")
    return _number(ms, text), _number(sequence, text) if "-" in text else 0


def _number(part: str, text: str) -> int:
    if not _NUMBER.fullmatch(part) or int(part) > _LARGEST:
        raise InvalidInput(
            f"'{text}' is not an offset of this stream.",
            remedy="Kafka's are whole numbers, Redis' look like 1700000000000-0.",
        )
    return int(part)


_READERS: Final[dict[str, Callable[[str], tuple[int, ...]]]] = {
    "kafka": _integer,
    "memory": _integer,
    "redis": _entry_id,
}
