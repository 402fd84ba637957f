"""The typed models of table config and schema: what Pinot's parser takes is taken, everything else is refused with its
path.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from segments.domain.formats.json_model import Flag, Long, Real, Text, Whole, read_model
from segments.domain.formats.whole_number import whole_number
from segments.domain.realtime.realtime_table import check_realtime
from segments.domain.replacement.replacement_settings import replacement_settings
from segments.domain.segments.peer_download_rules import check_peer_scheme
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import check_against_schema, from_record, parse_table_config
from segments.domain.tables.table_model import TableModel
from segments.errors import InvalidInput
from segments.segmentfile.columns.ingest import read_ingestion
from segments.segmentfile.columns.settings import column_settings
from segments.services.replacement.checks.check_settings import validate_checks

SCHEMA: dict[str, Any] = {
    "schemaName": "t",
    "dimensionFieldSpecs": [
        {
            "name": "v",
            "dataType": "STRING",
            "maxLength": 10,
            "defaultNullValue": "x",
            "transformFunction": "upper(w)",
            "notNull": False,
        },
        {"name": "w", "dataType": "STRING", "singleValueField": True},
    ],
    "metricFieldSpecs": [{"name": "m", "dataType": "LONG", "defaultNullValue": 0}],
    "dateTimeFieldSpecs": [{"name": "day", "dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"}],
    "primaryKeyColumns": ["v"],
    "enableColumnBasedNullHandling": True,
}
STREAM = {"streamType": "kafka", "stream.kafka.topic.name": "t", "stream.kafka.decoder.class.name": "json"}
CONFIG: dict[str, Any] = {
    "tableName": "t_REALTIME",
    "tableType": "REALTIME",
    "segmentsConfig": {
        "timeColumnName": "day",
        "replication": "2",
        "replicasPerPartition": "2",
        "retentionTimeUnit": "DAYS",
        "retentionTimeValue": "3",
        "peerSegmentDownloadScheme": "http",
        "replacedSegmentsRetentionPeriod": "1d",
        "completionConfig": {"completionMode": "DOWNLOAD"},
        "deletedSegmentsRetentionPeriod": "3d",
        "lineageEntryCleanupRetentionPeriod": "2d",
        "segmentPushType": "APPEND",
    },
    "tenants": {"server": "s", "broker": "b", "tagOverrideConfig": {"realtimeConsuming": "c"}},
    "tableIndexConfig": {
        "noDictionaryColumns": ["m"],
        "noDictionaryConfig": {"w": "SNAPPY"},
        "nullHandlingEnabled": True,
        "invertedIndexColumns": ["v"],
        "varLengthDictionaryColumns": ["v"],
        "segmentFormatVersion": "v3",
        "useVarLengthDictionary": False,
        "segmentPartitionConfig": {
            "columnPartitionMap": {"v": {"functionName": "Murmur", "numPartitions": 2, "functionConfig": {"a": "b"}}}
        },
    },
    "metadata": {
        "customConfigs": {"pinotadmin.replacement.snapshotsKept": "2", "pinotadmin.replacement.replicasRequired": "all"}
    },
    "quota": {"storage": "10G", "maxQueriesPerSecond": "1"},
    "routing": {"segmentPrunerTypes": ["time"], "instanceSelectorType": "balanced"},
    "query": {"timeoutMs": 1000},
    "task": {"taskTypeConfigsMap": {"Merge": {"a": "1"}}},
    "ingestionConfig": {
        "batchIngestionConfig": {
            "segmentIngestionType": "APPEND",
            "segmentIngestionFrequency": "DAILY",
            "consistentDataPush": False,
        },
        "streamIngestionConfig": {"streamConfigMaps": [STREAM], "pauselessConsumptionEnabled": False},
        "transformConfigs": [{"columnName": "w", "transformFunction": "lower(x)"}],
        "filterConfig": {"filterFunction": "m > 3"},
        "continueOnError": False,
        "rowTimeValueCheck": True,
        "segmentTimeValueCheck": True,
    },
    "fieldConfigList": [
        {
            "name": "v",
            "encodingType": "RAW",
            "indexTypes": ["INVERTED"],
            "indexes": {"forward": {"compressionCodec": "LZ4"}},
        }
    ],
    "upsertConfig": {"mode": "NONE"},
    "dedupConfig": {"dedupEnabled": False},
}
#: Each stands for a kind of wrong value: every type JSON has, and those that languages trip over.
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    2.5,
    10**40,
    -(10**19),
    1e308,
    "",
    " ",
    "x",
    "\x00",
    "é" * 3000,
    "9" * 5000,
    "1_000",
    "٣",
    "NaN",
    "../..",
    [],
    [[]],
    [{}],
    [None],
    ["x", 1, None],
    {},
    {"": {}},
    {"a": {"b": [{}]}},
    {"x": None},
    json.loads("[" * 60 + "]" * 60),
]


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each value of a document is."""
    yield at
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from paths(value[key], (*at, key))


def changed(document: Any, at: tuple[Any, ...], new: Any) -> Any:
    """A copy of the document with another value at one place."""
    if not at:
        return new
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[at[0]] = changed(copy[at[0]], at[1:], new)
    return copy


def use_table(body: Any) -> None:
    """Everything that is ever read of a table config."""
    config = parse_table_config(body)
    schema = parse_schema(SCHEMA)
    assert from_record(config.to_record()).table == config.table
    for name in dir(type(config)):
        if not name.startswith("_"):
            getattr(config, name)
    check_peer_scheme(config)
    check_against_schema(config, schema)
    validate_checks(config, schema)
    replacement_settings(config)
    read_ingestion(schema, config)
    for field in schema.fields:
        column_settings(field, config)
    check_realtime(config)


def use_schema(body: Any) -> None:
    """Everything that is ever read of a schema."""
    schema = parse_schema(body)
    assert schema.column_based_nulls in (True, False)
    assert schema.to_record().id == schema.name
    for field in schema.fields:
        assert field.stored_type
        assert field.datetime_format is None or field.kind == "DATE_TIME"


def test_the_whole_documents_are_taken() -> None:
    use_table(CONFIG)
    use_schema(SCHEMA)


@pytest.mark.parametrize(
    ("use", "document"), [(use_table, CONFIG), (use_schema, SCHEMA)], ids=["table config", "schema"]
)
def test_any_value_at_any_path_is_taken_or_refused_and_never_a_fault(use: Any, document: dict[str, Any]) -> None:
    refused = 0
    for at, value in itertools.product(paths(document), ODD):
        try:
            use(changed(document, at, value))
        except InvalidInput:
            refused += 1
        except Exception as error:
            raise AssertionError(f"{at}: {value!r}"[:300]) from error
    assert refused > 300


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        ({"ingestionConfig": "x"}, "ingestionConfig", "expected an object, got text"),
        (
            {"ingestionConfig": {"batchIngestionConfig": "x"}},
            "ingestionConfig.batchIngestionConfig",
            "expected an object, got text",
        ),
        ({"metadata": {"customConfigs": []}}, "metadata.customConfigs", "expected an object, got a list"),
        (
            {"metadata": {"customConfigs": {"a": "1", "b": 2, "c": {}}}},
            "metadata.customConfigs.c",
            "expected text, got an object",
        ),
        ({"upsertConfig": "FULL"}, "upsertConfig", "expected an object, got text"),
        ({"fieldConfigList": [{"name": "v"}, {"name": [1]}]}, "fieldConfigList[1].name", "expected text, got a list"),
        (
            {"segmentsConfig": {"replication": "two"}},
            "segmentsConfig.replication",
            "expected a whole number, got 'two'",
        ),
        (
            {"segmentsConfig": {"replication": 2**31}},
            "segmentsConfig.replication",
            "expected a whole number from -2147483648 to 2147483647",
        ),
        ({"isDimTable": "perhaps"}, "isDimTable", "expected true or false, got 'perhaps'"),
        (
            {"task": {"taskTypeConfigsMap": {"A": {"x": "1"}, "B": {"y": []}}}},
            "task.taskTypeConfigsMap.B.y",
            "expected text, got a list",
        ),
    ],
)
def test_a_value_of_another_type_is_named_by_its_path_with_a_way_out(
    change: dict[str, Any], path: str, said: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_table_config({"tableName": "t", "tableType": "OFFLINE", **change})
    assert caught.value.message.startswith(f"{path}: {said}")
    assert "t_OFFLINE" in caught.value.message
    assert caught.value.data["field"] == path
    assert caught.value.remedy


def test_the_key_at_fault_in_a_large_map_is_found() -> None:
    custom: dict[str, Any] = {str(i): "x" for i in range(20_000)}
    custom["12345"] = {}
    with pytest.raises(InvalidInput, match=r"customConfigs\.12345"):
        parse_table_config({"tableName": "t", "tableType": "OFFLINE", "metadata": {"customConfigs": custom}})


def test_numbers_and_booleans_are_texts_and_texts_are_numbers_and_booleans_where_pinot_takes_them_so() -> None:
    body = {
        "segmentsConfig": {"replication": 2, "retentionTimeValue": 3, "minimizeDataMovement": "true"},
        "metadata": {"customConfigs": {"a": True, "b": 1, "c": None}},
        "tableIndexConfig": {"nullHandlingEnabled": "TRUE", "noDictionarySizeRatioThreshold": "0.5"},
    }
    config = parse_table_config({"tableName": "t", "tableType": "OFFLINE", **body})
    assert (config.replication, config.segments.retention_time_value, config.null_handling) == (2, "3", True)
    assert config.custom == {"a": "true", "b": "1"}
    assert config.index.no_dictionary_size_ratio_threshold == 0.5
    assert config.body["segmentsConfig"] == body["segmentsConfig"]


@pytest.mark.parametrize(
    ("kind", "taken", "refused"),
    [
        (
            Whole,
            [(1, 1), ("1", 1), (" -7 ", -7), (2.9, 2)],
            [True, "", "1.5", "1_0", "٣", 2**31, 1e400, [], {}, "9" * 5000],
        ),
        (Long, [(2**63 - 1, 2**63 - 1), ("5", 5)], [2**63, "x", None]),
        (Real, [(1, 1.0), ("2.5", 2.5)], [True, "NaN", 1e400, "1e999", [], 10**400]),
        (Flag, [(True, 1), ("False", 0), ("", 0), (3, 1)], ["yes", 1.5, [], {}]),
        (Text, [("x", "x"), (1, "1"), (False, "false"), (2.5, "2.5")], [None, [], {}]),
    ],
)
def test_scalars_are_read_as_pinot_reads_them(kind: Any, taken: list[Any], refused: list[Any]) -> None:
    for given, expected in taken:
        assert read_model(kind, given, "it") == expected
    for given in refused:
        with pytest.raises(InvalidInput):
            read_model(kind, given, "it")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0042", 42),
        (str(2**63 - 1), 2**63 - 1),
        (str(2**63), None),
        ("²", None),
        ("٣", None),
        ("9" * 5000, None),
        ("", None),
        ("-1", None),
    ],
)
def test_whole_numbers_are_ascii_digits_that_fit_64_bits(text: str, number: int | None) -> None:
    assert whole_number(text) == number


def test_the_model_reads_what_it_does_not_know_over() -> None:
    assert read_model(TableModel, {"somethingNew": [{}], "quota": {"storage": "1G", "new": {}}}, "it").quota is not None
