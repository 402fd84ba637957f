"""Open consumers and streams of this server: the next segment of a partition takes over the connection of the one
before.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from segments.domain.access.outgoing import Rules
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.gateways.streams import PartitionConsumer, Stream

log = logging.getLogger(__name__)

#: Seconds after which a connection that nobody took is closed, and a stream that nobody asked anything.
_IDLE_S: Final = 60.0
_UNUSED_S: Final = 600.0

OpenStream = Callable[[StreamConfig], Stream]
_Key = tuple[str, int]


class StreamPool:
    """Opening a consumer costs a connection and a round of questions; a commit must not wait for that. Safe between
    threads.
    """

    def __init__(self, open_stream: OpenStream, registries: Rules | None = None) -> None:
        """``registries``: which schema registries the streams' decoders may ask."""
        self._open_stream = open_stream
        self.registries = registries
        self._lock = threading.Lock()
        self._streams: dict[str, Stream] = {}
        self._asked_at: dict[str, float] = {}
        self._idle: dict[_Key, list[tuple[PartitionConsumer, float]]] = defaultdict(list)
        self._is_closed = False

    def stream(self, config: StreamConfig) -> Stream:
        """The stream of this config, opened once. InvalidInput for settings that cannot work."""
        key = _text(config)
        with self._lock:
            self._asked_at[key] = time.monotonic()
            if key not in self._streams:
                self._streams[key] = self._open_stream(config)
            return self._streams[key]

    def take(self, config: StreamConfig, partition: int) -> PartitionConsumer:
        """A consumer of the stream's partition, for one thread; give it back when it is not needed."""
        with self._lock:
            idle = self._idle.get((_text(config), partition))
            if idle:
                return idle.pop()[0]
        return self.stream(config).consumer(partition)

    def give_back(self, config: StreamConfig, partition: int, consumer: PartitionConsumer) -> None:
        """The consumer waits for the partition's next segment; others that waited too long are closed."""
        with self._lock:
            is_closed = self._is_closed
            if not is_closed:
                self._idle[_text(config), partition].append((consumer, time.monotonic()))
        if is_closed:
            _close(consumer)
        else:
            self.tidy()

    def tidy(self, now: float | None = None) -> None:
        """Close what nobody used for long: of a table that is paused or dropped nobody comes for it any more."""
        now = time.monotonic() if now is None else now
        with self._lock:
            doomed: list[PartitionConsumer | Stream] = []
            for key, waiting in list(self._idle.items()):
                doomed += [c for c, since in waiting if now - since > _IDLE_S]
                self._idle[key] = [(c, since) for c, since in waiting if now - since <= _IDLE_S]
                if not self._idle[key]:
                    del self._idle[key]
            for text in [t for t, at in self._asked_at.items() if now - at > _UNUSED_S]:
                del self._asked_at[text]
                doomed += [self._streams.pop(text)] if text in self._streams else []
        for old in doomed:
            _close(old)

    def close(self) -> None:
        """Close everything that is not in use; what is given back later is closed at once."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, defaultdict(list)
            streams, self._streams = list(self._streams.values()), {}
        for waiting in idle.values():
            for consumer, _ in waiting:
                _close(consumer)
        for stream in streams:
            _close(stream)


def _text(config: StreamConfig) -> str:
    return json.dumps(dict(config.raw), sort_keys=True)


def _close(thing: PartitionConsumer | Stream) -> None:
    try:
        thing.close()
    except Exception:  # a broken connection must not stop the others
        log.exception("A connection to a stream could not be closed")
