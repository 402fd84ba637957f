"""Which settings of a Kafka client a stream config may give, with their types and ranges; every other key is refused by
name.

librdkafka has settings that load libraries, run commands or call addresses. So the list says what is allowed, not what
is not: a setting that a later version brings is refused until it is put here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from segments.domain.realtime.streams.jaas import KEY as JAAS
from segments.domain.realtime.streams.jaas import parse_jaas
from segments.domain.realtime.streams.stream_config import StreamConfig
from segments.errors import InvalidInput

_LONGEST_NAME: Final = 1_000
_LONGEST_PEM: Final = 200_000
_MIB: Final = 1 << 20
_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True)
class Setting:
    """One allowed setting: what its value must be. ``low`` and ``high`` bound whole numbers and the length of texts."""

    kind: Literal["whole", "flag", "choice", "text", "pem", "file"]
    low: int = 0
    high: int = _LONGEST_NAME
    choices: tuple[str, ...] = ()

    @property
    def wanted(self) -> str:
        """What to give, for people."""
        match self.kind:
            case "whole":
                return f"a whole number from {self.low} to {self.high}"
            case "flag":
                return "true or false"
            case "choice":
                return "one of " + ", ".join(repr(c) for c in self.choices)
            case "file":
                return "the path of a file"
        return f"a text of at most {self.high} characters" + ("" if self.kind == "pem" else " in one line")


def _whole(low: int, high: int) -> Setting:
    return Setting("whole", low, high)


def _choice(*choices: str) -> Setting:
    return Setting("choice", choices=choices)


_FLAG: Final = Setting("flag")
_TEXT: Final = Setting("text")
_PEM: Final = Setting("pem", high=_LONGEST_PEM)
_FILE: Final = Setting("file")

#: By librdkafka's names; ranges are its own, or narrower where memory depends on them.
ALLOWED: Final[Mapping[str, Setting]] = {
    "security.protocol": _choice("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"),
    "sasl.mechanisms": _choice("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    "sasl.username": _TEXT,
    "sasl.password": _TEXT,
    "ssl.ca.location": _FILE,
    "ssl.certificate.location": _FILE,
    "ssl.key.location": _FILE,
    "ssl.keystore.location": _FILE,
    "ssl.crl.location": _FILE,
    "ssl.ca.pem": _PEM,
    "ssl.certificate.pem": _PEM,
    "ssl.key.pem": _PEM,
    "ssl.key.password": _TEXT,
    "ssl.keystore.password": _TEXT,
    "ssl.cipher.suites": _TEXT,
    "ssl.curves.list": _TEXT,
    "ssl.sigalgs.list": _TEXT,
    "ssl.endpoint.identification.algorithm": _choice("https", "none"),
    "enable.ssl.certificate.verification": _FLAG,
    "isolation.level": _choice("read_uncommitted", "read_committed"),
    "check.crcs": _FLAG,
    "client.rack": _TEXT,
    "fetch.min.bytes": _whole(1, 100_000_000),
    "fetch.max.bytes": _whole(1_000_000, 256 * _MIB),
    "fetch.message.max.bytes": _whole(1, 100 * _MIB),
    "fetch.wait.max.ms": _whole(0, 300_000),
    "fetch.error.backoff.ms": _whole(0, 300_000),
    "fetch.queue.backoff.ms": _whole(0, 300_000),
    "queued.min.messages": _whole(1, 1_000_000),
    "queued.max.messages.kbytes": _whole(1, 262_144),
    "message.max.bytes": _whole(1_000, 256 * _MIB),
    "receive.message.max.bytes": _whole(1_000, 300 * _MIB),
    "socket.timeout.ms": _whole(10, 300_000),
    "socket.connection.setup.timeout.ms": _whole(1_000, 300_000),
    "socket.send.buffer.bytes": _whole(0, 100_000_000),
    "socket.receive.buffer.bytes": _whole(0, 100_000_000),
    "socket.keepalive.enable": _FLAG,
    "socket.nagle.disable": _FLAG,
    "socket.max.fails": _whole(0, 1_000_000),
    "connections.max.idle.ms": _whole(0, _HOUR_MS),
    "reconnect.backoff.ms": _whole(0, _HOUR_MS),
    "reconnect.backoff.max.ms": _whole(0, _HOUR_MS),
    "retry.backoff.ms": _whole(1, 300_000),
    "retry.backoff.max.ms": _whole(1, 300_000),
    "topic.metadata.refresh.interval.ms": _whole(1_000, _HOUR_MS),
    "metadata.max.age.ms": _whole(1_000, 86_400_000),
    "broker.address.family": _choice("any", "v4", "v6"),
    "broker.address.ttl": _whole(0, 86_400_000),
}

#: The Java client's name -> librdkafka's.
RENAMED: Final[Mapping[str, str]] = {
    "sasl.mechanism": "sasl.mechanisms",
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "max.partition.fetch.bytes": "fetch.message.max.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "request.timeout.ms": "socket.timeout.ms",
    "socket.connection.setup.timeout.max.ms": "socket.connection.setup.timeout.ms",
}

#: Settings of the Java client that mean nothing to librdkafka, or that this client decides itself: taken and left
#: alone.
IGNORED: Final = frozenset(
    {
        "key.deserializer",
        "value.deserializer",
        "group.id",
        "group.instance.id",
        "client.id",
        "enable.auto.commit",
        "auto.commit.interval.ms",
        "max.poll.records",
        "max.poll.interval.ms",
        "session.timeout.ms",
        "heartbeat.interval.ms",
        "default.api.timeout.ms",
        "client.dns.lookup",
        "partition.assignment.strategy",
        "interceptor.classes",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "auto.include.jmx.reporter",
        "exclude.internal.topics",
        "allow.auto.create.topics",
        "enable.metrics.push",
        "group.protocol",
        "ssl.truststore.type",
        "ssl.keystore.type",
        "ssl.truststore.password",
        "ssl.protocol",
        "ssl.provider",
        "ssl.enabled.protocols",
        "ssl.keymanager.algorithm",
        "ssl.trustmanager.algorithm",
        "ssl.secure.random.implementation",
        "ssl.engine.factory.class",
        "security.providers",
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "config.providers",
        "type",
    }
)

#: Why a key that people do write is refused.
_WHY: Final[Mapping[str, str]] = {
    "sasl.kerberos.": "Kerberos makes the client run a command",
    "sasl.oauthbearer.": "the client would ask an address for a token",
    "plugin.": "it makes the client load a library",
    "ssl.engine": "it makes the client load a library",
    "ssl.providers": "it makes the client load a library",
    "metadata.broker.list": "the brokers are given by 'stream.kafka.broker.list'",
    "bootstrap.servers": "the brokers are given by 'stream.kafka.broker.list'",
}

KafkaValue = str | int | bool


def kafka_settings(config: StreamConfig) -> dict[str, KafkaValue]:
    """What the config gives for the client, by librdkafka's names, typed. Files are paths as given; who uses them
    checks where they lie.

    Raises InvalidInput naming the first key that is not allowed, or whose value does not fit, and what is.
    """
    given = {k: v for k, v in config.properties.items() if k != "bootstrap.servers"}
    found: dict[str, KafkaValue] = {f"sasl.{k}": v for k, v in parse_jaas(given.pop(JAAS, "")).items()}
    if isolation := config.option("isolation.level"):
        given.setdefault("isolation.level", isolation)
    for key, value in _readable_stores(given).items():
        if key not in IGNORED:
            name = RENAMED.get(key, key)
            found[name] = _typed(
                key, _allowed(key, name), value.strip() if name not in ("sasl.password", "ssl.key.password") else value
            )
    _check_login(found)
    return found


def check_client(config: StreamConfig) -> None:
    """Raises InvalidInput for a config of a Kafka stream with a setting that is not allowed; streams of other kinds
    have none.
    """
    if config.type == "kafka":
        kafka_settings(config)


def file_settings(settings: Mapping[str, KafkaValue]) -> dict[str, str]:
    """Those of the settings that name files: {name: path}."""
    return {k: str(v) for k, v in settings.items() if k in ALLOWED and ALLOWED[k].kind == "file"}


def _allowed(key: str, name: str) -> Setting:
    setting = ALLOWED.get(name)
    if setting is not None:
        return setting
    why = next(
        (text for start, text in _WHY.items() if name.startswith(start)), "it is not a setting that a table may give"
    )
    raise InvalidInput(
        f"The stream config's Kafka setting '{key}' is not allowed: {why}.",
        remedy=f"Remove it. Allowed are {', '.join(sorted(ALLOWED))}, the Java client's names for them, and "
        "sasl.jaas.config.",
        field=key,
    )


def _typed(key: str, setting: Setting, text: str) -> KafkaValue:
    value: KafkaValue | None = None
    match setting.kind:
        case "whole":
            number = int(text) if text.isascii() and text.removeprefix("-").isdigit() and len(text) < 20 else None
            value = number if number is not None and setting.low <= number <= setting.high else None
        case "flag":
            value = {"true": True, "false": False}.get(text.lower())
        case "choice":
            lowered = {c.lower(): c for c in setting.choices}
            value = lowered.get(text.lower() or "none")  # the Java client's empty text: no check of the host's name
        case "pem":
            value = text if len(text) <= setting.high and "\0" not in text else None
        case _:
            value = text if 0 < len(text) <= setting.high and text.isprintable() else None
    if value is None:
        shown = f" is {text[:60]!r}, which" if setting.kind in ("whole", "flag", "choice") else ""
        raise InvalidInput(f"The stream config's Kafka setting '{key}'{shown} is not {setting.wanted}.", field=key)
    return value


def _check_login(found: Mapping[str, KafkaValue]) -> None:
    """Without a mechanism librdkafka takes Kerberos, which runs a command."""
    if str(found.get("security.protocol", "")).startswith("sasl_") and "sasl.mechanisms" not in found:
        raise InvalidInput(
            "'security.protocol' asks for a login, but 'sasl.mechanism' is missing in the stream config.",
            remedy=f"Give {ALLOWED['sasl.mechanisms'].wanted}.",
            field="sasl.mechanism",
        )


def _readable_stores(given: Mapping[str, str]) -> dict[str, str]:
    """The same with a PEM key store split into certificate and key. Raises InvalidInput for Java's own key stores."""
    out = dict(given)
    for kind, allowed in (("truststore", ("PEM",)), ("keystore", ("PEM", "PKCS12"))):
        location = out.get(f"ssl.{kind}.location")
        form = out.get(f"ssl.{kind}.type", "JKS").upper()
        named = location is not None and location.lower().endswith((".pem", ".crt", ".p12", ".pfx"))
        if location and form not in allowed and not named:
            raise InvalidInput(
                f"'ssl.{kind}.location' is a Java key store, which librdkafka does not read.",
                remedy=f"Use {' or '.join(allowed)}.",
            )
    location = out.get("ssl.keystore.location", "")
    if location and (out.get("ssl.keystore.type", "").upper() == "PEM" or location.lower().endswith((".pem", ".crt"))):
        del out["ssl.keystore.location"]
        out["ssl.certificate.location"] = location
        out.setdefault("ssl.key.location", location)
    return out
