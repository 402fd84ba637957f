"""Pinot's date and time functions as DuckDB text: truncation, epochs, parts of a date, conversion between formats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from zoneinfo import ZoneInfo

from segments.domain.formats.whole_number import whole_number
from segments.domain.tables.datetime_format import MILLIS, DateTimeFormat, java_to_strptime, parse_format
from segments.errors import InvalidInput
from segments.expressions.duckdb.compiled import Expr, as_long, as_text, constant_text, literal, quote
from segments.expressions.query_errors import QueryRejected

_TRUNCATE: Final = frozenset({"millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"})
_DURATION = re.compile(
    r"(-)?P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:\.(\d{1,3}))?S)?)?\Z",
    re.IGNORECASE | re.ASCII,
)


def now(_: Sequence[Expr], millis: int) -> Expr:
    """``now()`` in milliseconds."""
    return literal(millis, "LONG")


def ago(args: Sequence[Expr], now: int) -> Expr:
    """``ago('PT1H')``: that long before now, in milliseconds. Raises QueryRejected for what is not an ISO duration."""
    text = constant_text(args, 0, "", "The duration of ago()")
    found = _DURATION.match(text)
    if found is None or not any(found.groups()[1:]):
        raise QueryRejected(f"'{text}' is not an ISO-8601 duration.", remedy="Write for example P1D or PT1H30M.")
    days, hours, minutes, seconds = (int(p or 0) for p in found.groups()[1:5])
    millis = ((days * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000 + int((found[6] or "0").ljust(3, "0"))
    return literal(now + millis if found[1] else now - millis, "LONG")


def date_part(part: str, args: Sequence[Expr]) -> str:
    """``year(ms[, zone])`` and its sisters, as INTEGER."""
    local = _local(f"epoch_ms({as_long(args[0])})", constant_text(args, 1, "UTC", "The time zone"))
    found = f"date_part('{part}', {local})"
    return f"CAST({found} % 1000 AS INTEGER)" if part == "millisecond" else f"CAST({found} AS INTEGER)"


def date_trunc(args: Sequence[Expr]) -> str:
    """``dateTrunc(unit, value[, inputUnit[, zone[, outputUnit]]])`` as BIGINT, in the output unit (default: the input
    unit).
    """
    unit = constant_text(args, 0, "", "The unit of dateTrunc()").lower()
    if unit not in _TRUNCATE:
        raise QueryRejected(
            f"dateTrunc() knows no unit '{unit}'.", remedy=f"Use one of {', '.join(sorted(_TRUNCATE))}."
        )
    in_unit = constant_text(args, 2, "MILLISECONDS", "The input unit of dateTrunc()").upper()
    zone = constant_text(args, 3, "UTC", "The time zone of dateTrunc()")
    out_unit = constant_text(args, 4, in_unit, "The output unit of dateTrunc()").upper()
    truncated = f"date_trunc('{unit}', {_local(f'epoch_ms({_to_millis(as_long(args[1]), in_unit)})', zone)})"
    return _from_millis(f"epoch_ms({_to_utc(truncated, zone)})", out_unit)


def to_epoch(unit: int, args: Sequence[Expr]) -> str:
    """``toEpochDays(ms)`` and its sisters."""
    return f"CAST(floor({as_long(args[0])} / {unit}) AS BIGINT)"


def to_epoch_rounded(unit: int, args: Sequence[Expr]) -> str:
    """``toEpochDaysRounded(ms, n)``: down to a multiple of n units, in units."""
    size = _positive(args[1])
    return f"CAST(floor({as_long(args[0])} / {unit * size}) AS BIGINT) * {size}"


def to_epoch_bucket(unit: int, args: Sequence[Expr]) -> str:
    """``toEpochDaysBucket(ms, n)``: the number of the bucket of n units."""
    return f"CAST(floor({as_long(args[0])} / {unit * _positive(args[1])}) AS BIGINT)"


def from_epoch(unit: int, args: Sequence[Expr]) -> str:
    """``fromEpochDays(days)`` and its sisters, in milliseconds."""
    return f"({as_long(args[0])} * {unit})"


def time_convert(args: Sequence[Expr]) -> str:
    """``timeConvert(value, inputUnit, outputUnit)``."""
    before, after = (constant_text(args, i, "", "A unit of timeConvert()").upper() for i in (1, 2))
    return _from_millis(_to_millis(as_long(args[0]), before), after)


def to_date_time(args: Sequence[Expr]) -> str:
    """``toDateTime(ms, pattern[, zone])`` as text."""
    fmt = _pattern(constant_text(args, 1, "", "The pattern of toDateTime()"))
    return f"strftime({_local(f'epoch_ms({as_long(args[0])})', constant_text(args, 2, 'UTC', 'The time zone'))}, {fmt})"


def from_date_time(args: Sequence[Expr]) -> str:
    """``fromDateTime(text, pattern[, zone])`` in milliseconds."""
    fmt = _pattern(constant_text(args, 1, "", "The pattern of fromDateTime()"))
    zone = constant_text(args, 2, "UTC", "The time zone")
    return f"epoch_ms({_to_utc(f'strptime({as_text(args[0])}, {fmt})', zone)})"


def date_time_convert(args: Sequence[Expr]) -> Expr:
    """``dateTimeConvert(value, inputFormat, outputFormat, granularity)``; LONG for epochs, STRING for text formats."""
    before, after = (_format(constant_text(args, i, "", "A format of dateTimeConvert()")) for i in (1, 2))
    size, _, unit = constant_text(args, 3, "", "The granularity of dateTimeConvert()").partition(":")
    count = whole_number(size)
    if not count or unit.upper() not in MILLIS:
        raise QueryRejected("The granularity of dateTimeConvert() is malformed.", remedy="Write for example 1:DAYS.")
    bucket = max(1, int(count * MILLIS[unit.upper()]))
    if before.kind == "SIMPLE_DATE_FORMAT":
        read = f"epoch_ms({_to_utc(f'strptime({as_text(args[0])}, {_pattern(before.pattern)})', before.zone)})"
    else:
        read = _to_millis(f"({as_long(args[0])} * {before.size})", before.unit)
    millis = f"(CAST(floor({read} / {bucket}) AS BIGINT) * {bucket})"
    if after.kind == "SIMPLE_DATE_FORMAT":
        return Expr(f"strftime({_local(f'epoch_ms({millis})', after.zone)}, {_pattern(after.pattern)})", "STRING", "")
    return Expr(f"CAST(floor({_from_millis(millis, after.unit)} / {after.size}) AS BIGINT)", "LONG", "")


def _format(text: str) -> DateTimeFormat:
    try:
        return parse_format(text)
    except InvalidInput as error:
        raise QueryRejected(error.message, remedy=error.remedy) from error


def _pattern(java: str) -> str:
    try:
        return quote(java_to_strptime(java).replace("%f", "%g"))
    except InvalidInput as error:
        raise QueryRejected(error.message, remedy=error.remedy) from error


def _positive(arg: Expr) -> int:
    if not arg.constant or not isinstance(arg.value, int) or arg.value < 1:
        raise QueryRejected(f"{arg.name} must be a positive whole number.")
    return arg.value


def _zone(zone: str) -> str:
    try:
        return quote(ZoneInfo(zone).key)
    except (KeyError, ValueError, OSError) as error:
        raise QueryRejected(
            f"Time zone '{zone}' does not exist.", remedy="Use a name like UTC or Europe/Berlin."
        ) from error


def _local(timestamp: str, zone: str) -> str:
    return timestamp if zone == "UTC" else f"(({timestamp} AT TIME ZONE 'UTC') AT TIME ZONE {_zone(zone)})"


def _to_utc(local: str, zone: str) -> str:
    return local if zone == "UTC" else f"(({local} AT TIME ZONE {_zone(zone)}) AT TIME ZONE 'UTC')"


def _to_millis(value: str, unit: str) -> str:
    factor = _factor(unit)
    return (
        value
        if factor == 1
        else f"({value} * {int(factor)})"
        if factor > 1
        else f"CAST(floor({value} / {round(1 / factor)}) AS BIGINT)"
    )


def _from_millis(value: str, unit: str) -> str:
    factor = _factor(unit)
    return (
        value
        if factor == 1
        else f"CAST(floor({value} / {int(factor)}) AS BIGINT)"
        if factor > 1
        else f"({value} * {round(1 / factor)})"
    )


def _factor(unit: str) -> float:
    if unit not in MILLIS:
        raise QueryRejected(f"Time unit '{unit}' does not exist.", remedy=f"Use one of {', '.join(MILLIS)}.")
    return MILLIS[unit]
