"""The table's time column: what a null becomes, and the segment's start and end time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from segments.datatypes.compute import pc
from segments.datatypes.convert import BadValue, map_distinct
from segments.domain.tables.datetime_format import MILLIS, DateTimeFormat, java_to_strptime
from segments.domain.tables.schema import FieldSpec
from segments.errors import InvalidInput

#: A segment's time lies in 1971-01-01..2071-01-01, epoch milliseconds.
TIME_RANGE_MS: Final = (31_536_000_000, 3_187_296_000_000)


def is_valid_time(millis: int) -> bool:
    """Inside 1971..2071."""
    return TIME_RANGE_MS[0] <= millis <= TIME_RANGE_MS[1]


def null_time(field: FieldSpec, default: Any, now_ms: int) -> Any:
    """What a null of the time column becomes: its default if that is a valid time, else now in the column's format."""
    parsed = field.datetime_format
    if parsed is None:
        return default
    try:
        if is_valid_time(to_millis(default, parsed)):
            return default
    except (ValueError, OverflowError):
        pass  # a default such as "null" is not a time
    if parsed.kind == "SIMPLE_DATE_FORMAT":
        text = format_millis(now_ms, parsed)
        return text if field.stored_type == "STRING" else int(text)
    value = int(now_ms // (parsed.size * MILLIS[parsed.unit]))
    return str(value) if field.stored_type == "STRING" else value


def to_millis(value: Any, parsed: DateTimeFormat) -> int:
    """One stored value of a date-time column -> epoch milliseconds. Raises ValueError."""
    if parsed.kind != "SIMPLE_DATE_FORMAT":
        return parsed.to_millis(int(value))
    moment = datetime.strptime(str(value), parsed.strptime)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=_zone(parsed))
    passed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (passed.days * 86_400 + passed.seconds) * 1_000 + passed.microseconds // 1_000


def segment_times(field: FieldSpec, values: Any, now_ms: int) -> tuple[int, int, str]:
    """(start, end, unit) of a segment from its stored time values; an empty segment has the time of its build.

    An ``N:UNIT:EPOCH`` column counts its N (Pinot forgets it). Raises InvalidInput for text that
    is not a time.
    """
    parsed = field.datetime_format or DateTimeFormat("TIMESTAMP")
    if parsed.kind == "SIMPLE_DATE_FORMAT":
        low, high = _text_range(field, parsed, values, now_ms)
        return low, high, "MILLISECONDS"
    if not len(values):
        now = int(now_ms // MILLIS[parsed.unit])
        return now, now, parsed.unit
    ends = pc.min_max(values if values.type == pa.int64() else values.cast(pa.int64())).as_py()
    return ends["min"] * parsed.size, ends["max"] * parsed.size, parsed.unit


def check_row_times(field: FieldSpec, values: Any) -> None:
    """``rowTimeValueCheck``: BadValue for the first stored time that is not in 1971..2071; nulls pass."""
    millis = row_millis(field, values)
    bad = pc.fill_null(pc.or_(pc.less(millis, TIME_RANGE_MS[0]), pc.greater(millis, TIME_RANGE_MS[1])), False)
    if pc.any(bad).as_py():
        raise BadValue.among(
            values,
            bad.to_numpy(zero_copy_only=False),
            "is a time outside 1971..2071, which 'rowTimeValueCheck' forbids",
        )


def row_millis(field: FieldSpec, values: Any) -> Any:
    """Stored values of the time column -> epoch milliseconds, float64; nulls stay. Raises ValueError for text that is
    no time.
    """
    parsed = field.datetime_format or DateTimeFormat("TIMESTAMP")
    if parsed.kind == "SIMPLE_DATE_FORMAT":
        millis = map_distinct(values, lambda v: None if v is None else to_millis(v, parsed), pa.int64())
        return millis.cast(pa.float64())
    return pc.multiply(values.cast(pa.int64()).cast(pa.float64(), safe=False), parsed.size * MILLIS[parsed.unit])


def check_times(table: str, field: FieldSpec, start: int, end: int, unit: str) -> None:
    """Raises InvalidInput when the segment's time leaves 1971..2071."""
    low, high = int(start * MILLIS[unit]), int(end * MILLIS[unit])
    if not (is_valid_time(low) and is_valid_time(high)):
        raise InvalidInput(
            f"Time column '{field.name}' of table '{table}' runs from {start} to {end} {unit}, which is outside "
            "1971..2071.",
            remedy="Check the unit in the column's format, or set ingestionConfig.segmentTimeValueCheck to false.",
        )


def _text_range(field: FieldSpec, parsed: DateTimeFormat, values: Any, now_ms: int) -> tuple[int, int]:
    if not len(values):
        return now_ms, now_ms
    low = high = None
    for value in pc.unique(values).to_pylist():
        try:
            millis = to_millis(value, parsed)
        except ValueError as error:
            raise InvalidInput(
                f"Value '{value}' of time column '{field.name}' does not match its format {field.format}.",
                remedy="Correct the value or the format.",
            ) from error
        low, high = min(millis, low if low is not None else millis), max(millis, high if high is not None else millis)
    assert low is not None
    assert high is not None
    return low, high


def format_millis(now_ms: int, parsed: DateTimeFormat) -> str:
    """Epoch milliseconds as text of a SIMPLE_DATE_FORMAT, in its time zone."""
    moment = datetime.fromtimestamp(now_ms / 1_000, _zone(parsed))
    return moment.strftime(java_to_strptime(parsed.pattern, to_write=True).replace("%f", f"{now_ms % 1_000:03d}"))


def _zone(parsed: DateTimeFormat) -> ZoneInfo:
    try:
        return ZoneInfo(parsed.zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InvalidInput(
            f"Time zone '{parsed.zone}' does not exist.", remedy="Use an IANA name such as UTC or Europe/Berlin."
        ) from error
