"""Pinot's date and time functions over Arrow columns: epochs, text to time and back, parts of a time (all UTC)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from segments.datatypes.compute import pc
from segments.datatypes.convert import convert, map_distinct
from segments.datatypes.timecolumn import format_millis, to_millis
from segments.domain.tables.datetime_format import DateTimeFormat, java_to_strptime
from segments.errors import InvalidInput
from segments.expressions.arrow.constants import constant

Values = Any
_TRUNCATED: Final = ("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")


def to_epoch(unit: int) -> Callable[..., Values]:
    """``toEpochDays(ms)`` and its sisters; ``unit`` in milliseconds."""
    return lambda millis: pc.divide(convert(millis, "LONG"), unit)


def to_epoch_rounded(unit: int) -> Callable[..., Values]:
    """``toEpochDaysRounded(ms, n)``: down to a multiple of n units, in units."""

    def run(millis: Values, size: Values) -> Values:
        bucket = _size(size)
        return pc.multiply(pc.divide(pc.divide(convert(millis, "LONG"), unit), bucket), bucket)

    return run


def to_epoch_bucket(unit: int) -> Callable[..., Values]:
    """``toEpochDaysBucket(ms, n)``: the number of the bucket of n units."""
    return lambda millis, size: pc.divide(pc.divide(convert(millis, "LONG"), unit), _size(size))


def from_epoch(unit: int) -> Callable[..., Values]:
    """``fromEpochDays(days)`` and its sisters, in milliseconds."""
    return lambda value: pc.multiply(convert(value, "LONG"), unit)


def from_epoch_bucket(unit: int) -> Callable[..., Values]:
    """``fromEpochDaysBucket(bucket, n)`` and its sisters, in milliseconds."""
    return lambda value, size: pc.multiply(convert(value, "LONG"), unit * _size(size))


def to_datetime(millis: Values, pattern: Values, zone: Values | None = None) -> Values:
    """``toDateTime(ms, pattern[, zone])`` as text. Raises InvalidInput for a pattern or zone that is not known."""
    wanted = _format(pattern, zone)
    values = convert(millis, "LONG")
    directives = java_to_strptime(wanted.pattern, to_write=True)
    if any(d in directives for d in ("%-", "%f", "%b", "%B", "%a", "%A", "%p")):
        return map_distinct(values, lambda v: None if v is None else format_millis(v, wanted), pa.string())
    seconds = pc.floor_temporal(values.cast(pa.timestamp("ms")), unit="second").cast(pa.timestamp("s"))
    try:
        return pc.strftime(pc.assume_timezone(seconds, "UTC").cast(pa.timestamp("s", wanted.zone)), directives)
    except pa.ArrowInvalid as error:
        raise InvalidInput(
            f"'toDateTime' cannot use the time zone '{wanted.zone}'.", remedy="Use an IANA name such as UTC."
        ) from error


def from_datetime(text: Values, pattern: Values, zone: Values | None = None) -> Values:
    """``fromDateTime(text, pattern[, zone])`` in milliseconds. Raises BadValue for a text of another form."""
    wanted = _format(pattern, zone)
    return map_distinct(convert(text, "STRING"), lambda v: None if v is None else to_millis(v, wanted), pa.int64())


def _format(pattern: Values, zone: Values | None) -> DateTimeFormat:
    text, place = constant(pattern, "pattern"), "UTC" if zone is None else constant(zone, "time zone")
    found = DateTimeFormat("SIMPLE_DATE_FORMAT", pattern=str(text), zone=str(place))
    java_to_strptime(found.pattern)
    return found


def date_part(operation: Callable[..., Values]) -> Callable[..., Values]:
    """``year(ms)`` and its sisters, as INT."""
    return lambda millis: operation(convert(millis, "LONG").cast(pa.timestamp("ms"))).cast(pa.int32())


def date_trunc(unit: Values, millis: Values) -> Values:
    """``dateTrunc(unit, ms)`` in milliseconds. Raises InvalidInput for a unit that is not known."""
    wanted = str(constant(unit, "unit")).upper()
    if wanted not in _TRUNCATED:
        raise InvalidInput(
            f"'dateTrunc' does not know the unit '{wanted}'.", remedy=f"Use one of {', '.join(_TRUNCATED)}."
        )
    moments = convert(millis, "LONG").cast(pa.timestamp("ms"))
    return pc.floor_temporal(moments, unit=wanted.lower()).cast(pa.int64())


def _size(values: Values) -> int:
    size = constant(values, "size")
    if not isinstance(size, int) or size < 1:
        raise InvalidInput(f"A bucket of {size!r} is not a positive number.")
    return size
