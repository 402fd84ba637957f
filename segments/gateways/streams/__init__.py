"""Streams that REALTIME tables read: Kafka and Redis Streams behind one protocol."""

from __future__ import annotations

from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.errors import InvalidInput
from segments.gateways.streams.access import StreamAccess, stream_access
from segments.gateways.streams.base import Batch, PartitionConsumer, Stream, offset_for
from segments.gateways.streams.redis_connections import look_up_redis
from segments.gateways.streams.schema_registry import SchemaRegistry

__all__ = [
    "Batch",
    "PartitionConsumer",
    "Stream",
    "StreamAccess",
    "check_stream",
    "offset_for",
    "open_stream",
    "stream_access",
]


def check_stream(config: StreamConfig, access: StreamAccess) -> None:
    """Raises InvalidInput for a config whose stream or registry would be refused when it is used; resolves names,
    connects nowhere.
    """
    open_stream(config, access).close()
    if config.type == "kafka":
        # heavy: only who has such a stream needs its client
        from segments.gateways.streams.kafka_brokers import KafkaBrokers

        KafkaBrokers(config, access, {}).look_up()
    if config.type == "redis":
        look_up_redis(config.option("url") or "", access)
    if config.decoder.kind == "confluent-avro":
        SchemaRegistry(config.decoder.properties, access.registries).look_up()


def open_stream(config: StreamConfig, access: StreamAccess | None = None) -> Stream:
    """The stream of a config; connects when first used. Raises InvalidInput for settings that cannot work or are not
    allowed.
    """
    known = access or StreamAccess()
    if config.type == "kafka":
        from segments.gateways.streams.kafka import (
            KafkaStream,
        )  # librdkafka is loaded by processes that read Kafka only

        return KafkaStream(config, known)
    if config.type == "redis":
        # heavy, as above
        from segments.gateways.streams.redis import RedisStream

        return RedisStream(config, known)
    raise InvalidInput(f"Stream type '{config.type}' cannot be opened.", remedy="Use kafka or redis.")
