"""Days or hours of an append-only OFFLINE table, between its first and its last segment, of which none has rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from segments.domain.tables.table_config import TableConfig
from segments.domain.upkeep.findings import Found

CODE: Final = "missing-periods"
_DAY_MS: Final = 86_400_000
_HOUR_MS: Final = 3_600_000
#: Gaps that the finding names; further ones are counted.
_MOST_NAMED: Final = 10


@dataclass(frozen=True)
class Gap:
    """``count`` periods in a row without a segment; ``start_ms``: where the first of them begins, in UTC."""

    start_ms: int
    count: int


def period_of(config: TableConfig) -> int | None:
    """Milliseconds between two segments of the table, as its config says: a day or an hour. None where nothing says
    that segments follow one another: a REFRESH table, one without a time column or a frequency, a REALTIME one.
    """
    frequency = (config.batch.segment_ingestion_frequency or config.segments.segment_push_frequency or "").lower()
    if config.table.type != "OFFLINE" or config.is_refresh or not config.time_column:
        return None
    return {"daily": _DAY_MS, "hourly": _HOUR_MS}.get(frequency)


def gaps(intervals: Iterable[tuple[int, int]], period_ms: int) -> list[Gap]:
    """The gaps between segments whose rows are of these times (from, to: milliseconds, both inclusive). A segment over
    several periods counts up to its last one.
    """
    found, last = list[Gap](), None
    for start, end in sorted(intervals):
        first = start - start % period_ms
        if last is not None and first - last > period_ms:
            found.append(Gap(last + period_ms, (first - last) // period_ms - 1))
        last = max(first if last is None else last, end - end % period_ms)
    return found


def finding(found: Sequence[Gap], period_ms: int) -> list[Found]:
    """What people see of the gaps: nothing when there is none."""
    if not found:
        return []
    one, form = ("day", "%Y-%m-%d") if period_ms == _DAY_MS else ("hour", "%Y-%m-%d %H:00")
    total = sum(gap.count for gap in found)
    what = one if total == 1 else f"{one}s"
    named = [_named(gap, period_ms, form) for gap in found[:_MOST_NAMED]]
    more = f" and {len(found) - _MOST_NAMED} more gaps" if len(found) > _MOST_NAMED else ""
    text = (
        f"No segment has rows of {total} {what} (UTC) between others: {', '.join(named)}{more}. "
        f"Check the pushes of that time; push the {what} that the source has rows of."
    )
    return [Found(CODE, "", "warning", text)]


def _named(gap: Gap, period_ms: int, form: str) -> str:
    first, last = (
        datetime.fromtimestamp(ms / 1000, UTC).strftime(form)
        for ms in (gap.start_ms, gap.start_ms + (gap.count - 1) * period_ms)
    )
    return first if gap.count == 1 else f"{first} to {last}"
