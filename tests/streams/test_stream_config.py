"""Stream configs: both places, Pinot's keys with their older spellings, refusals that name the key."""

from __future__ import annotations

from typing import Any

import pytest

from segments.domain.realtime.streams.offset_criteria import LARGEST, SMALLEST
from segments.domain.realtime.streams.stream_config import (
    parse_size,
    parse_stream_config,
    split_partition_id,
    stream_configs,
    stream_of,
)
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput

KAFKA = {
    "streamType": "kafka", "stream.kafka.topic.name": "t",
    "stream.kafka.decoder.class.name": "org.apache.pinot.plugin.inputformat.json.JSONMessageDecoder",
}  # fmt: skip
FLUSH = "realtime.segment.flush."


def table(**body: Any) -> Any:
    return parse_table_config({"tableName": "t", "tableType": "REALTIME", **body})


def kafka(**keys: Any) -> Any:
    return parse_stream_config({**KAFKA, **keys})


def test_both_places_are_read_but_not_together() -> None:
    new = {"ingestionConfig": {"streamIngestionConfig": {"streamConfigMaps": [KAFKA]}}}
    old = {"tableIndexConfig": {"streamConfigs": KAFKA}}
    assert stream_configs(table(**new)) == stream_configs(table(**old))
    with pytest.raises(InvalidInput, match="two places"):
        stream_configs(table(**new, **old))
    with pytest.raises(InvalidInput, match="no stream"):
        stream_configs(table())


def test_partition_ids_name_stream_and_partition() -> None:
    two = table(
        ingestionConfig={
            "streamIngestionConfig": {"streamConfigMaps": [KAFKA, {**KAFKA, "stream.kafka.topic.name": "u"}]}
        }
    )
    assert stream_configs(two)[1].partition_id(3) == 10_003
    assert split_partition_id(10_003) == (1, 3)
    assert (stream_of(two, 10_003).topic, stream_of(two, 7).topic) == ("u", "t")
    with pytest.raises(InvalidInput, match="stream 2"):
        stream_of(two, 20_000)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("org.apache.pinot.plugin.inputformat.json.JSONMessageDecoder", "json"),
        ("csv", "csv"),
        ("org.apache.pinot.plugin.inputformat.avro.SimpleAvroMessageDecoder", "avro"),
        (
            "org.apache.pinot.plugin.inputformat.avro.confluent.KafkaConfluentSchemaRegistryAvroMessageDecoder",
            "confluent-avro",
        ),
    ],
)
def test_decoders_are_known_by_pinots_class_names(given: str, kind: str) -> None:
    prop = "stream.kafka.decoder.prop."
    props = {f"{prop}schema": '"int"', f"{prop}schema.registry.rest.url": "http://r", f"{prop}header": "a"}
    assert kafka(**{"stream.kafka.decoder.class.name": given}, **props).decoder.kind == kind


def test_redis_decodes_json_by_default() -> None:
    assert parse_stream_config({"streamType": "redis", "stream.redis.topic.name": "t"}).decoder.kind == "json"


def test_older_spellings_of_the_flush_thresholds_count_and_newer_ones_win() -> None:
    assert kafka(**{f"{FLUSH}threshold.size.llc": "5"}).flush.rows == 5
    assert kafka(**{f"{FLUSH}threshold.size": "6", f"{FLUSH}threshold.rows": 7}).flush.rows == 7
    assert kafka(**{f"{FLUSH}desired.size": "150M"}).flush.segment_bytes == 150 * 1024 * 1024
    assert kafka(**{f"{FLUSH}threshold.segment.rows": "8"}).flush.segment_rows == 8
    assert kafka(**{f"{FLUSH}threshold.time": "1d2h"}).flush.time_ms == 26 * 3_600_000
    assert kafka(**{f"{FLUSH}threshold.time": "3600000"}).flush.time_ms == 3_600_000
    default = kafka().flush
    assert (default.rows, default.segment_rows, default.segment_bytes, default.time_ms) == (
        None,
        None,
        None,
        6 * 3_600_000,
    )


@pytest.mark.parametrize("keys", [
    {f"{FLUSH}threshold.rows": "many"}, {f"{FLUSH}threshold.time": "soon"}, {f"{FLUSH}threshold.segment.size": "big"},
    {f"{FLUSH}threshold.variance.fraction": "0.5"}, {"stream.kafka.consumer.prop.auto.offset.reset": "yesterday"},
    {"stream.kafka.decoder.class.name": "com.example.Own"}, {"stream.kafka.decoder.class.name": None},
    {"stream.kafka.topic.name": " "}, {"streamType": "pulsar"}, {"stream.kafka.consumer.type": "highLevel"},
    {"stream.kafka.decoder.class.name": "avro"}, {"stream.kafka.decoder.class.name": "csv"},
])  # fmt: skip
def test_a_wrong_value_is_refused_and_the_message_names_its_key(keys: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        kafka(**keys)
    key = next(iter(keys))
    assert key.rsplit(".", 2)[-1] in str(refused.value) or "decoder" in str(refused.value)


def test_where_to_begin() -> None:
    reset = "stream.kafka.consumer.prop.auto.offset.reset"
    assert kafka().criteria == LARGEST
    assert kafka(**{reset: "Smallest"}).criteria == SMALLEST
    assert kafka(**{reset: "2h30m"}).criteria.moment_ms(10_000_000) == 1_000_000
    assert kafka(**{reset: "2022-08-09T12:31:38.222Z"}).criteria.moment_ms(0) == 1_660_048_298_222


def test_settings_of_the_client_are_those_that_are_no_keys_of_pinot() -> None:
    found = kafka(
        **{"security.protocol": "SSL", "stream.kafka.consumer.prop.fetch.max.bytes": 5, f"{FLUSH}threshold.rows": "5"}
    )
    assert found.properties == {"security.protocol": "SSL", "fetch.max.bytes": "5"}


def test_a_time_limit_that_is_no_number_is_as_if_not_given() -> None:
    assert kafka(**{"realtime.segment.commit.timeoutSeconds": "x"}).commit_timeout_s == 120
    assert kafka(**{"stream.kafka.fetch.timeout.millis": "500"}).fetch_timeout_ms == 500


@pytest.mark.parametrize(
    ("keys", "seconds"),
    [
        pytest.param({}, 600, id="neither"),
        pytest.param({"realtime.segment.pauseless.download.timeoutSeconds": "45"}, 45, id="seconds"),
        pytest.param({"segmentDownloadTimeoutMinutes": "2"}, 120, id="the older key"),
        pytest.param(
            {"realtime.segment.pauseless.download.timeoutSeconds": "45", "segmentDownloadTimeoutMinutes": "2"},
            45,
            id="both",
        ),
    ],
)
def test_a_copy_of_what_is_being_committed_is_waited_for_as_long_as_the_table_says(
    keys: dict[str, str], seconds: int
) -> None:
    assert kafka(**keys).download_wait_s == seconds


def test_sizes() -> None:
    assert [parse_size(t) for t in ("1.5G", "10KB", "7", "7 b", "x")] == [int(1.5 * 2**30), 10_240, 7, 7, None]
