"""Finds the format of dates and times that are written as text or as numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from segments.datatypes.convert import parse_time
from segments.datatypes.timecolumn import to_millis
from segments.domain.tables.datetime_format import parse_format
from segments.errors import InvalidInput

TIMESTAMP: Final = "TIMESTAMP"
#: Patterns of text, with the form that every value has; of several that a text fits, the first that all values fit.
_PATTERNS: Final = (
    ("yyyy-MM-dd", re.compile(r"\d{4}-\d\d-\d\d\Z")),
    ("yyyy/MM/dd", re.compile(r"\d{4}/\d\d/\d\d\Z")),
    ("dd.MM.yyyy", re.compile(r"\d\d\.\d\d\.\d{4}\Z")),
    ("MM/dd/yyyy", re.compile(r"\d\d/\d\d/\d{4}\Z")),
    ("dd/MM/yyyy", re.compile(r"\d\d/\d\d/\d{4}\Z")),
    ("M/d/yyyy", re.compile(r"\d{1,2}/\d{1,2}/\d{4}\Z")),
    ("d/M/yyyy", re.compile(r"\d{1,2}/\d{1,2}/\d{4}\Z")),
    ("dd-MMM-yyyy", re.compile(r"\d\d-[A-Za-z]{3}-\d{4}\Z")),
    ("yyyy-MM-dd HH:mm", re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d\Z")),
    ("yyyy/MM/dd HH:mm:ss", re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\Z")),
    ("dd.MM.yyyy HH:mm", re.compile(r"\d\d\.\d\d\.\d{4} \d\d:\d\d\Z")),
    ("dd.MM.yyyy HH:mm:ss", re.compile(r"\d\d\.\d\d\.\d{4} \d\d:\d\d:\d\d\Z")),
    ("MM/dd/yyyy HH:mm", re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d\Z")),
    ("dd/MM/yyyy HH:mm", re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d\Z")),
    ("MM/dd/yyyy HH:mm:ss", re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d\Z")),
    ("dd/MM/yyyy HH:mm:ss", re.compile(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d\Z")),
)
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\Z")
#: Numbers are times only in columns that are named so.
_NAMED: Final = re.compile(
    r"time|date|epoch|stamp|(?:^|_)(?:ts|at|day|dt)(?:$|_)|(?:At|Ts)$|created|updated|modified", re.I
)
_DAYS: Final = re.compile(r"days?_?since|epoch_?day", re.I)
_2000_S: Final = 946_684_800
_2100_S: Final = 4_102_444_800
_DAY_S: Final = 86_400
#: Formats of numbers: the range of their values, and what the format is.
_EPOCHS: Final = (
    (_2000_S * 1000, _2100_S * 1000, "1:MILLISECONDS:EPOCH"),
    (_2000_S, _2100_S, "1:SECONDS:EPOCH"),
)
_AS_DATE: Final = (20_000_101, 21_000_101)
_AS_DATE_FORMAT: Final = "SIMPLE_DATE_FORMAT|yyyyMMdd"


@dataclass(frozen=True)
class WrittenTime:
    """``data_type`` and ``format`` of a column of times."""

    data_type: str
    format: str


def time_of_texts(texts: Sequence[str]) -> WrittenTime | None:
    """How all of these distinct texts are written, if they are dates or times of one format."""
    if not texts:
        return None
    if all(map(_is_iso, texts)):
        return WrittenTime("TIMESTAMP", TIMESTAMP)
    for pattern, form in _PATTERNS:
        written = WrittenTime("STRING", f"SIMPLE_DATE_FORMAT|{pattern}")
        if form.match(texts[0]) and all(form.match(t) and millis_of(t, written.format) is not None for t in texts):
            return written
    return None


def time_of_numbers(name: str, low: int, high: int, data_type: str, texts: Sequence[str]) -> WrittenTime | None:
    """How a column of whole numbers from ``low`` to ``high`` holds times, if it is named like one."""
    if _DAYS.search(name) and low >= _2000_S // _DAY_S and high <= _2100_S // _DAY_S:
        return WrittenTime(data_type, "1:DAYS:EPOCH")
    if not _NAMED.search(name):
        return None
    for least, most, found in _EPOCHS:
        if least <= low and high <= most:
            return WrittenTime("LONG", found)
    if _AS_DATE[0] <= low and high <= _AS_DATE[1] and all(millis_of(t, _AS_DATE_FORMAT) is not None for t in texts):
        return WrittenTime(data_type, _AS_DATE_FORMAT)
    return None


def millis_of(value: object, text: str) -> int | None:
    """A value of a column of format ``text`` as epoch milliseconds; None when it is no such time."""
    try:
        if text == TIMESTAMP:
            return parse_time(str(value))
        return to_millis(str(value), parse_format(text))
    except (ValueError, OverflowError, InvalidInput):
        return None


def moment(millis: int) -> str:
    """``2024-03-01T12:00:00Z``; "" beyond the years 1 to 9999."""
    try:
        found = datetime.fromtimestamp(millis / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    text = found.isoformat(timespec="milliseconds" if millis % 1000 else "seconds")
    return text.replace("+00:00", "Z")


def _is_iso(text: str) -> bool:
    return bool(_ISO.match(text)) and millis_of(text, TIMESTAMP) is not None
