"""Table config and schema: what is refused, what defaults hold, and that unknown keys survive."""

from __future__ import annotations

from typing import Any

import pytest

from segments.domain.tables import schema as schemas
from segments.domain.tables import table_config as configs
from segments.domain.tables.edits.schema_rules import check_compatible
from segments.errors import InvalidInput, RecordCorrupt
from segments.names import TableName, resolve_table

SCHEMA = {
    "schemaName": "t",
    "dimensionFieldSpecs": [{"name": "v", "dataType": "STRING", "extra": 1}, {"name": "n", "dataType": "INT"}],
    "dateTimeFieldSpecs": [{"name": "day", "dataType": "INT", "format": "1:DAYS:EPOCH", "granularity": "1:DAYS"}],
    "somethingNew": {"kept": True},
}


def config(**more: Any) -> dict[str, Any]:
    return {
        "tableName": "t",
        "tableType": "OFFLINE",
        "segmentsConfig": {"timeColumnName": "day", "replication": "2"},
        **more,
    }


def test_a_config_survives_the_znode_with_all_unknown_keys() -> None:
    parsed = configs.parse_table_config(config(futureKey={"a": [1]}, isDimTable=False))
    again = configs.from_record(parsed.to_record())
    assert again.body == parsed.body
    assert again.table == TableName("t", "OFFLINE")
    assert parsed.to_record().simple["isDimTable"] == "false"


@pytest.mark.parametrize(
    "change",
    [
        {"tableName": None},
        {"tableType": "BAR"},
        {"tableType": None},
        {"tableName": "t_REALTIME"},
        {"tableName": "a/b"},
        {"tableType": 7},
        {"segmentsConfig": {"replication": "0"}},
        {"segmentsConfig": {"replication": "many"}},
        {"segmentsConfig": 7},
        {"ingestionConfig": {"batchIngestionConfig": {"segmentIngestionType": "REPLACE"}}},
    ],
)
def test_a_bad_config_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        configs.parse_table_config({k: v for k, v in {**config(), **change}.items() if v is not None})


def test_a_record_without_json_is_corrupt_and_not_missing() -> None:
    record = configs.parse_table_config(config()).to_record().with_simple(segmentsConfig="{no")
    with pytest.raises(RecordCorrupt, match="t_OFFLINE"):
        configs.from_record(record)


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("1d", 86_400_000),
        ("1d12h", 129_600_000),
        ("0s", 0),
        ("90m", 5_400_000),
        ("foo", None),
        ("", None),
        (None, None),
        ("5", None),
    ],
)
def test_periods(text: str | None, millis: int | None) -> None:
    assert configs.parse_period(text) == millis


@pytest.mark.parametrize(("kind", "hours"), [("REFRESH", 24), ("APPEND", 4)])
def test_replaced_segments_are_kept_by_type_when_nothing_or_nonsense_is_set(kind: str, hours: int) -> None:
    ingestion = {"batchIngestionConfig": {"segmentIngestionType": kind}}
    parsed = configs.parse_table_config(
        config(ingestionConfig=ingestion, segmentsConfig={"replacedSegmentsRetentionPeriod": "foo"})
    )
    assert parsed.replaced_retention_ms == hours * 3_600_000


@pytest.mark.parametrize(
    ("flag", "is_consistent"), [("false", False), ("FALSE", False), ("", False), (0, False), ("true", True), (1, True)]
)
def test_a_flag_that_is_written_as_text_means_what_it_says(flag: object, is_consistent: bool) -> None:
    batch = {"segmentIngestionType": "REFRESH", "consistentDataPush": flag}
    config = configs.parse_table_config(
        {"tableName": "t", "tableType": "OFFLINE", "ingestionConfig": {"batchIngestionConfig": batch}}
    )
    assert config.consistent_push is is_consistent


def test_consistent_push_needs_flag_and_refresh() -> None:
    def parsed(kind: str) -> configs.TableConfig:
        batch = {"segmentIngestionType": kind, "consistentDataPush": True}
        return configs.parse_table_config(config(ingestionConfig={"batchIngestionConfig": batch}))

    assert parsed("refresh").consistent_push
    assert not parsed("APPEND").consistent_push


def test_the_time_column_must_be_a_date_time_of_the_schema() -> None:
    parsed = configs.parse_table_config(config(segmentsConfig={"timeColumnName": "n"}))
    with pytest.raises(InvalidInput, match="'n'"):
        configs.check_against_schema(parsed, schemas.parse_schema(SCHEMA))


def test_a_schema_keeps_what_it_does_not_know() -> None:
    parsed = schemas.parse_schema(SCHEMA)
    assert schemas.from_record(parsed.to_record()).body == SCHEMA
    assert parsed.by_name["v"].default_null == "null"
    assert parsed.by_name["day"].datetime_format is not None


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({"name": "v", "dataType": "STRING"}, "twice"),
        ({"name": "x", "dataType": "TEXT"}, "TEXT"),
        ({"dataType": "INT"}, "name"),
        ({"name": "x", "dataType": "JSON", "singleValueField": False}, "multi-valued"),
        ({"name": "x", "dataType": "INT", "defaultNullValue": "seven"}, "defaultNullValue"),
        ({"name": "x", "dataType": "STRING", "maxLength": 0}, "maxLength"),
    ],
)
def test_a_bad_field_is_named(field: dict[str, Any], said: str) -> None:
    body = {**SCHEMA, "dimensionFieldSpecs": [*SCHEMA["dimensionFieldSpecs"], field]}  # type: ignore[misc]  # the list of the literal above
    with pytest.raises(InvalidInput, match=said):
        schemas.parse_schema(body)


@pytest.mark.parametrize("text", ["nonsense", "1:DAYS", "1:FORTNIGHTS:EPOCH", "SIMPLE_DATE_FORMAT|QQQ", "0:DAYS:EPOCH"])
def test_a_bad_date_time_format_is_refused(text: str) -> None:
    body = {**SCHEMA, "dateTimeFieldSpecs": [{"name": "day", "dataType": "INT", "format": text}]}
    with pytest.raises(InvalidInput, match="day"):
        schemas.parse_schema(body)


def test_columns_may_be_added_but_not_changed_or_removed() -> None:
    old = schemas.parse_schema(SCHEMA)
    more = {**SCHEMA, "metricFieldSpecs": [{"name": "m", "dataType": "LONG"}]}
    check_compatible(old, schemas.parse_schema(more))
    for dimensions in (
        [{"name": "v", "dataType": "STRING"}],
        [{"name": "v", "dataType": "STRING"}, {"name": "n", "dataType": "STRING"}],
    ):
        with pytest.raises(InvalidInput, match="'n'"):
            check_compatible(old, schemas.parse_schema({**SCHEMA, "dimensionFieldSpecs": dimensions}))


def test_table_names_take_a_suffix_or_a_parameter_that_agree() -> None:
    assert resolve_table("t", "offline") == resolve_table("t_OFFLINE", None) == TableName("t", "OFFLINE")
    with pytest.raises(InvalidInput):
        resolve_table("t", None)
