"""What of an answer can be drawn, and how it is drawn at first: a line over time, bars over names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from segments.console.presenters.queries.times import moments

#: Rows of a chart; more would be a smear.
CHART_ROWS: Final = 1000
_NUMBERS: Final = ("INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL")
#: Lines or groups of bars that can be distinguished.
_SERIES: Final = 8


def chart_of(
    names: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]], written: Mapping[str, str] | None = None
) -> dict[str, Any] | None:
    """Columns with their values (moments in epoch milliseconds) and a first choice; None when nothing can be drawn.

    ``isClear``: names or moments first, then only numbers: an answer that was grouped to be drawn. Numbers alone are
    drawn along the first of them.
    """
    if len(rows) < 2 or not names:
        return None
    shown = rows[:CHART_ROWS]
    columns = [
        _column(n, t, [row[i] for row in shown], (written or {}).get(n, ""))
        for i, (n, t) in enumerate(zip(names, types, strict=True))
    ]
    choice = _choice(columns)
    if choice is None:
        return None
    kinds = [c["kind"] for c in columns]
    is_clear = kinds[0] != "number" and all(k == "number" for k in kinds[1 + (choice["split"] is not None) :])
    return {"columns": columns, "choice": choice, "isClear": is_clear}


def _column(name: str, kind: str, values: list[Any], written: str) -> dict[str, Any]:
    times = moments(name, kind, values, written)
    if times is not None:
        return {"name": name, "kind": "time", "values": times}
    if kind in _NUMBERS:
        return {"name": name, "kind": "number", "values": [_number(v) for v in values]}
    return {"name": name, "kind": "text", "values": [None if v is None else str(v)[:100] for v in values]}


def _number(value: Any) -> float | None:
    """Infinities and NaN are texts in Pinot's answers, and BIG_DECIMAL always; what is not a finite number is a gap."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if abs(found) < float("inf") else None


def _choice(columns: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    times, texts, numbers = ([i for i, c in enumerate(columns) if c["kind"] == k] for k in ("time", "text", "number"))
    if not numbers or len(columns) < 2:
        return None
    if not (times or texts):  # such as a count for each hour of the day
        return {"kind": "bar", "x": 0, "values": numbers[1 : 1 + _SERIES], "split": None}
    x = times[0] if times else texts[0]
    rest = [i for i in texts if i != x]
    split = rest[0] if rest and _repeats(columns[x]) else None
    values = numbers[:1] if split is not None else numbers[:_SERIES]
    return {"kind": "line" if times else "bar", "x": x, "values": values, "split": split}


def _distinct(column: dict[str, Any]) -> int:
    return len(set(column["values"]))


def _repeats(column: dict[str, Any]) -> bool:
    return _distinct(column) < len(column["values"])
