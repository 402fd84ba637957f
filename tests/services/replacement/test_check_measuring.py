"""Times of every kind of date-time column as epoch milliseconds, through the query engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from segments.dataplane.query import QueryRejected, SegmentRows, broker_response, execute_partial, merge, plan_query
from segments.dataplane.query.scan import stored_type
from segments.domain.replacement.checks import CheckPlan, Level, Measured, NullShare, TimeRange
from segments.domain.tables.schema import Schema, parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.services.replacement.checks.check_measuring import Measuring, Snapshot


class Engine:
    """One segment with these columns."""

    def __init__(self, schema: Schema, columns: dict[str, list[Any]]) -> None:
        self.schema = schema
        self.rows = pa.table({c: pa.array(v, stored_type(schema.by_name[c])) for c, v in columns.items()})

    def query(
        self, sql: str, options: Mapping[str, str] | None = None, *, segments: Sequence[str] | None = None
    ) -> dict[str, Any]:
        plan = plan_query(sql, self.schema, options=options)
        try:
            return broker_response(merge(plan, [execute_partial(plan, [SegmentRows("s", "h", self.rows)])]))
        except QueryRejected as error:
            return {"exceptions": [{"message": str(error)}]}


def measuring(data_type: str, form: str, values: list[Any], **more: Any) -> Measuring:
    """Over a table whose time column ``at`` has this type, format and these values."""
    spec = {"name": "at", "dataType": data_type, "format": form, "granularity": "1:DAYS"}
    schema = parse_schema({"schemaName": "t", "dateTimeFieldSpecs": [spec]})
    config = parse_table_config(
        {"tableName": "t", "tableType": "OFFLINE", "segmentsConfig": {"timeColumnName": "at"}, **more}
    )
    return Measuring(Engine(schema, {"at": values}), Snapshot(config, schema, ["s"], None), CheckPlan())


DAY = 86_400_000


@pytest.mark.parametrize(
    ("data_type", "form", "values"),
    [
        ("INT", "1:DAYS:EPOCH", [19_000, 19_003, 19_001]),
        ("LONG", "EPOCH|SECONDS|3600", [19_000 * 24, 19_003 * 24]),
        ("LONG", "1:MILLISECONDS:EPOCH", [19_000 * DAY, 19_003 * DAY]),
        ("TIMESTAMP", "TIMESTAMP", [19_003 * DAY, 19_000 * DAY]),
        ("INT", "SIMPLE_DATE_FORMAT|yyyyMMdd", [20220108, 20220111]),
        ("STRING", "SIMPLE_DATE_FORMAT|dd.MM.yyyy", ["11.01.2022", "08.01.2022"]),
        ("STRING", "SIMPLE_DATE_FORMAT|yyyy-MM-dd'T'HH|UTC", ["2022-01-08T00", "2022-01-11T00"]),
    ],
)
def test_first_and_last_time_in_every_format(data_type: str, form: str, values: list[Any]) -> None:
    found = measuring(data_type, form, values).measure(TimeRange("c", Level.BLOCK, max_age_ms=1))
    assert found == Measured(first_ms=19_000 * DAY, last_ms=19_003 * DAY)


def test_a_time_that_is_none_makes_the_check_unmeasurable() -> None:
    found = measuring("STRING", "SIMPLE_DATE_FORMAT|yyyy-MM-dd", ["2022-01-08", "null"]).measure(
        TimeRange("c", Level.BLOCK, max_age_ms=1)
    )
    assert found.error
    assert found.first_ms is None


def test_without_rows_there_are_no_times() -> None:
    assert measuring("INT", "1:DAYS:EPOCH", []).measure(TimeRange("c", Level.BLOCK, max_age_ms=1)) == Measured()


def test_whether_defaults_count_as_null_follows_the_table() -> None:
    check, values = NullShare("c", Level.BLOCK, "at", 0.0), [0, 1, 2]
    assert measuring("TIMESTAMP", "TIMESTAMP", values).measure(check).nulls == 1
    recorded = measuring("TIMESTAMP", "TIMESTAMP", values, tableIndexConfig={"nullHandlingEnabled": True})
    assert recorded.measure(check).nulls == 0
