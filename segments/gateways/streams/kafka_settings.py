"""What a Kafka consumer here is built with: this client's own settings, and what the stream config may add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from segments.domain.realtime.streams.kafka_settings import file_settings, kafka_settings
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.gateways.outgoing.configured_folders import file_below

#: What changes for a client that reads a few messages only: it takes little into memory ahead.
BRIEF: Final[dict[str, Any]] = {
    "queued.min.messages": 200,
    "queued.max.messages.kbytes": 2_048,
    "fetch.message.max.bytes": 1 << 20,
}


def client_settings(config: StreamConfig, file_roots: Sequence[str] = ()) -> dict[str, Any]:
    """Settings of a consumer that gets its offsets from us and never commits any. Files must lie below ``file_roots``.
    Where it connects to is decided by ``KafkaBrokers``.

    Raises InvalidInput for a setting that is not allowed or cannot work, also for a config that was stored before it
    was checked.
    """
    given = kafka_settings(config)
    files = {name: file_below(file_roots, path, name) for name, path in file_settings(given).items()}
    return {
        "group.id": f"pinotadmin-{config.topic}",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": False,
        "isolation.level": "read_uncommitted",
        "allow.auto.create.topics": False,
        "topic.metadata.refresh.interval.ms": 30_000,
        # as soon as anything is there; a consumer far behind is filled up in the background
        "fetch.min.bytes": 1,
        "fetch.wait.max.ms": 100,
        "queued.min.messages": 50_000,
        "queued.max.messages.kbytes": 32_768,
        "fetch.queue.backoff.ms": 2,
        "fetch.message.max.bytes": 4_194_304,
        "fetch.error.backoff.ms": 50,
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 2_000,
        "log_level": 0,
        "client.id": "pinotadmin",
        **given,
        **files,
    }
