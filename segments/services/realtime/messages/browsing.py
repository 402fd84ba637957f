"""Messages of a table's stream for people: from the beginning, an offset or a time on, or the last ones; filtered by a
text. Reads within bounds, by a consumer of its own that leaves nothing behind.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal

from segments.dataplane.realtime.decoded import CONTENT_ERRORS
from segments.datatypes.jsontext import json_of
from segments.domain.formats.moment import moment_at
from segments.domain.realtime.realtime_table import check_realtime
from segments.domain.realtime.streams.stream_offset import Offset
from segments.domain.set_aside.shown import shown_payload, shown_reason
from segments.errors import InvalidInput
from segments.gateways.streams import Stream
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.messages.decoding import message_reader
from segments.services.realtime.messages.reading import Bounds, Message, read_messages
from segments.services.realtime.stream_facts import StreamFacts, stream_facts
from segments.services.tables.table_record import read_table_config

Place = Literal["latest", "earliest"]
PLACES: Final[tuple[Place, ...]] = ("latest", "earliest")
#: Messages that one answer shows, and that a filter reads for it.
MOST_SHOWN: Final = 200
_MOST_READ: Final = 20_000
_BYTES: Final = 16 << 20
_SECONDS: Final = 4.0
#: Characters of one message.
LONGEST: Final = 20_000
#: Tries to read the last messages up to the end, each with half as many of them as the one before could read.
_TRIES: Final = 3


@dataclass(frozen=True)
class MessageWish:
    """From ``offset`` on, or from the first message stored ``since`` then, or else from ``place``: "latest" means the
    last ``most`` ones. ``contains``: only those with this text, in any case.
    """

    partition: int
    most: int = 50
    offset: str = ""
    since: datetime | None = None
    place: Place = "latest"
    contains: str = ""

    @property
    def is_tail(self) -> bool:
        """The last messages, whatever they are, so that a page of them can be followed."""
        return not self.offset and self.since is None and self.place == "latest"


@dataclass(frozen=True)
class ShownMessage:
    """``text`` is what people see of it, secrets masked; None: its bytes are neither text nor a record. ``fault``: why
    it is no row in the table's format, "" when it is one.
    """

    offset: str
    stored_at: datetime | None
    size: int
    text: str | None
    is_cut: bool
    is_masked: bool
    fault: str


@dataclass(frozen=True)
class Browsed:
    """``first`` and ``end`` of the partition when it was asked; ``start`` where reading began, ``next_offset`` where it
    goes on; ``read`` messages for those that are shown; ``is_end``: nothing came after them. ``began_at``: when the
    first that was read was stored; ``is_later``: what was asked for lies before the first message of the stream.
    """

    topic: str
    first: str
    end: str
    start: str
    next_offset: str
    read: int
    is_end: bool
    messages: list[ShownMessage]
    began_at: datetime | None
    is_later: bool = False


def browse(ctx: Context, table: TableName, wish: MessageWish) -> Browsed:
    """Read them. Raises InvalidInput for an offset or partition that cannot be, NotFound, and Unavailable when the
    stream does not answer.
    """
    if not ctx.engine.offers.reads_streams:
        raise InvalidInput("Streams of this cluster are read by its own servers only: messages cannot be shown.")
    with stream_facts(ctx, check_realtime(read_table_config(ctx, table))) as facts:
        config = facts.config_of(wish.partition)
        stream, own = facts.opened(wish.partition)
        if own not in stream.partitions():
            raise InvalidInput(f"Topic '{config.topic}' has no partition {own}.")
        first, reader = stream.earliest(own), message_reader(ctx, config)
        start = _start(facts, stream, own, wish, first)
        found = _read(ctx, stream, own, wish, (first, stream.latest(own), start), reader)
        for _ in range(_TRIES - 1):
            if not wish.is_tail or found.is_end or found.read < 2:
                break  # else they are too large, or come too slowly, to be the last ones
            start = max(start, stream.tail(own, found.read // 2, _BYTES))
            found = _read(ctx, stream, own, wish, (first, stream.latest(own), start), reader)
        is_later = _is_later(facts, wish, first, found)
    return replace(found, topic=config.topic, is_later=is_later)


def document(found: Browsed, table: TableName, partition: int) -> dict[str, Any]:
    """As the REST API answers it."""
    return {
        "table": table.typed, "partition": partition, "topic": found.topic, "first": found.first, "end": found.end,
        "start": found.start, "next": found.next_offset, "read": found.read, "isEnd": found.is_end,
        "isLater": found.is_later,
        "messages": [
            {
                "offset": m.offset, "storedAt": m.stored_at.isoformat() if m.stored_at else None, "bytes": m.size,
                "text": m.text, "isCut": m.is_cut, "isMasked": m.is_masked, "fault": m.fault or None,
            }
            for m in found.messages
        ],
    }  # fmt: skip


def _start(facts: StreamFacts, stream: Stream, own: int, wish: MessageWish, first: Offset) -> Offset:
    if wish.offset:
        return max(first, facts.parse(wish.partition, wish.offset))
    if wish.since is not None:
        return max(first, stream.offset_at(own, int(wish.since.timestamp() * 1000)))
    if wish.place == "earliest":
        return first
    return max(first, stream.tail(own, _MOST_READ if wish.contains else wish.most, _BYTES))


def _is_later(facts: StreamFacts, wish: MessageWish, first: Offset, found: Browsed) -> bool:
    """Does the stream begin only after the offset, or else the time, that was asked for?"""
    if wish.offset:
        return facts.parse(wish.partition, wish.offset) < first
    if wish.since is None or found.start != first.text or found.began_at is None:
        return False
    return wish.since < found.began_at


def _read(
    ctx: Context, stream: Stream, own: int, wish: MessageWish, ends: tuple[Offset, Offset, Offset],
    reader: Callable[[bytes], Any],
) -> Browsed:  # fmt: skip
    first, end, start = ends
    # Some may have come since the beginning of the last ones was read.
    most = 2 * _MOST_READ if wish.is_tail else _MOST_READ if wish.contains else wish.most
    kept: deque[Message] = deque(maxlen=wish.most)
    after, count, needle, began_ms = start, 0, wish.contains.casefold(), 0
    for message, after in read_messages(ctx, stream, own, start, end, Bounds(most, _BYTES, _SECONDS)):  # noqa: B007
        count += 1
        began_ms = message.stored_ms if count == 1 else began_ms
        if not needle or needle in (_shown(message, reader).text or "").casefold():
            kept.append(message)
        if not wish.is_tail and len(kept) >= wish.most:
            break
    shown = [_shown(m, reader) for m in kept]
    return Browsed("", first.text, end.text, start.text, after.text, count, after >= end, shown, _moment(began_ms))


def _shown(message: Message, reader: Callable[[bytes], Any]) -> ShownMessage:
    value, fault, record = message.value, "", None
    try:
        record = reader(value)
        if not isinstance(record, dict):
            fault = "The message is not an object."
    except CONTENT_ERRORS as error:
        fault = shown_reason(" ".join(str(error).split())[:300] or type(error).__name__, value)
    is_text = _is_text(value)
    payload = value if is_text or not isinstance(record, dict) else json_of(record).encode()
    shown = shown_payload(payload)
    text = shown.text
    is_cut = text is not None and len(text) > LONGEST
    return ShownMessage(
        message.offset.text, _moment(message.stored_ms), len(value), text[:LONGEST] if text is not None else None,
        is_cut, shown.is_masked and text is not None, fault,
    )  # fmt: skip


def _moment(stored_ms: int) -> datetime | None:
    return moment_at(stored_ms) if stored_ms > 0 else None


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return not any(byte < 9 for byte in value[:64])
