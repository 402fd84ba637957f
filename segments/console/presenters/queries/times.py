"""Which columns of an answer are moments: by type, by the form of texts, or by a name (or what it was
written as) and numbers that both fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from segments.expressions.query_errors import QueryRejected

_DAY: Final = 86_400_000
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?Z?)?\Z")
_HINT: Final = re.compile(r"time|date|day|hour|week|month|minute|second|trunc|epoch|millis|bucket|quarter|\bts\b|_ts\b")
_WHOLE: Final = ("INT", "LONG")
#: Numbers that can stand for a moment between 1973 and 2128: the least, the greatest, milliseconds of one.
_UNITS: Final = ((100_000_000_000, 5_000_000_000_000, 1), (300_000_000, 5_000_000_000, 1_000))
_DAYS: Final = (3_650, 58_000)


def moments(name: str, kind: str, values: Sequence[Any], written: str = "") -> list[int | None] | None:
    """Epoch milliseconds of each value of a column of this Pinot type; None for a column that is not about time.
    ``written``: the expression behind its name.
    """
    present = [v for v in values if v is not None]
    if not present:
        return None
    if kind in ("TIMESTAMP", "STRING"):
        is_text = all(isinstance(v, str) and _ISO.match(v) for v in present)
        return _each(values, _of_text) if is_text else None
    if kind not in _WHOLE or not all(isinstance(v, int) for v in present):
        return None
    hint = f"{name} {written}".lower()
    if not _HINT.search(hint):
        return None
    least, greatest = min(present), max(present)
    if "day" in hint and _DAYS[0] <= least and greatest <= _DAYS[1]:
        return _each(values, lambda v: v * _DAY)
    if least >= 19_730_101 and greatest <= 21_281_231:
        return _each(values, _of_digits)
    for low, high, unit in _UNITS:
        if low <= least and greatest <= high:
            return _each(values, lambda v, unit=unit: v * unit)  # type: ignore[misc]  # the default binds the loop's value
    return None


def written_as(sql: str) -> dict[str, str]:
    """{alias: the expression behind it} of a query of one table; of others nothing."""
    from segments.dataplane.query.sql.parse import parse_select  # heavy; only who queries needs it

    try:
        written = parse_select(sql).select.expressions if sql else []
    except QueryRejected:
        return {}
    return {one.alias: one.unalias().sql() for one in written if one.alias}


def moment_text(millis: int) -> str:
    """``2013-01-01`` at midnight, else with the time of day; UTC."""
    moment = datetime.fromtimestamp(millis / 1000, UTC)
    if millis % _DAY == 0:
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%Y-%m-%d %H:%M}" if millis % 60_000 == 0 else f"{moment:%Y-%m-%d %H:%M:%S}"


def _each(values: Sequence[Any], read: Callable[[Any], int]) -> list[int | None] | None:
    try:
        return [None if v is None else read(v) for v in values]
    except (ValueError, OverflowError):
        return None


def _of_text(text: str) -> int:
    return int(datetime.fromisoformat(text.rstrip("Z")).replace(tzinfo=UTC).timestamp() * 1000)


def _of_digits(number: int) -> int:
    return int(datetime.strptime(str(number), "%Y%m%d").replace(tzinfo=UTC).timestamp() * 1000)
