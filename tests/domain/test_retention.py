"""Retention: which lineage entries, segments and files are due."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from segments.domain.formats.znrecord import SIZE_LIMIT, ZNRecord, decode, encode
from segments.domain.replacement.lineage import FORCED_CLEANUP, PINNED
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables.table_config import parse_table_config
from segments.domain.upkeep import retention
from segments.errors import InvalidInput, RecordCorrupt
from tests.domain.replacement.test_lineage import entry, of
from tests.security.growth.timing import grows_at_most_linearly

HOUR, DAY = 3_600_000, 86_400_000
NOW = 100 * DAY


def config(kind: str = "REFRESH", **segments: str) -> Any:
    ingestion = {"batchIngestionConfig": {"segmentIngestionType": kind}}
    return parse_table_config(
        {"tableName": "t", "tableType": "OFFLINE", "segmentsConfig": segments, "ingestionConfig": ingestion}
    )


@pytest.mark.parametrize(
    ("kind", "given", "age", "gone"),
    [
        ("APPEND", {}, 4 * HOUR, False), ("APPEND", {}, 4 * HOUR + 1, True),
        ("REFRESH", {"replacedSegmentsRetentionPeriod": "0d"}, 1, True),
        ("APPEND", {"replacedSegmentsRetentionPeriod": "2d"}, DAY, False),
    ],
)  # fmt: skip
def test_how_long_a_replaced_snapshot_stays_is_the_tables_own_period_or_that_of_its_type(
    kind: str, given: dict[str, str], age: int, gone: bool
) -> None:
    lineage = of(entry("x", "a", "b", "COMPLETED", NOW - age))
    plan = retention.plan_lineage(lineage, config(kind, **given), ["a", "b"], NOW)
    assert plan.delete == (("a",) if gone else ())


@pytest.mark.parametrize(("age", "gone"), [(0, False), (5 * HOUR, False), (24 * HOUR, False), (24 * HOUR + 1, True)])
def test_a_replaced_snapshot_goes_after_its_window(age: int, gone: bool) -> None:
    plan = retention.plan_lineage(of(entry("x", "a", "b", "COMPLETED", NOW - age)), config(), ["a", "b"], NOW)
    assert plan.delete == (("a",) if gone else ())
    assert plan.drop == ()


def test_a_completed_entry_without_old_segments_is_dropped_whatever_its_age() -> None:
    plan = retention.plan_lineage(of(entry("x", "a", "b", "COMPLETED", NOW)), config(), ["b"], NOW)
    assert plan.drop == ("x",)


NEXT = NOW + 3 * HOUR
KEEPS_TWO = {"pinotadmin.replacement.snapshotsKept": "2"}


@pytest.mark.parametrize(
    ("old", "age", "notes", "custom", "until"),
    [
        ("a", HOUR, {}, {}, NOW + 23 * HOUR),
        ("a", 25 * HOUR, {}, {}, NOW - HOUR),
        ("", HOUR, {}, {}, NEXT),
        ("", 0, {}, {}, NEXT),
        ("", HOUR, {PINNED: "true"}, {}, None),
        ("a", HOUR, {PINNED: "true"}, {}, None),
        ("a", 25 * HOUR, {}, KEEPS_TWO, None),
    ],
)
def test_until_when_an_entry_can_be_taken_back(
    old: str, age: int, notes: dict[str, str], custom: dict[str, str], until: int | None
) -> None:
    """Nothing is kept of an empty old side: the next pass drops the entry. What is pinned or requested stays whatever
    its age.
    """
    body = {**config().body, "metadata": {"customConfigs": custom}}
    own = replace(entry("x", old, "b", "COMPLETED", NOW - age), notes=notes)
    lineage = of(own)
    clean_ups = retention.CleanUps(lineage, parse_table_config(body), lineage.mentioned())
    assert clean_ups.rollback_deadline_ms(own, NOW, NEXT) == until


def test_what_a_later_snapshot_superseded_goes_with_the_next_pass() -> None:
    """A REFRESH table keeps one snapshot before the present one, however young the others are."""
    steps = enumerate(("xab", "ybc", "zcd"))
    first, second, third = (
        entry(x, a, b, "COMPLETED", NOW - 9 + at, notes={FORCED_CLEANUP: "true"}) for at, (x, a, b) in steps
    )
    lineage = of(first, second, third)
    clean_ups = retention.CleanUps(lineage, config(), lineage.mentioned())
    found = [clean_ups.rollback_deadline_ms(e, NOW, NEXT) for e in (first, third)]
    assert found == [NEXT, third.timestamp_ms + DAY]


def test_a_window_of_zero_keeps_the_same_millisecond() -> None:
    own = config(replacedSegmentsRetentionPeriod="0d")
    for age, gone in ((0, ()), (1, ("a",))):
        assert (
            retention.plan_lineage(of(entry("x", "a", "b", "COMPLETED", NOW - age)), own, ["a", "b"], NOW).delete
            == gone
        )


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


def table_that_keeps(snapshots: int) -> Any:
    body = {
        "tableName": "t",
        "tableType": "OFFLINE",
        "metadata": {"customConfigs": {"pinotadmin.replacement.snapshotsKept": str(snapshots)}},
    }
    return parse_table_config(
        {**body, "ingestionConfig": {"batchIngestionConfig": {"segmentIngestionType": "REFRESH"}}}
    )


def chain() -> Any:
    """a -> b -> c -> d, all completed long ago."""
    old = NOW - 50 * DAY
    return of(*(entry(f"{x}{y}", x, y, "COMPLETED", old + i) for i, (x, y) in enumerate(("ab", "bc", "cd"))))


@pytest.mark.parametrize(("kept", "gone"), [(0, ("a", "b", "c")), (1, ("a", "b")), (2, ("a",)), (3, ())])
def test_as_many_snapshots_stay_as_the_table_asks_for_whatever_their_age(kept: int, gone: tuple[str, ...]) -> None:
    plan = retention.plan_lineage(chain(), table_that_keeps(kept), list("abcd"), NOW)
    assert plan.delete == gone
    assert plan.drop == ()


def test_a_pinned_entry_keeps_both_sides_and_the_entry() -> None:
    pinned = replace(entry("x", "a", "b", "REVERTED", NOW - 50 * DAY), notes={"pinned": "true"})
    other = entry("y", "b", "c", "COMPLETED", NOW - 50 * DAY)
    plan = retention.plan_lineage(of(pinned, other), config(), ["a", "b", "c"], NOW)
    assert (plan.delete, plan.drop) == ((), ())
    assert retention.plan_lineage(of(pinned), config(), [], NOW).drop == ()


def test_a_spent_entry_names_what_uploads_may_have_left_without_a_row() -> None:
    plan = retention.plan_lineage(of(entry("x", "a", "b c", "REVERTED", NOW)), config(), ["a"], NOW)
    assert (plan.drop, plan.orphans) == (("x",), ("b", "c"))
    assert retention.plan_lineage(of(entry("x", "a", "b", "COMPLETED", NOW)), config(), ["b"], NOW).orphans == ()


def consumed(
    sequence: int, status: str, end_ms: int = 500 * DAY, partition: int = 0, created: int = 0
) -> SegmentMetadata:
    times = {"segment.end.time": str(end_ms), "segment.time.unit": "MILLISECONDS"} if status == "DONE" else {}
    fields = {"segment.realtime.status": status, "segment.creation.time": str(created), **times}
    return SegmentMetadata(f"t__{partition}__{sequence}__20260801T1000Z", fields)


def realtime(days: str = "30") -> Any:
    segments = {"retentionTimeUnit": "DAYS", "retentionTimeValue": days}
    return parse_table_config({"tableName": "t", "tableType": "REALTIME", "segmentsConfig": segments})


def test_of_a_realtime_table_committed_segments_go_but_never_the_last_of_a_partition() -> None:
    now = 2000 * DAY
    old = [consumed(s, "DONE") for s in (8, 9, 10)] + [
        consumed(3, "DONE", partition=1),
        consumed(11, "IN_PROGRESS", created=now),
    ]
    uploaded = replace(
        consumed(0, "DONE"),
        name="uploaded",
        fields={**consumed(0, "DONE").fields, "segment.realtime.status": "UPLOADED"},
    )
    due = retention.plan_time(realtime(), [*old, uploaded], [], now)
    assert due == ["t__0__8__20260801T1000Z", "t__0__9__20260801T1000Z", "uploaded"]
    assert retention.plan_time(realtime(), old, ["t__0__8__20260801T1000Z"], now) == ["t__0__9__20260801T1000Z"]


@pytest.mark.parametrize(
    ("age", "row", "gone"),
    [
        (6, None, True),
        (6, {"s": "OFFLINE"}, True),
        (6, {"s": "CONSUMING"}, False),
        (4, None, False),
        (6, {"s": "OFFLINE", "r": "ONLINE"}, False),
    ],
)
def test_a_consuming_segment_that_nobody_consumes_is_given_up_after_five_days(
    age: int, row: dict[str, str] | None, gone: bool
) -> None:
    now = 2000 * DAY
    segment = consumed(5, "IN_PROGRESS", created=now - age * DAY)
    rows = {segment.name: row} if row is not None else {}
    assert retention.plan_time(realtime(), [segment], [], now, rows) == ([segment.name] if gone else [])


def test_replaced_segments_of_a_realtime_table_spare_the_last_committed_one() -> None:
    last = "t__0__9__20260801T1000Z"
    lineage = of(entry("x", f"t__0__8__20260801T1000Z {last}", "merged", "COMPLETED", NOW - 50 * DAY))
    plan = retention.plan_lineage(lineage, realtime(), ["t__0__8__20260801T1000Z", last, "merged"], NOW, spare={last})
    assert plan.delete == ("t__0__8__20260801T1000Z",)


def test_when_a_file_expires() -> None:
    assert retention.expires_ms("s0", NOW, 7) == NOW + 7 * DAY
    assert retention.expires_ms("s0__RETENTION_UNTIL__197001040000", NOW, 7) == 3 * DAY


def test_what_goes_of_a_long_chain_of_large_snapshots_takes_time_that_grows_with_it() -> None:
    """Every push asks for cleanup, as ours do; the lineage page and each retention pass decide so."""

    def decide(text: str) -> object:
        names = [" ".join(f"s_{n}_{i}" for i in range(40)) for n in range(len(text) + 1)]
        asked = {FORCED_CLEANUP: "true"}
        made = [entry(f"e{n}", old, new, "COMPLETED", n, notes=asked) for n, (old, new) in enumerate(pairwise(names))]
        return retention.CleanUps(of(*made), config(), {name for side in names for name in side.split()})

    assert grows_at_most_linearly(decide, lambda parts: "x" * parts, 20) == ""
