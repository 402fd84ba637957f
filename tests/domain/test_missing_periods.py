"""Days and hours without a segment, and which tables are to have one for each."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from segments.domain.tables.table_config import parse_table_config
from segments.domain.upkeep.missing_periods import Gap, finding, gaps, period_of

DAY, HOUR = 86_400_000, 3_600_000


def day(number: int, hours: float = 0) -> int:
    """Milliseconds of a day of January 2026 in UTC."""
    return int(datetime(2026, 1, number, tzinfo=UTC).timestamp() * 1000 + hours * HOUR)


def of(*days: int | tuple[int, int]) -> list[tuple[int, int]]:
    """Intervals of whole days, from the first to the last, less the last minutes."""
    pairs = [d if isinstance(d, tuple) else (d, d) for d in days]
    return [(day(a), day(b, 23.9)) for a, b in pairs]


@pytest.mark.parametrize(
    ("days", "missing"),
    [
        ((1, 2, 3, 5), 1),
        ((5, 2, 1), 2),
        (((1, 2), 4, 5), 1),
        ((1, 2, 3), 0),
        ((1,), 0),
        ((), 0),
        (((1, 9), 3, 10), 0),
        ((1, 1, 9), 7),
    ],
)
def test_days_between_others_are_counted_as_pinot_counts_them(days: tuple[Any, ...], missing: int) -> None:
    assert sum(gap.count for gap in gaps(of(*days), DAY)) == missing


def test_segments_that_begin_late_in_their_day_leave_no_gap() -> None:
    assert gaps([(day(1, 8), day(1, 9)), (day(2, 20), day(2, 21)), (day(3), day(3))], DAY) == []
    assert gaps([(day(1, 8), day(1, 8.5)), (day(1, 11), day(1, 11.5))], HOUR) == [Gap(day(1, 9), 2)]


def test_the_finding_names_each_gap_and_what_to_do() -> None:
    [one] = finding(gaps(of(1, 3, 7), DAY), DAY)
    assert (one.code, one.severity) == ("missing-periods", "warning")
    assert "of 4 days (UTC) between others: 2026-01-02, 2026-01-04 to 2026-01-06. Check the pushes" in one.message
    [hour] = finding([Gap(day(1, 9), 1)], HOUR)
    assert "of 1 hour (UTC) between others: 2026-01-01 09:00." in hour.message
    assert finding([], DAY) == []
    [many] = finding([Gap(day(1) + n * 5 * DAY, 1) for n in range(12)], DAY)
    assert "and 2 more gaps" in many.message


@pytest.mark.parametrize(
    ("kind", "batch", "segments", "period"),
    [
        ("OFFLINE", {"segmentIngestionType": "APPEND", "segmentIngestionFrequency": "DAILY"}, {}, DAY),
        ("OFFLINE", {"segmentIngestionType": "APPEND", "segmentIngestionFrequency": "hourly"}, {}, HOUR),
        ("OFFLINE", None, {"segmentPushType": "APPEND", "segmentPushFrequency": "daily"}, DAY),
        ("OFFLINE", {"segmentIngestionType": "REFRESH", "segmentIngestionFrequency": "DAILY"}, {}, None),
        ("OFFLINE", {"segmentIngestionType": "APPEND"}, {}, None),
        ("OFFLINE", {"segmentIngestionType": "APPEND", "segmentIngestionFrequency": "WEEKLY"}, {}, None),
        (
            "OFFLINE",
            {"segmentIngestionType": "APPEND", "segmentIngestionFrequency": "DAILY"},
            {"timeColumnName": None},
            None,
        ),
        ("REALTIME", {"segmentIngestionType": "APPEND", "segmentIngestionFrequency": "DAILY"}, {}, None),
    ],
)
def test_only_tables_that_are_pushed_by_the_day_or_hour_are_checked(
    kind: str, batch: dict[str, str] | None, segments: dict[str, Any], period: int | None
) -> None:
    own = {k: v for k, v in {"timeColumnName": "day", "replication": "1", **segments}.items() if v is not None}
    config = {
        "tableName": "t", "tableType": kind, "tenants": {}, "tableIndexConfig": {}, "metadata": {},
        "segmentsConfig": own,
        "ingestionConfig": {"batchIngestionConfig": batch} if batch else {},
    }  # fmt: skip
    assert period_of(parse_table_config(config)) == period
