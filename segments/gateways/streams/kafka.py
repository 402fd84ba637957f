"""Kafka through librdkafka: one client per partition that is assigned by offset; no consumer group, nothing is
committed there.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import numpy as np
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from segments.domain.realtime.streams.retention import Retention
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.domain.realtime.streams.stream_offset import Offset, parse_offset
from segments.errors import InvalidInput, Unavailable
from segments.gateways.streams.access import StreamAccess
from segments.gateways.streams.base import Batch, UnknownTopic, numbered
from segments.gateways.streams.fetch_pacing import FetchPacing
from segments.gateways.streams.kafka_brokers import KafkaBrokers, unreachable
from segments.gateways.streams.kafka_retention import topic_retention
from segments.gateways.streams.kafka_settings import BRIEF, client_settings

T = TypeVar("T")
log = logging.getLogger(__name__)

#: Why brokers are down, when it is known.
_CAUSES: Final = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError._RESOLVE})
#: A config may ask for more patience than a request here has.
_LONGEST_WAIT_S: Final = 60.0
#: Causes that only a Kafka gives.
_ANSWERED: Final = frozenset({KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION})
_NO_TOPIC: Final = frozenset({KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART})
_OUT_OF_RANGE: Final = frozenset({KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE})


class KafkaStream:
    """One topic; see :class:`segments.gateways.streams.base.Stream`. Safe to use from several threads."""

    def __init__(self, config: StreamConfig, access: StreamAccess) -> None:
        self.config = config
        self._settings = client_settings(config, access.file_roots)
        self._brokers = KafkaBrokers(config, access, self._settings)
        self._timeout = min(_LONGEST_WAIT_S, max(1.0, config.connection_timeout_ms / 1_000))
        self._lock = threading.Lock()
        self._client: Any = None
        self._retention: Retention | None = None
        self._heard: list[Any] = []

    def partitions(self) -> list[int]:
        """Partition numbers of the topic."""
        return self._ask(self._partitions)

    def earliest(self, partition: int) -> Offset:
        """The low watermark."""
        return self._ask(lambda client: _offset(self._watermarks(client, partition)[0]))

    def latest(self, partition: int) -> Offset:
        """The high watermark."""
        return self._ask(lambda client: _offset(self._watermarks(client, partition)[1]))

    def offset_at(self, partition: int, epoch_ms: int) -> Offset:
        """By the messages' time index."""

        def find(client: Any) -> Offset:
            found = client.offsets_for_times(
                [TopicPartition(self.config.topic, partition, max(0, epoch_ms))], self._timeout
            )[0]
            if found.error is not None:
                raise KafkaException(found.error)
            return _offset(found.offset if found.offset >= 0 else self._watermarks(client, partition)[1])

        return self._ask(find)

    def tail(self, partition: int, most: int, size: int) -> Offset:
        """By their numbers; their size is not known before."""

        def find(client: Any) -> Offset:
            first, end = self._watermarks(client, partition)
            return _offset(max(first, end - most))

        return self._ask(find)

    def count(self, partition: int, start: Offset, end: Offset, most: int) -> int | None:
        """Offsets number the messages."""
        return numbered(start, end, most)

    def retention(self, partition: int, now_ms: int) -> Retention:
        """By the topic's settings, where the login may read them."""
        with self._lock:
            if self._retention is None:
                client = self._brokers.administer(self._timeout)
                self._retention = topic_retention(client, self.config.topic, self._timeout)
            return self._retention

    def consumer(self, partition: int, *, is_brief: bool = False) -> KafkaConsumer:
        """A client for one partition."""
        settings = self._settings | (BRIEF if is_brief else {})
        return KafkaConsumer(self.config, settings, partition, self._timeout, self._brokers.bootstrap)

    def close(self) -> None:
        """Ends the client that answers questions."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _partitions(self, client: Any) -> list[int]:
        found = client.list_topics(self.config.topic, self._timeout).topics[self.config.topic]
        if found.error is not None:
            raise KafkaException(found.error)
        return sorted(found.partitions)

    def _watermarks(self, client: Any, partition: int) -> tuple[int, int]:
        return _watermarks(client, self.config.topic, partition, self._timeout)

    def _ask(self, question: Callable[[Any], T]) -> T:
        with self._lock, _failures_named(self.config, self._cause):
            if self._client is None:
                bootstrap = self._brokers.bootstrap(self._timeout)
                self._client = _client(
                    {**self._settings, "bootstrap.servers": bootstrap, "error_cb": self._heard.append}
                )
            return question(self._client)

    def _cause(self, error: Any) -> Any:
        """What the client heard from the brokers meanwhile says more than that they did not answer."""
        self._client.poll(0)
        heard, self._heard[:] = list(self._heard), []
        return next((e for e in heard if e.code() in _CAUSES), error)


class KafkaConsumer:
    """One partition; see :class:`segments.gateways.streams.base.PartitionConsumer`."""

    def __init__(
        self,
        config: StreamConfig,
        settings: dict[str, Any],
        partition: int,
        timeout_s: float,
        bootstrap: Callable[[float], str],
    ) -> None:
        self._bootstrap = bootstrap
        self._config, self._settings, self._partition, self._timeout = config, settings, partition, timeout_s
        self._client: Any = None
        self._position = -1
        self._pace = FetchPacing()
        self._lock = threading.Lock()
        self._closed = False
        self._trouble: Any = None

    def fetch(self, start: Offset, *, max_messages: int, timeout_s: float, stop: Offset | None = None) -> Batch:
        """See :class:`segments.gateways.streams.base.PartitionConsumer`."""
        with self._lock:
            return self._fetch(start, max_messages, timeout_s, stop)

    def _fetch(self, start: Offset, max_messages: int, timeout_s: float, stop: Offset | None) -> Batch:
        if self._closed:
            raise Unavailable(f"The consumer of partition {self._partition} of topic '{self._config.topic}' is closed.")
        self._pace.begin(timeout_s)
        lost: tuple[Offset, Offset] | None = None
        with _failures_named(self._config):
            if self._position != start.value[0]:
                self._go_to(start.value[0])
            messages: list[Any] = []
            try:
                messages = self._wait(min(max_messages, 1_000_000))
            except _OutOfRange:
                lost = self._past_the_gap(start)
        is_cut = stop is not None and bool(messages) and messages[-1].offset() >= stop.value[0]
        if stop is not None and is_cut:
            messages = [m for m in messages if m.offset() < stop.value[0]]
            self._position = -1
        end = lost[1] if lost else start
        if messages:
            end = _offset(messages[-1].offset() + 1)
            self._position = end.value[0] if self._position >= 0 else -1
        elif stop is not None and is_cut:
            end = stop  # nothing is left below the end: what was there is a transaction's marker, or was compacted
        self._pace.end(len(messages))
        return Batch(
            values=[m.value() or b"" for m in messages],
            next_offset=end,
            timestamps_ms=np.array([m.timestamp()[1] for m in messages], np.int64),
            lost=lost,
            offset_of=lambda i: _offset(messages[i].offset()),
        )

    def wake(self) -> None:
        """See :class:`segments.gateways.streams.base.PartitionConsumer`."""
        self._pace.wake()

    def close(self) -> None:
        """See :class:`segments.gateways.streams.base.PartitionConsumer`."""
        self._closed = True
        self._pace.wake()
        with self._lock:  # a fetch that runs ends within a slice
            client, self._client = self._client, None
            if client is not None:
                client.close()

    def _go_to(self, offset: int) -> None:
        if self._client is None:
            bootstrap = self._bootstrap(self._timeout)
            self._client = _client({**self._settings, "bootstrap.servers": bootstrap, "error_cb": self._heard})
        self._client.assign([TopicPartition(self._config.topic, self._partition, offset)])
        self._position = offset

    def _wait(self, most: int) -> list[Any]:
        """Messages as soon as there are some: librdkafka's own batch call would wait until all ``most`` are there."""
        while True:
            wait = self._pace.left()
            first = self._client.poll(wait)
            if first is not None:
                break
            if wait <= 0:
                trouble, self._trouble = self._trouble, None
                if trouble is not None:
                    raise KafkaException(trouble)
                return []
        rest = self._client.consume(most - 1, 0) if most > 1 else []
        return self._good([first, *rest])

    def _heard(self, error: Any) -> None:
        """Called by librdkafka while it polls; it goes on trying on its own."""
        known = self._trouble is not None and self._trouble.code() in _CAUSES
        if not known and (error.code() == KafkaError._ALL_BROKERS_DOWN or error.code() in _CAUSES or error.fatal()):
            self._trouble = error

    def _good(self, messages: list[Any]) -> list[Any]:
        """The messages up to the first error. Raises _OutOfRange or KafkaException when that is the first."""
        at = next((i for i, m in enumerate(messages) if m.error() is not None), None)
        if at is None:
            self._trouble = None
            return messages
        if at:
            self._position = -1  # the next fetch comes to the error again
            return messages[:at]
        self._position = -1
        error = messages[0].error()
        if error.code() in _OUT_OF_RANGE:
            raise _OutOfRange
        raise KafkaException(error)

    def _past_the_gap(self, start: Offset) -> tuple[Offset, Offset]:
        """What is missing from ``start`` on, when the broker does not have it. Raises Unavailable when nothing seems to
        be.
        """
        low, high = _watermarks(self._client, self._config.topic, self._partition, self._timeout)
        self._position = -1
        if start.value[0] > high:
            raise Unavailable(
                f"Topic '{self._config.topic}' partition {self._partition} ends at {high}, before the offset "
                f"{start} that is to be read.",
                remedy="The topic was created again or truncated. Resume consumption from "
                "smallest to read it from its beginning.",
                end=str(high),
            )
        if low <= start.value[0]:
            raise Unavailable(
                f"Topic '{self._config.topic}' partition {self._partition} does not give offset {start}, which it has."
            )
        return start, _offset(low)


class _OutOfRange(Exception):
    """The broker does not have the offset."""


def _client(settings: dict[str, Any]) -> Any:
    try:
        return Consumer(settings)
    except KafkaException as error:
        raise InvalidInput(
            f"The stream config's Kafka settings are refused: {error.args[0].str()}.",
            remedy="Correct the key it names.",
        ) from error


def _watermarks(client: Any, topic: str, partition: int, timeout_s: float) -> tuple[int, int]:
    low, high = client.get_watermark_offsets(TopicPartition(topic, partition), timeout_s, cached=False)
    return int(low), int(high)


def _offset(value: int) -> Offset:
    return parse_offset("kafka", str(value))


@contextlib.contextmanager
def _failures_named(config: StreamConfig, known: Callable[[Any], Any] | None = None) -> Iterator[None]:
    """KafkaException -> Unavailable that names the topic and, where a Kafka answered, the cause; ``known`` may know
    what is behind it.

    Codes of the protocol have texts of librdkafka's own. What did not answer as a Kafka is not described: a table's
    administrator would learn which ports are open.
    """
    try:
        yield
    except KafkaException as error:
        cause = known(error.args[0]) if known is not None else error.args[0]
        code = cause.code() if isinstance(cause, KafkaError) else None
        if code == KafkaError._AUTHENTICATION:
            text = "it refuses the login"
        elif code is not None and (code > 0 or code in _ANSWERED):
            text = KafkaError(code).str()
        else:
            raise unreachable(config.topic, cause) from error
        log.warning("Kafka topic %s cannot be read: %s", config.topic, cause)
        raise (UnknownTopic if code in _NO_TOPIC else Unavailable)(
            f"Kafka topic '{config.topic}' cannot be read: {text}.",
            remedy="Check the topic's name and the login.",
            topic=config.topic,
        ) from error
