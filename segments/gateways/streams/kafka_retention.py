"""How long a Kafka topic keeps messages, by the settings that its brokers report."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # they are not in its __all__
    ConfigResource,
    ResourceType,
)

from segments.domain.realtime.streams.retention import Retention, unknown

log = logging.getLogger(__name__)
_MS: Final = "retention.ms"
_BYTES: Final = "retention.bytes"
_POLICY: Final = "cleanup.policy"


def topic_retention(client: Any, topic: str, timeout_s: float) -> Retention:
    """By ``retention.ms`` and ``retention.bytes``; unknown where the login may not read the topic's settings."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    try:
        answer = client.describe_configs([resource], request_timeout=timeout_s)[resource].result(timeout_s)
    except (KafkaException, TimeoutError) as error:
        log.info("The settings of Kafka topic %s cannot be read: %s", topic, error)
        return unknown("its Kafka does not report the topic's settings to the table's login")
    return retention_of({name: str(entry.value) for name, entry in answer.items()})


def retention_of(settings: Mapping[str, str]) -> Retention:
    """The same of a topic's settings by name, values as text."""
    if "delete" not in settings.get(_POLICY, "delete"):
        return unknown("the topic is compacted: of the messages with one key the newest stays")
    period, size = _number(settings.get(_MS)), _number(settings.get(_BYTES))
    limit = size if size is not None and size >= 0 else None
    if period is None:
        return unknown("its Kafka does not report the topic's settings")
    if period < 0:
        return unknown(f"the oldest go beyond {limit:,} bytes of a partition") if limit else Retention("forever")
    return Retention("time", period, limit)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.lstrip("-").isdecimal() else None
