"""Open consumers and streams of this server: the next segment of a partition takes over the connection of the one before."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from segments.domain.stream_config import StreamConfig
from segments.gateways.streams import PartitionConsumer, Stream

log = logging.getLogger(__name__)

#: Seconds after which a connection that nobody took is closed.
_IDLE_S: Final = 60.0

OpenStream = Callable[[StreamConfig], Stream]
_Key = tuple[str, int]


class StreamPool:
    """Opening a consumer costs a connection and a round of questions; a commit must not wait for that. Safe between threads."""

    def __init__(self, open_stream: OpenStream) -> None:
        self._open_stream = open_stream
        self._lock = threading.Lock()
        self._streams: dict[str, Stream] = {}
        self._idle: dict[_Key, list[tuple[PartitionConsumer, float]]] = defaultdict(list)
        self._is_closed = False

    def stream(self, config: StreamConfig) -> Stream:
        """The stream of this config, opened once. InvalidInput for settings that can not work."""
        key = _text(config)
        with self._lock:
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
        now = time.monotonic()
        with self._lock:
            if not self._is_closed:
                self._idle[_text(config), partition].append((consumer, now))
            doomed = [] if not self._is_closed else [consumer]
            for key, waiting in list(self._idle.items()):
                doomed += [c for c, since in waiting if now - since > _IDLE_S]
                self._idle[key] = [(c, since) for c, since in waiting if now - since <= _IDLE_S]
                if not self._idle[key]:
                    del self._idle[key]
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
