"""A stream config's Kafka settings, written for the Java client, as librdkafka wants them."""

from __future__ import annotations

import re
from typing import Any, Final

from segments.domain.stream_config import StreamConfig
from segments.errors import InvalidInput

#: Settings of the Java client that mean nothing to librdkafka, or that this client decides itself.
_IGNORED: Final = frozenset({
    "key.deserializer", "value.deserializer", "group.id", "client.id", "enable.auto.commit", "auto.commit.interval.ms", "max.poll.records",
    "partition.assignment.strategy", "interceptor.classes", "metric.reporters", "ssl.truststore.type", "ssl.keystore.type",
    "ssl.truststore.password", "ssl.protocol", "ssl.secure.random.implementation", "sasl.client.callback.handler.class", "type",
})  # fmt: skip
_RENAMED: Final = {
    "ssl.truststore.location": "ssl.ca.location", "ssl.truststore.certificates": "ssl.ca.pem", "ssl.keystore.key": "ssl.key.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem", "ssl.cipher.suites": "ssl.cipher.suites", "max.partition.fetch.bytes":
    "fetch.message.max.bytes", "fetch.max.wait.ms": "fetch.wait.max.ms", "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes", "request.timeout.ms": "socket.timeout.ms",
}  # fmt: skip
_JAAS = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')


def client_settings(config: StreamConfig, bootstrap: str) -> dict[str, Any]:
    """Settings of a consumer that is told its offsets and never commits any. Raises InvalidInput for what librdkafka can not do."""
    servers = config.option("broker.list") or config.properties.get("bootstrap.servers") or bootstrap
    if not servers:
        raise InvalidInput("'stream.kafka.broker.list' is missing in the stream config.")
    settings: dict[str, Any] = {
        "bootstrap.servers": servers, "group.id": f"pinotadmin-{config.topic}",
        "enable.auto.commit": False, "enable.auto.offset.store": False,
        "auto.offset.reset": "error", "enable.partition.eof": False,
        "isolation.level": config.option("isolation.level") or "read_uncommitted",
        "allow.auto.create.topics": False, "topic.metadata.refresh.interval.ms": 30_000,
        # as soon as anything is there; a consumer far behind is filled up in the background
        "fetch.min.bytes": 1, "fetch.wait.max.ms": 100, "queued.min.messages": 50_000, "queued.max.messages.kbytes": 32_768,
        "fetch.queue.backoff.ms": 2, "fetch.message.max.bytes": 4_194_304,
        "fetch.error.backoff.ms": 50, "reconnect.backoff.ms": 100, "reconnect.backoff.max.ms": 2_000, "log_level": 0,
        "client.id": "pinotadmin",
    }  # fmt: skip
    given = dict(config.properties)
    given.pop("bootstrap.servers", None)
    settings.update(_login(given.pop("sasl.jaas.config", "")))
    _check_stores(given)
    for key, value in given.items():
        if key not in _IGNORED:
            settings[_RENAMED.get(key, key)] = value
    return settings


def _login(jaas: str) -> dict[str, str]:
    """User and password of ``sasl.jaas.config``: PLAIN and SCRAM name them so."""
    found = {k: re.sub(r"\\(.)", r"\1", v) for k, v in _JAAS.findall(jaas)}
    return {f"sasl.{k}": found[k] for k in ("username", "password") if k in found}


def _check_stores(given: dict[str, str]) -> None:
    for kind, allowed, default in (("truststore", ("PEM",), "JKS"), ("keystore", ("PEM", "PKCS12"), "JKS")):
        location = given.get(f"ssl.{kind}.location")
        form = given.get(f"ssl.{kind}.type", default).upper()
        named = location is not None and location.lower().endswith((".pem", ".crt", ".p12", ".pfx"))
        if location and form not in allowed and not named:
            raise InvalidInput(
                f"'ssl.{kind}.location' is a Java key store, which librdkafka does not read.", remedy=f"Use {' or '.join(allowed)}."
            )
    location = given.get("ssl.keystore.location", "")
    if location and (given.get("ssl.keystore.type", "").upper() == "PEM" or location.lower().endswith((".pem", ".crt"))):
        given.pop("ssl.keystore.location")
        given["ssl.certificate.location"] = location
        given.setdefault("ssl.key.location", location)
