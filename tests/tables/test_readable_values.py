"""Retentions and quotas that nobody can read are refused by their key, and are not taken for "none"."""

from __future__ import annotations

from typing import Any

import pytest

from segments.domain.tables.edits.settings import setting_at, settings_of
from segments.domain.tables.readable_values import check_readable
from segments.domain.tables.table_config import TableConfig, parse_table_config
from segments.errors import InvalidInput
from segments.names import OFFLINE


def config(quota: str = "", query: dict[str, Any] | None = None, **segments: Any) -> TableConfig:
    body = {"tableName": "t", "tableType": OFFLINE, "segmentsConfig": {"replication": "1", **segments}, "query": query}
    return parse_table_config({**body, **({"quota": {"storage": quota}} if quota else {})})


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (config(deletedSegmentsRetentionPeriod="soon"), "segmentsConfig.deletedSegmentsRetentionPeriod"),
        (config(replacedSegmentsRetentionPeriod="3 days"), "segmentsConfig.replacedSegmentsRetentionPeriod"),
        (config(lineageEntryCleanupRetentionPeriod="1x"), "segmentsConfig.lineageEntryCleanupRetentionPeriod"),
        (config(retentionTimeValue="a year", retentionTimeUnit="DAYS"), "segmentsConfig.retentionTimeValue"),
        (config(retentionTimeValue="5", retentionTimeUnit="WEEKS"), "segmentsConfig.retentionTimeUnit"),
        (config(retentionTimeValue="5"), "segmentsConfig.retentionTimeUnit"),
        (config("lots"), "quota.storage"),
        (config(query={"timeoutMs": -1}), "query.timeoutMs"),
        (config(query={"timeoutMs": "0"}), "query.timeoutMs"),
        (config(query={"maxQueryResponseSizeBytes": 0}), "query.maxQueryResponseSizeBytes"),
        (config(query={"maxServerResponseSizeBytes": -5}), "query.maxServerResponseSizeBytes"),
    ],
)
def test_a_value_that_cannot_be_read_is_refused_by_its_key(wrong: TableConfig, field: str) -> None:
    with pytest.raises(InvalidInput, match=field.rpartition(".")[2]) as refused:
        check_readable(wrong)
    assert refused.value.data["field"] == field
    check_readable(wrong, before=wrong)  # it is stored so already: another setting can be changed
    with pytest.raises(InvalidInput):
        check_readable(wrong, before=config("10G", deletedSegmentsRetentionPeriod="7d"))


def test_the_form_shows_the_refusal_at_the_field() -> None:
    settings = settings_of(config().body, OFFLINE)
    found = setting_at(settings, "config.segmentsConfig.deletedSegmentsRetentionPeriod".removeprefix("config."))
    assert found is not None
    assert found.name == "deleted"


@pytest.mark.parametrize(
    "right",
    [
        config(),
        config("1.5T", deletedSegmentsRetentionPeriod="0d", replacedSegmentsRetentionPeriod="1d12h"),
        config(retentionTimeValue="", retentionTimeUnit=""),
        config(retentionTimeUnit="DAYS"),
        config(retentionTimeValue=30, retentionTimeUnit="days"),
        config(retentionTimeValue="-1"),
        config(query={}),
        config(query={"timeoutMs": "5000", "maxServerResponseSizeBytes": 1}),
    ],
)
def test_values_that_can_be_read_and_none_are_accepted(right: TableConfig) -> None:
    check_readable(right)
