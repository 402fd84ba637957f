"""Stream configs of a REALTIME table: Pinot's keys, their defaults and refusals, for every stream that
the table reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from segments.domain.formats.config_text import config_text
from segments.domain.formats.whole_number import whole_number
from segments.domain.realtime.streams.offset_criteria import LARGEST, OffsetCriteria, parse_criteria
from segments.domain.tables.table_config import TableConfig, parse_period
from segments.errors import InvalidInput

T = TypeVar("T")
DecoderKind = Literal["json", "avro", "confluent-avro", "csv"]

#: Partition p of the i-th stream of a table is known as i * 10000 + p.
PARTITIONS_PER_STREAM: Final = 10_000
DEFAULT_FLUSH_ROWS: Final = 5_000_000
DEFAULT_FLUSH_TIME_MS: Final = 6 * 3_600_000
DEFAULT_SEGMENT_BYTES: Final = 200 * 1024 * 1024
DEFAULT_INITIAL_ROWS: Final = 100_000
DEFAULT_FETCH_TIMEOUT_MS: Final = 5_000
DEFAULT_CONNECTION_TIMEOUT_MS: Final = 30_000
DEFAULT_COMMIT_TIMEOUT_S: Final = 120
DEFAULT_DOWNLOAD_WAIT_S: Final = 600

_TYPES: Final = ("kafka", "redis", "memory")
_FLUSH: Final = "realtime.segment.flush."
_OFFSET_RESET: Final = "auto.offset.reset"
#: Last part of a decoder's class name, and our own short words -> what it decodes.
_DECODERS: Final[dict[str, DecoderKind]] = {
    "JSONMessageDecoder": "json", "KafkaJSONMessageDecoder": "json", "SimpleAvroMessageDecoder": "avro",
    "KafkaAvroMessageDecoder": "confluent-avro", "KafkaConfluentSchemaRegistryAvroMessageDecoder": "confluent-avro",
    "CSVMessageDecoder": "csv", "json": "json", "avro": "avro", "confluent-avro": "confluent-avro", "csv": "csv",
}  # fmt: skip
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)B?", re.IGNORECASE)
_POWERS: Final = " KMGTP"


@dataclass(frozen=True)
class DecoderConfig:
    """What the messages are, and the decoder's own properties (``stream.<type>.decoder.prop.*``)."""

    kind: DecoderKind
    properties: Mapping[str, str]


@dataclass(frozen=True)
class FlushThresholds:
    """When a consuming segment is committed; keys ``realtime.segment.flush.*`` and their older spellings.

    ``rows``: rows on one server, divided by its partitions; 0 means autotune. ``segment_rows``: exactly that many per
    segment. ``segment_bytes``: wished size of a committed segment. None: not given. ``variance``: random share added to
    an autotuned limit.
    """

    rows: int | None = None
    segment_rows: int | None = None
    segment_bytes: int | None = None
    time_ms: int = DEFAULT_FLUSH_TIME_MS
    initial_rows: int = DEFAULT_INITIAL_ROWS
    variance: float = 0.0


@dataclass(frozen=True)
class StreamConfig:
    """One stream of a table. ``download_wait_s``: how long servers wait for a copy of a segment that is being
    committed. ``index`` is its position in ``streamConfigMaps``, ``raw`` the map as given (values as text).

    ``properties`` go to the stream's client as they are: ``stream.<type>.consumer.prop.*`` and every key that is not a
    key of Pinot's, such as ``security.protocol``.
    """

    index: int
    type: str
    topic: str
    decoder: DecoderConfig
    criteria: OffsetCriteria
    flush: FlushThresholds
    commit_timeout_s: int
    fetch_timeout_ms: int
    connection_timeout_ms: int
    properties: Mapping[str, str]
    raw: Mapping[str, str]
    download_wait_s: int = DEFAULT_DOWNLOAD_WAIT_S

    def option(self, name: str, default: str | None = None) -> str | None:
        """The value of ``stream.<type>.<name>``."""
        return self.raw.get(f"stream.{self.type}.{name}", default)

    @property
    def upload_to_deep_store(self) -> bool | None:
        """``realtime.segment.serverUploadToDeepStore``; None when the server's own setting decides."""
        given = self.raw.get("realtime.segment.serverUploadToDeepStore")
        return None if given is None else given.strip().lower() == "true"

    def partition_id(self, stream_partition: int) -> int:
        """The table's id of a partition of this stream."""
        return self.index * PARTITIONS_PER_STREAM + stream_partition


def split_partition_id(partition_id: int) -> tuple[int, int]:
    """(index of the stream, partition within the stream) of a table's partition id."""
    return divmod(partition_id, PARTITIONS_PER_STREAM)


def stream_maps(config: TableConfig) -> list[dict[str, str]]:
    """The maps as text, from ``ingestionConfig.streamIngestionConfig.streamConfigMaps`` or
    ``tableIndexConfig.streamConfigs``.

    Raises InvalidInput when there is none, or both places have some.
    """
    listed, single = config.streaming.stream_config_maps, config.index.stream_configs
    if listed and single:
        raise InvalidInput(
            f"Table '{config.table}' has stream configs in two places.",
            remedy="Keep ingestionConfig.streamIngestionConfig.streamConfigMaps and remove "
            "tableIndexConfig.streamConfigs.",
        )
    if not listed and not single:
        raise InvalidInput(
            f"Table '{config.table}' names no stream.",
            remedy="Give ingestionConfig.streamIngestionConfig.streamConfigMaps one entry.",
        )
    return [{k: str(v) for k, v in given.items() if v is not None} for given in listed or [single or {}]]


def stream_configs(config: TableConfig) -> tuple[StreamConfig, ...]:
    """All streams that a REALTIME table reads. Raises InvalidInput naming the key and what is wrong with it."""
    return tuple(parse_stream_config(m, index) for index, m in enumerate(stream_maps(config)))


def stream_of(config: TableConfig, partition_id: int) -> StreamConfig:
    """The stream that a partition id of the table belongs to. Raises InvalidInput when the table has no such stream."""
    index, maps = split_partition_id(partition_id)[0], stream_maps(config)
    if index >= len(maps):
        raise InvalidInput(
            f"Partition {partition_id} belongs to stream {index} of table '{config.table}', which has {len(maps)}."
        )
    return parse_stream_config(maps[index], index)


def parse_stream_config(given: Mapping[str, Any], index: int = 0) -> StreamConfig:
    """One map. Raises InvalidInput naming the key and what is wrong with it."""
    raw = {str(k): config_text(v) for k, v in given.items() if v is not None}
    kind = raw.get("streamType", "").strip().lower()
    if kind not in _TYPES:
        raise InvalidInput(f"'streamType' is {raw.get('streamType')!r}.", remedy="Use kafka or redis.")
    prefix = f"stream.{kind}."
    topic = raw.get(prefix + "topic.name", "").strip()
    if not topic:
        raise InvalidInput(f"'{prefix}topic.name' is missing in the stream config.")
    if "highlevel" in raw.get(prefix + "consumer.type", "").lower():
        raise InvalidInput(
            f"'{prefix}consumer.type' highlevel is not supported.", remedy="Use lowlevel, or leave the key out."
        )
    reset = raw.get(f"{prefix}consumer.prop.{_OFFSET_RESET}", "")
    return StreamConfig(
        index=index,
        type=kind,
        topic=topic,
        decoder=_decoder(raw, kind),
        criteria=parse_criteria(reset) if reset.strip() else LARGEST,
        flush=_flush(raw),
        commit_timeout_s=_lenient(raw, "realtime.segment.commit.timeoutSeconds", DEFAULT_COMMIT_TIMEOUT_S),
        fetch_timeout_ms=_lenient(raw, prefix + "fetch.timeout.millis", DEFAULT_FETCH_TIMEOUT_MS),
        connection_timeout_ms=_lenient(raw, prefix + "connection.timeout.millis", DEFAULT_CONNECTION_TIMEOUT_MS),
        properties=_client_properties(raw, prefix),
        raw=raw,
        download_wait_s=_lenient(
            raw,
            "realtime.segment.pauseless.download.timeoutSeconds",
            60 * _lenient(raw, "segmentDownloadTimeoutMinutes", DEFAULT_DOWNLOAD_WAIT_S // 60),
        ),
    )


def parse_size(text: str) -> int | None:
    """``200M``, ``1.5GB``, ``1048576`` -> bytes (powers of 1024); None for anything else."""
    found = _SIZE.fullmatch(text.strip())
    return int(float(found[1]) * 1024 ** _POWERS.index(found[2].upper() or " ")) if found else None


def _decoder(raw: Mapping[str, str], kind: str) -> DecoderConfig:
    key, prefix = f"stream.{kind}.decoder.class.name", f"stream.{kind}.decoder.prop."
    given = raw.get(key, "").strip() or ("json" if kind != "kafka" else "")
    properties = {k.removeprefix(prefix): v for k, v in raw.items() if k.startswith(prefix)}
    found = _DECODERS.get(given.rsplit(".", 1)[-1])
    if found is None:
        raise InvalidInput(
            f"'{key}' is {given!r}, which is not a decoder that this cluster has."
            if given
            else f"'{key}' is missing in the stream config.",
            remedy=f"Use one of {', '.join(_DECODERS)}.",
        )
    needed = {"avro": "schema", "confluent-avro": "schema.registry.rest.url", "csv": "header"}.get(found)
    if needed and not properties.get(needed):
        raise InvalidInput(f"The decoder {given} needs '{prefix}{needed}'.")
    return DecoderConfig(found, properties)


def _client_properties(raw: Mapping[str, str], prefix: str) -> dict[str, str]:
    own = {k: v for k, v in raw.items() if not k.startswith(("stream.", "realtime.")) and k != "streamType"}
    named = {
        k.removeprefix(prefix + "consumer.prop."): v for k, v in raw.items() if k.startswith(prefix + "consumer.prop.")
    }
    return {k: v for k, v in {**own, **named}.items() if k != _OFFSET_RESET}


def _flush(raw: Mapping[str, str]) -> FlushThresholds:
    rows = _first(raw, f"{_FLUSH}threshold.rows", f"{_FLUSH}threshold.size", f"{_FLUSH}threshold.size.llc")
    exact = _first(raw, f"{_FLUSH}threshold.segment.rows")
    size = _first(raw, f"{_FLUSH}threshold.segment.size", f"{_FLUSH}desired.size")
    time = _first(raw, f"{_FLUSH}threshold.time", f"{_FLUSH}threshold.time.llc")
    variance = _first(raw, f"{_FLUSH}threshold.variance.fraction")
    initial = _lenient(raw, f"{_FLUSH}autotune.initialRows", DEFAULT_INITIAL_ROWS)
    return FlushThresholds(
        rows=None if rows is None else _number(*rows),
        segment_rows=None if exact is None else _number(*exact),
        segment_bytes=None if size is None else _parsed(*size, parse_size, "a size such as 200M"),
        time_ms=DEFAULT_FLUSH_TIME_MS
        if time is None
        else _parsed(*time, _period_or_ms, "a period such as 6h or milliseconds"),
        initial_rows=initial if initial > 0 else DEFAULT_INITIAL_ROWS,
        variance=0.0 if variance is None else _parsed(*variance, _fraction, "a number from 0 to below 0.5"),
    )


def _first(raw: Mapping[str, str], *keys: str) -> tuple[str, str] | None:
    """The first of the keys that is given, with its value: newer spellings win over older ones."""
    return next(((k, raw[k]) for k in keys if k in raw), None)


def _parsed(key: str, text: str, read: Callable[[str], T | None], what: str) -> T:
    value = read(text)
    if value is None:
        raise InvalidInput(f"'{key}' is {text!r}, which is not {what}.")
    return value


def _number(key: str, text: str) -> int:
    return _parsed(key, text, _integer, "a whole number")


def _integer(text: str) -> int | None:
    try:
        value = int(text)
    except ValueError:
        return None
    return value if -(2**31) <= value < 2**31 else None


def _fraction(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < 0.5 else None


def _period_or_ms(text: str) -> int | None:
    period = parse_period(text)
    if period is not None:
        return period
    return whole_number(text.strip())


def _lenient(raw: Mapping[str, str], key: str, default: int) -> int:
    """As Pinot: a value that is not a number is as if it was not given."""
    try:
        return int(raw.get(key, ""))
    except ValueError:
        return default
