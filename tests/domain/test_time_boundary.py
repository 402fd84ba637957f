"""Time boundary of hybrid tables: every row is answered by exactly one side."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segments.domain.tables.schema import Schema, parse_schema
from segments.domain.tables.table_config import TableConfig, parse_table_config
from segments.domain.tables.time_boundary import TimeFilter, parse_time_filter, time_boundary
from segments.errors import InvalidInput

DAY = 86_400_000
#: 2024-05-06T07:08:09.123Z
NOW = 1_714_979_289_123


def schema_of(form: str, kind: str) -> Schema:
    """One time column ``ts``."""
    spec = {"name": "ts", "dataType": kind, "format": form, "granularity": "1:MILLISECONDS"}
    return parse_schema({"schemaName": "t", "dateTimeFieldSpecs": [spec]})


def config_of(**segments_config: Any) -> TableConfig:
    """The OFFLINE side."""
    body = {"tableName": "t", "tableType": "OFFLINE", "tableIndexConfig": {}, "tenants": {}, "metadata": {}}
    return parse_table_config({**body, "segmentsConfig": {"timeColumnName": "ts", **segments_config}})


@pytest.mark.parametrize(
    ("form", "kind", "frequency", "value"),
    [
        ("1:MILLISECONDS:EPOCH", "LONG", "daily", NOW - DAY),
        ("1:MILLISECONDS:EPOCH", "LONG", "HOURLY", NOW - DAY // 24),
        ("1:DAYS:EPOCH", "INT", "hourly", (NOW - DAY) // DAY),
        ("10:MINUTES:EPOCH", "LONG", "hourly", (NOW - DAY // 24) // 600_000),
        ("TIMESTAMP", "TIMESTAMP", "", NOW - DAY),
        ("1:DAYS:SIMPLE_DATE_FORMAT:yyyyMMdd", "INT", "", 20240505),
        ("1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd HH:mm", "STRING", "hourly", "2024-05-06 06:08"),
        ("1:DAYS:SIMPLE_DATE_FORMAT:yyyy-MM-dd HH:mm tz(America/New_York)", "STRING", "", "2024-05-05 03:08"),
        ("SIMPLE_DATE_FORMAT|yyyyMMddHHmmssSSS", "STRING", "hourly", "20240506060809123"),
    ],
)
def test_the_boundary_is_the_newest_end_time_less_one_push_in_the_columns_own_form(
    form: str, kind: str, frequency: str, value: int | str
) -> None:
    found = time_boundary(config_of(segmentPushFrequency=frequency), schema_of(form, kind), [NOW - 5 * DAY, NOW, -1])
    assert found is not None
    assert found.value == value
    assert (found.offline.operator, found.realtime.operator) == ("<=", ">")


def test_without_a_time_column_or_an_end_time_there_is_no_boundary() -> None:
    schema = schema_of("1:MILLISECONDS:EPOCH", "LONG")
    assert time_boundary(config_of(), schema, []) is None
    assert time_boundary(config_of(), schema, [0, -1]) is None
    assert time_boundary(config_of(timeColumnName=None), schema, [NOW]) is None


@given(st.lists(st.integers(1, 2**41), min_size=1), st.integers(0, 2**41))
def test_every_value_belongs_to_exactly_one_side(ends: list[int], value: int) -> None:
    found = time_boundary(config_of(), schema_of("1:MILLISECONDS:EPOCH", "LONG"), ends)
    assert found is not None
    assert isinstance(found.value, int)
    assert (value <= found.value) != (value > found.value)
    assert found.value < max(ends)


def test_a_filter_survives_the_wire_and_nonsense_is_refused() -> None:
    wanted = TimeFilter("ts", "<=", 5)
    assert parse_time_filter(wanted.to_json()) == wanted
    for body in ({}, {"column": "ts", "operator": "<", "value": 1}, {"column": "ts", "operator": ">", "value": None}):
        with pytest.raises(InvalidInput):
            parse_time_filter(body)
