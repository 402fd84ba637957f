"""Retention: which lineage entries, segments and files are due."""

from __future__ import annotations

from typing import Any

import pytest

from segments.domain import retention
from segments.domain.segment_metadata import SegmentMetadata
from segments.domain.table_config import parse_table_config
from segments.domain.znrecord import SIZE_LIMIT, ZNRecord, decode, encode
from segments.errors import InvalidInput, RecordCorrupt
from tests.domain.test_lineage import entry, of

HOUR, DAY = 3_600_000, 86_400_000
NOW = 100 * DAY


def config(kind: str = "REFRESH", **segments: str) -> Any:
    ingestion = {"batchIngestionConfig": {"segmentIngestionType": kind}}
    return parse_table_config({"tableName": "t", "tableType": "OFFLINE", "segmentsConfig": segments, "ingestionConfig": ingestion})


@pytest.mark.parametrize(("age", "gone"), [(0, False), (5 * HOUR, False), (24 * HOUR, False), (24 * HOUR + 1, True)])
def test_a_replaced_snapshot_goes_after_its_window(age: int, gone: bool) -> None:
    plan = retention.plan_lineage(of(entry("x", "a", "b", "COMPLETED", NOW - age)), config(), ["a", "b"], NOW)
    assert plan.delete == (("a",) if gone else ())
    assert plan.drop == ()


def test_a_completed_entry_without_old_segments_is_dropped_whatever_its_age() -> None:
    plan = retention.plan_lineage(of(entry("x", "a", "b", "COMPLETED", NOW)), config(), ["b"], NOW)
    assert plan.drop == ("x",)


def test_a_window_of_zero_keeps_the_same_millisecond() -> None:
    own = config(replacedSegmentsRetentionPeriod="0d")
    for age, gone in ((0, ()), (1, ("a",))):
        assert retention.plan_lineage(of(entry("x", "a", "b", "COMPLETED", NOW - age)), own, ["a", "b"], NOW).delete == gone


def test_a_reverted_entry_waits_for_nothing() -> None:
    reverted = of(entry("x", "a", "b", "REVERTED", NOW))
    assert retention.plan_lineage(reverted, config(), ["a", "b"], NOW).delete == ("b",)
    assert retention.plan_lineage(reverted, config(), ["a"], NOW).drop == ("x",)


@pytest.mark.parametrize(("age", "gone"), [(20 * HOUR, False), (25 * HOUR, True)])
def test_an_unfinished_push_is_kept_for_a_day(age: int, gone: bool) -> None:
    plan = retention.plan_lineage(of(entry("x", "a", "b", "IN_PROGRESS", NOW - age)), config(), ["a", "b"], NOW)
    assert plan.delete == (("b",) if gone else ())


def test_time_retention_spares_refresh_tables_locked_and_undated_segments() -> None:
    old, new, undated = (
        SegmentMetadata(n, {"segment.end.time": str(t), "segment.time.unit": "MILLISECONDS"} if t else {})
        for n, t in (("old", 500 * DAY), ("new", 1990 * DAY), ("undated", 0))
    )
    now = 2000 * DAY
    append = config("APPEND", retentionTimeUnit="DAYS", retentionTimeValue="30")
    assert retention.plan_time(append, [old, new, undated], [], now) == ["old"]
    assert retention.plan_time(append, [old, new, undated], ["old"], now) == []
    assert retention.plan_time(config(retentionTimeUnit="DAYS", retentionTimeValue="30"), [old], [], now) == []
    assert retention.plan_time(config("APPEND"), [old], [], now) == []


def test_where_a_deleted_file_is_kept() -> None:
    assert retention.deleted_file_path("t", "s0", None, 7, NOW) == "Deleted_Segments/t/s0"
    assert retention.deleted_file_path("t", "s0", "3d", 7, 0) == "Deleted_Segments/t/s0__RETENTION_UNTIL__197001040000"
    assert retention.deleted_file_path("t", "s0", "0d", 7, NOW) is None
    with pytest.raises(InvalidInput):
        retention.check_retention("soon")


def test_files_of_deleted_segments_age_by_name_or_by_time() -> None:
    assert retention.is_aged("s0__RETENTION_UNTIL__197001040000", NOW, 7, NOW)
    assert not retention.is_aged("s0__RETENTION_UNTIL__209901040000", 0, 7, NOW)
    assert retention.is_aged("s0", NOW - 8 * DAY, 7, NOW)
    assert not retention.is_aged("s0", NOW - 6 * DAY, 7, NOW)


def test_long_records_are_compressed_and_too_long_ones_refused() -> None:
    record = ZNRecord("r", {"k": "x" * (SIZE_LIMIT + 1)})
    data = encode(record)
    assert data[:2] == b"\x1f\x8b"
    assert decode(data) == record
    asked = ZNRecord("r", {"enableCompression": "true"})
    assert encode(asked)[:2] == b"\x1f\x8b"
    assert decode(encode(asked)) == asked


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"simpleFields":{}}', b"\x1f\x8bnot gzip", b"\xff\xfe"])
def test_bytes_that_are_no_record_are_an_error(data: bytes) -> None:
    with pytest.raises(RecordCorrupt):
        decode(data)
    assert decode(b"") is None
    assert decode(None) is None
