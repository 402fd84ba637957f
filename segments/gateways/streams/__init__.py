"""Streams that REALTIME tables read: Kafka and Redis Streams behind one protocol."""

from __future__ import annotations

from dataclasses import dataclass

from segments.domain.stream_config import StreamConfig
from segments.errors import InvalidInput
from segments.gateways.streams.base import Batch, PartitionConsumer, Stream, offset_for

__all__ = ["Batch", "PartitionConsumer", "Stream", "StreamDefaults", "offset_for", "open_stream"]


@dataclass(frozen=True)
class StreamDefaults:
    """Where the streams are when a table's config does not say it: the installation's own Redis, the configured Kafka."""

    redis_url: str = ""
    kafka_bootstrap: str = ""


def open_stream(config: StreamConfig, defaults: StreamDefaults | None = None) -> Stream:
    """The stream of a config; connects when first used. Raises InvalidInput for settings that can not work."""
    known = defaults or StreamDefaults()
    if config.type == "kafka":
        from segments.gateways.streams.kafka import KafkaStream  # librdkafka is loaded by processes that read Kafka only

        return KafkaStream(config, known.kafka_bootstrap)
    if config.type == "redis":
        from segments.gateways.streams.redis import RedisStream

        return RedisStream(config, known.redis_url)
    raise InvalidInput(f"Stream type '{config.type}' can not be opened.", remedy="Use kafka or redis.")
