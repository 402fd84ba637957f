"""A stream message that was set aside, and the reports in which servers hand such messages over."""

from __future__ import annotations

from typing import Final

from segments.domain.formats.json_model import Model

#: Bytes of a message that are kept; a longer one is cut and cannot be replayed.
LARGEST_PAYLOAD: Final = 16 << 10
#: Digits of the largest number in an offset.
_DIGITS: Final = 20


class Message(Model):
    """One message. ``size`` is that of the whole message in bytes, ``payload`` its beginning; times in epoch
    milliseconds, 0: unknown.

    ``offset`` is the message's own; ``segment`` is the one that was being consumed; ``column`` is the one at fault, if
    that is known.
    """

    topic: str
    partition: int
    offset: str
    segment: str
    noticed_ms: int
    sent_ms: int
    column: str
    reason: str
    size: int
    payload: bytes


class Settled(Model):
    """A segment was committed: of the messages in [start, end) exactly these ``offsets`` gave no row. None: too many to
    name.
    """

    topic: str
    partition: int
    start: str
    end: str
    offsets: list[str] | None = None


class Report(Model):
    """What a server reports of one table at a time. ``id``: the same report is sent again until it was answered.

    ``dropped``: messages that the server could not keep since its report before this one.
    """

    id: str
    server: str
    messages: list[Message]
    settled: list[Settled]
    dropped: int = 0


def cut_payload(value: bytes) -> bytes:
    """What is kept of a message."""
    return bytes(value[:LARGEST_PAYLOAD])


def place_of(offset: str) -> str:
    """The offset as text whose order is that of the offsets of its stream (``5`` before ``10``, ``5-9`` before
    ``5-10``).
    """
    return "-".join(part.zfill(_DIGITS) for part in offset.split("-"))
