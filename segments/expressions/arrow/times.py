"""Pinot's date and time functions for ingestion: epoch conversions, text to time and back, parts of a
time (all UTC).
"""

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
_UNITS: Final = {"seconds": 1_000, "minutes": 60_000, "hours": 3_600_000, "days": 86_400_000}
_PARTS: Final = {
    "year": pc.year,
    "month": pc.month,
    "day": pc.day,
    "dayofmonth": pc.day,
    "dayofyear": pc.day_of_year,
    "doy": pc.day_of_year,
    "hour": pc.hour,
    "minute": pc.minute,
    "second": pc.second,
    "millisecond": pc.millisecond,
    "quarter": pc.quarter,
    "dayofweek": lambda t: pc.day_of_week(t, count_from_zero=False),
    "dow": lambda t: pc.day_of_week(t, count_from_zero=False),
}
_TRUNCATED: Final = ("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")


def _to_epoch(unit: int) -> Callable[..., Values]:
    return lambda millis: pc.divide(convert(millis, "LONG"), unit)


def _to_epoch_rounded(unit: int) -> Callable[..., Values]:
    def run(millis: Values, size: Values) -> Values:
        bucket = _size(size)
        return pc.multiply(pc.divide(pc.divide(convert(millis, "LONG"), unit), bucket), bucket)

    return run


def _to_epoch_bucket(unit: int) -> Callable[..., Values]:
    return lambda millis, size: pc.divide(pc.divide(convert(millis, "LONG"), unit), _size(size))


def _from_epoch(unit: int) -> Callable[..., Values]:
    return lambda value: pc.multiply(convert(value, "LONG"), unit)


def _from_epoch_bucket(unit: int) -> Callable[..., Values]:
    return lambda value, size: pc.multiply(convert(value, "LONG"), unit * _size(size))


def _to_datetime(millis: Values, pattern: Values, zone: Values | None = None) -> Values:
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
            f"'toDateTime' can not use the time zone '{wanted.zone}'.", remedy="Use an IANA name such as UTC."
        ) from error


def _from_datetime(text: Values, pattern: Values, zone: Values | None = None) -> Values:
    wanted = _format(pattern, zone)
    return map_distinct(convert(text, "STRING"), lambda v: None if v is None else to_millis(v, wanted), pa.int64())


def _format(pattern: Values, zone: Values | None) -> DateTimeFormat:
    text, place = constant(pattern, "pattern"), "UTC" if zone is None else constant(zone, "time zone")
    found = DateTimeFormat("SIMPLE_DATE_FORMAT", pattern=str(text), zone=str(place))
    java_to_strptime(found.pattern)
    return found


def _part(operation: Callable[..., Values]) -> Callable[..., Values]:
    return lambda millis: operation(convert(millis, "LONG").cast(pa.timestamp("ms"))).cast(pa.int32())


def _truncate(unit: Values, millis: Values) -> Values:
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
        raise InvalidInput(f"A bucket of {size!r} is no positive number.")
    return size


#: Name -> (function, fewest, most arguments).
DATE_FUNCTIONS: Final[dict[str, tuple[Callable[..., Values], int, int]]] = {
    **{f"toepoch{name}": (_to_epoch(unit), 1, 1) for name, unit in _UNITS.items()},
    **{f"toepoch{name}rounded": (_to_epoch_rounded(unit), 2, 2) for name, unit in _UNITS.items()},
    **{f"toepoch{name}bucket": (_to_epoch_bucket(unit), 2, 2) for name, unit in _UNITS.items()},
    **{f"fromepoch{name}": (_from_epoch(unit), 1, 1) for name, unit in _UNITS.items()},
    **{f"fromepoch{name}bucket": (_from_epoch_bucket(unit), 2, 2) for name, unit in _UNITS.items()},
    **{name: (_part(operation), 1, 1) for name, operation in _PARTS.items()},
    "todatetime": (_to_datetime, 2, 3), "fromdatetime": (_from_datetime, 2, 3), "datetrunc": (_truncate, 2, 2),
}  # fmt: skip
