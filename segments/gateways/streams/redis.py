"""Redis Streams: partition i of topic T is the stream ``T-i``, field ``value`` holds the message, the offset is the
entry id.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import redis

from segments.domain.realtime.streams.retention import Retention, unknown
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.domain.realtime.streams.stream_offset import Offset, parse_offset
from segments.errors import InvalidInput, Unavailable
from segments.gateways.streams.access import StreamAccess
from segments.gateways.streams.base import Batch
from segments.gateways.streams.fetch_pacing import FetchPacing
from segments.gateways.streams.redis_connections import redis_pool
from segments.gateways.streams.redis_pages import count_between, tail_id
from segments.gateways.streams.redis_reply import Entries, StreamInfo, entry_id, stream_info, values_of

log = logging.getLogger(__name__)

_LARGEST: Final = 2**64 - 1
#: No more partitions than fit between two streams of one table.
_MOST_PARTITIONS: Final = 10_000
#: A config may ask for more patience than a request here has.
_LONGEST_WAIT_S: Final = 60.0
#: Bytes that a fetch should bring at most: a reply is taken into memory as a whole. Entries of the first one, whose
#: size is not known.
_REPLY_BYTES: Final = 16 << 20
_FIRST_ENTRIES: Final = 1_000
#: The same of a consumer that reads a few messages only.
_BRIEF_BYTES: Final = 1 << 20
_BRIEF_ENTRIES: Final = 16
#: Ids that begin with less are not times.
_EARLIEST_MS: Final = 10**12
#: (server, stream) -> the last position read in this process, and how many entries were ever stored before it.
_progress: dict[tuple[str, str], tuple[tuple[int, ...], int]] = {}


class RedisStream:
    """One topic; see :class:`segments.gateways.streams.base.Stream`. Safe to use from several threads.

    Partitions are those that ``stream.redis.partitions`` states, and the streams that follow them without a hole.
    """

    def __init__(self, config: StreamConfig, access: StreamAccess) -> None:
        self.config = config
        named = config.option("url") or ""
        if not named and not access.redis_url:
            raise InvalidInput("'stream.redis.url' is missing in the stream config.")
        if not config.topic.isprintable():
            raise InvalidInput("'stream.redis.topic.name' has characters that do not belong into a name.")
        try:
            self._stated = int(config.option("partitions") or 1)
        except ValueError as error:
            raise InvalidInput("'stream.redis.partitions' is not a whole number.") from error
        self._pool = redis_pool(named, access, min(_LONGEST_WAIT_S, max(0.1, config.connection_timeout_ms / 1_000)))
        if not 1 <= self._stated <= _MOST_PARTITIONS:
            raise InvalidInput(
                f"'stream.redis.partitions' is {self._stated}.", remedy=f"Give a number from 1 to {_MOST_PARTITIONS}."
            )
        self._client: Any = redis.Redis(connection_pool=self._pool)

    def partitions(self) -> list[int]:
        """Partition numbers of the topic."""
        with _reported(self.config):
            count = self._stated
            while count < _MOST_PARTITIONS and self._client.exists(self.key(count)):
                count += 1
            self._client.ping()
        return list(range(count))

    def earliest(self, partition: int) -> Offset:
        """The id of the first entry; of an empty stream the next one."""
        info = self._info(partition)
        return _offset(info.first if info.first is not None else info.end)

    def latest(self, partition: int) -> Offset:
        """One after the last id that was ever given."""
        return _offset(self._info(partition).end)

    def offset_at(self, partition: int, epoch_ms: int) -> Offset:
        """Ids begin with the time, so the first one of that millisecond is the place, unless it is beyond the end."""
        wanted, end = (max(0, epoch_ms), 0), self._info(partition).end
        return _offset(min(wanted, end))

    def tail(self, partition: int, most: int, size: int) -> Offset:
        """Entries are read from the end."""
        with _reported(self.config):
            found = tail_id(self._client, self.key(partition), most, size)
        return self.latest(partition) if found is None else _offset(entry_id(found))

    def count(self, partition: int, start: Offset, end: Offset, most: int) -> int | None:
        """Ids do not number the entries, so these are fetched and counted; all of them at once where that is the whole
        stream.
        """
        info, key = self._info(partition), self.key(partition)
        with _reported(self.config):
            if info.first is None:
                return 0
            if start.value <= info.first and end.value >= info.end:
                return info.length if info.length <= most else None
            return count_between(self._client, key, _id(start.value), f"({_id(end.value)}", most)

    def retention(self, partition: int, now_ms: int) -> Retention:
        """Redis knows no rule: how old its oldest entry is, where older ones were removed."""
        info = self._info(partition)
        if not info.removed:
            return Retention("untrimmed")
        if info.first is None or not _EARLIEST_MS < info.first[0] <= now_ms:
            return unknown("the ids of the entries are not times" if info.first else "the stream is empty")
        return Retention("trimmed", now_ms - info.first[0])

    def consumer(self, partition: int, *, is_brief: bool = False) -> RedisConsumer:
        """A connection for one partition."""
        return RedisConsumer(self.config, self._pool, self.key(partition), is_brief=is_brief)

    def close(self) -> None:
        """Ends idle connections."""
        self._client.close()
        self._pool.disconnect(inuse_connections=False)

    def key(self, partition: int) -> str:
        """The Redis stream of a partition."""
        return f"{self.config.topic}-{partition}"

    def _info(self, partition: int) -> StreamInfo:
        with _reported(self.config):
            try:
                reply = self._client.execute_command("XINFO", "STREAM", self.key(partition), NEVER_DECODE=True)
            except redis.ResponseError as error:
                if "no such key" in str(error):
                    return StreamInfo()
                raise
            return stream_info(reply)


class RedisConsumer:
    """One partition; see :class:`segments.gateways.streams.base.PartitionConsumer`.

    An expired offset shows by counting: ids have natural gaps, but Redis reports how many entries a stream ever had.
    ``_read`` is the number of entries ever stored before the position, None while it is not known; the next consumer of
    this process goes on with it.
    """

    def __init__(self, config: StreamConfig, pool: Any, key: str, *, is_brief: bool = False) -> None:
        self._config, self._pool, self._key = config, pool, key
        self._place = (str(pool.connection_kwargs), key)
        self._connection: Any = None
        self._position: tuple[int, ...] | None = None
        self._read: int | None = None
        self._is_brief = is_brief
        self._most, self._reply_bytes = (_BRIEF_ENTRIES, _BRIEF_BYTES) if is_brief else (_FIRST_ENTRIES, _REPLY_BYTES)
        self._pace = FetchPacing()
        self._lock = threading.Lock()
        self._closed = False

    def fetch(self, start: Offset, *, max_messages: int, timeout_s: float, stop: Offset | None = None) -> Batch:
        """See :class:`segments.gateways.streams.base.PartitionConsumer`."""
        with self._lock:
            self._pace.begin(timeout_s)
            with self._connected():
                if self._position != start.value:
                    at, read = _progress.get(self._place, ((), None))
                    self._position, self._read = start.value, read if at == start.value else None
                most = min(max_messages, self._most)
                info, entries = self._range(start, most, stop)
                if not entries and not _is_past(info, stop) and self._comes(start):
                    info, entries = self._range(start, most, stop)
            return self._batch(start, stop, info, entries)

    def wake(self) -> None:
        """See :class:`segments.gateways.streams.base.PartitionConsumer`."""
        self._pace.wake()

    def close(self) -> None:
        """See :class:`segments.gateways.streams.base.PartitionConsumer`."""
        self._closed = True
        self._pace.wake()
        with self._lock:
            self._drop()

    def _range(self, start: Offset, most: int, stop: Offset | None) -> tuple[StreamInfo, Entries]:
        """State of the stream and its entries from ``start`` on, of one moment."""
        last = b"+" if stop is None else f"({_id(stop.value)}".encode()
        commands = [
            ("MULTI",),
            ("XINFO", "STREAM", self._key),
            ("XRANGE", self._key, _id(start.value), last, "COUNT", most),
            ("EXEC",),
        ]
        link = self._connection
        link.send_packed_command(link.pack_commands(commands))
        replies = [link.read_response(disable_decoding=True) for _ in commands]
        info, entries = replies[-1]
        if isinstance(info, Exception):
            if "no such key" not in str(info):
                raise info
            return StreamInfo(), []
        if isinstance(entries, Exception):
            raise entries
        return stream_info(info), entries

    def _comes(self, start: Offset) -> bool:
        """Wait for an entry at ``start`` or after it; False when the fetch is over first."""
        link, before = self._connection, _id(_before(start.value))
        while (wait := self._pace.left()) > 0:
            link.send_command("XREAD", "COUNT", 1, "BLOCK", max(1, int(wait * 1_000)), "STREAMS", self._key, before)
            if link.read_response(disable_decoding=True):
                return True
        return False

    def _batch(self, start: Offset, stop: Offset | None, info: StreamInfo, entries: Entries) -> Batch:
        lost = self._missing(start, info, entries)
        end = start if lost is None else lost[1]
        if entries:
            last = entry_id(entries[-1][0])
            end = _offset((last[0], last[1] + 1))
            before = info.removed if entry_id(entries[0][0]) == info.first else self._read
            self._read = info.added if last == info.last else (None if before is None else before + len(entries))
        elif stop is not None and _is_past(info, stop):
            end, self._read = stop, None  # what was there was deleted
        elif info.end <= start.value:
            self._read = info.added
        self._position = end.value
        if self._read is not None and not self._is_brief:
            _progress[self._place] = (end.value, self._read)
        self._pace.end(len(entries))
        values = values_of(entries)
        if values:
            size = sum(map(len, values)) // len(values) + 1
            self._most = max(1, min(self._reply_bytes // size, self._most * 4))
        return Batch(
            values=values,
            next_offset=end,
            timestamps_ms=np.fromiter((int(e[0].partition(b"-")[0]) for e in entries), np.int64, len(entries)),
            lost=lost,
            offset_of=lambda i: _offset(entry_id(entries[i][0])),
        )

    def _missing(self, start: Offset, info: StreamInfo, entries: Entries) -> tuple[Offset, Offset] | None:
        """The range from ``start`` whose entries, or some of them, were removed before they were read."""
        if info.end <= start.value or (info.first is not None and info.first <= start.value):
            return None  # nothing came since, or what is before the start still is there
        to = _offset(info.first or info.end)
        if self._read is not None:
            return (start, to) if info.removed > self._read or info.added < self._read else None
        if info.removed == 0 or (info.removed == 1 and (0, 0) < info.last_deleted < start.value):
            return None
        return start, to  # nobody knows any more whether all that was removed had been read

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        if self._closed:
            raise Unavailable(f"The consumer of Redis stream '{self._key}' is closed.")
        try:
            with _reported(self._config):
                if self._connection is None:
                    self._connection = self._pool.make_connection()
                    self._connection.connect()
                yield
        except Unavailable:
            self._drop()
            raise

    def _drop(self) -> None:
        link, self._connection = self._connection, None
        if link is not None:
            link.disconnect()


def _offset(value: Sequence[int]) -> Offset:
    return parse_offset("redis", _id(value))


def _id(value: Sequence[int]) -> str:
    return f"{value[0]}-{value[1]}"


def _is_past(info: StreamInfo, stop: Offset | None) -> bool:
    """Ids up to ``stop`` have been given, so that nothing comes below it any more."""
    return stop is not None and info.end >= stop.value


def _before(value: Sequence[int]) -> tuple[int, int]:
    """The id just before: XREAD wants the last one seen."""
    if value[1] > 0:
        return value[0], value[1] - 1
    return (value[0] - 1, _LARGEST) if value[0] > 0 else (0, 0)


@contextlib.contextmanager
def _reported(config: StreamConfig) -> Iterator[None]:
    """Redis' errors -> Unavailable that names the topic and the cause."""
    try:
        yield
    except (redis.RedisError, OSError, ValueError, TypeError, KeyError, IndexError) as error:
        log.warning("Redis topic %s cannot be read: %s: %s", config.topic, type(error).__name__, error)
        raise Unavailable(
            f"Redis topic '{config.topic}' cannot be read: its server cannot be reached, refuses the login, or is not "
            "Redis.",
            remedy="Check stream.redis.url and the server. The cause stands in the log of the process that tried.",
            topic=config.topic,
        ) from error
