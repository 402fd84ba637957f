"""The brokers of a Kafka stream: those that the config names and those that they name in turn, all through the gate."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from segments.domain.access.outgoing import Kind, Place, parse_broker
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.errors import InvalidInput, Unavailable
from segments.gateways.outgoing.gate import allowed_addresses, check_place
from segments.gateways.streams.access import StreamAccess

log = logging.getLogger(__name__)

_KEY: Final = "stream.kafka.broker.list"
_MOST: Final = 100
#: Seconds after which the cluster is asked for its brokers again before another client is made.
_FRESH_S: Final = 60.0


class KafkaBrokers:
    """``bootstrap`` for a client. librdkafka resolves names itself, so it is given the checked numbers instead; with
    TLS it keeps the names, against which it checks certificates.

    A cluster names its other brokers to its clients. One that the installation itself configures
    (``KAFKA_BOOTSTRAP``) is believed; of any other every broker must be allowed, which is asked with a client that
    belongs to no group and so calls none of them. Raises InvalidInput for a broker that nothing allows.
    """

    def __init__(self, config: StreamConfig, access: StreamAccess, settings: dict[str, Any]) -> None:
        self._topic, self._rules, self._settings = config.topic, access.kafka, settings
        named = config.option("broker.list") or config.properties.get("bootstrap.servers") or access.kafka_bootstrap
        places = [parse_broker(one, Kind.KAFKA) for one in named.split(",")[: _MOST + 1] if one.strip()]
        if not places or len(places) > _MOST:
            raise InvalidInput(
                f"'{_KEY}' is missing in the stream config, or names more than {_MOST} brokers.", field=_KEY
            )
        self._places = tuple(dict.fromkeys(places))
        self._is_own = all(self._rules.is_own(place) for place in self._places)
        self._by_name = "ssl" in str(settings.get("security.protocol", "")) or self._is_own
        self._lock = threading.Lock()
        self._checked_at = -_FRESH_S
        for place in self._places:
            check_place(place, self._rules)

    def look_up(self) -> None:
        """Refuse (InvalidInput) brokers whose names lead where nothing allows; calls none of them."""
        for place in self._places:
            allowed_addresses(place, self._rules)

    def bootstrap(self, timeout_s: float) -> str:
        """Where a new client begins. Raises Unavailable when no name is known or the cluster does not name its brokers
        in time.
        """
        found = self._bootstrap()
        if not self._is_own:
            with self._lock:
                if time.monotonic() - self._checked_at >= _FRESH_S:
                    self._check_advertised(found, timeout_s)
                    self._checked_at = time.monotonic()
        return found

    def administer(self, timeout_s: float) -> AdminClient:
        """A client for questions about topics. Raises as ``bootstrap``."""
        return AdminClient({**_connection_settings(self._settings), "bootstrap.servers": self.bootstrap(timeout_s)})

    def _bootstrap(self) -> str:
        found: list[str] = []
        for place in self._places:
            numbers = () if self._by_name and self._is_own else allowed_addresses(place, self._rules)
            found += [str(place)] if self._by_name else [str(Place(str(number), place.port)) for number in numbers]
        if not found:
            raise unreachable(self._topic, "no broker's name is known")
        return ",".join(found)

    def _check_advertised(self, bootstrap: str, timeout_s: float) -> None:
        client = AdminClient({**_connection_settings(self._settings), "bootstrap.servers": bootstrap})
        try:
            # Of all topics: asked for one, a broker may make it; and the question goes to no other broker than the one
            # it was given.
            brokers = list(client.list_topics(timeout=timeout_s).brokers.values())
        except KafkaException as error:
            raise unreachable(self._topic, error) from error
        for broker in brokers:
            try:
                allowed_addresses(parse_broker(str(Place(broker.host or "", broker.port)), Kind.KAFKA), self._rules)
            except InvalidInput as error:
                log.warning(
                    "The Kafka of topic %s names broker %s:%s: %s", self._topic, broker.host, broker.port, error
                )
                raise InvalidInput(
                    f"The Kafka of topic '{self._topic}' names a broker that nothing configured allows; the log "
                    "has its address.",
                    remedy=f"Have the administrator allow all brokers of that Kafka ({Kind.KAFKA.setting}).",
                ) from error


def unreachable(topic: str, cause: object) -> Unavailable:
    """The error for brokers that do not do what they should, whether closed, filtered or something else; the log has
    the cause.
    """
    log.warning("Kafka topic %s cannot be read: %s", topic, cause)
    return Unavailable(
        f"Kafka topic '{topic}' cannot be read: its brokers cannot be reached, or are none.",
        remedy="Check the brokers and security.protocol. The cause stands in the log of the process that tried.",
        topic=topic,
    )


def _connection_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Those that a client needs to connect, without what belongs to consumers."""
    wanted = (
        "security.",
        "sasl.",
        "ssl.",
        "enable.ssl.",
        "socket.",
        "broker.address.",
        "client.id",
        "log_level",
        "reconnect.",
    )
    return {k: v for k, v in settings.items() if k.startswith(wanted)}
