"""A broker response as a table, statistics and exceptions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from segments.console.presenters.queries.chart import chart_of
from segments.console.presenters.queries.times import moment_text, moments, written_as
from segments.dataplane.query_bounds import rows_within

#: Rows and cells shown on the page; the CSV holds all.
SHOWN_ROWS: Final = 1000
_CELLS: Final = 100_000
#: Columns of EXPLAIN PLAN FOR, Pinot's and ours.
_PLAN: Final = ["Operator", "Operator_Id", "Parent_Id"]
#: Key of the answer, and what its number counts: one of them, or any other number.
_STATS: Final = (
    ("timeUsedMs", "ms", "ms"),
    ("numDocsScanned", "row scanned", "rows scanned"),
    ("totalDocs", "row in total", "rows in total"),
    ("numSegmentsQueried", "segment queried", "segments queried"),
    ("numSegmentsProcessed", "segment processed", "segments processed"),
    ("numServersResponded", "server answered", "servers answered"),
    ("numServersQueried", "server asked", "servers asked"),
)


@dataclass(frozen=True)
class Column:
    """A column of the result."""

    name: str
    type: str

    @property
    def is_number(self) -> bool:
        """Shown flush right."""
        return self.type in ("INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL")


@dataclass(frozen=True)
class Cell:
    """One value as text; of a number that stands for a moment also the date (UTC). ``differs``: not so in the answer
    next to it.
    """

    column: Column
    text: str
    moment: str = ""
    differs: bool = False


@dataclass(frozen=True)
class Result:
    """What the page shows of an answer."""

    columns: list[Column]
    rows: list[list[Cell]]
    total: int
    exceptions: list[dict[str, Any]]
    stats: list[tuple[str, Any]]
    is_partial: bool
    #: The query has no LIMIT, so it got one, and there may be more rows.
    may_be_cut: bool = False
    #: Of EXPLAIN: its operators, each below what it gives its rows to.
    plan: str = ""
    #: What ``query_chart.js`` draws, if anything.
    chart: dict[str, Any] | None = None

    @property
    def chart_json(self) -> str:
        """The chart's columns and its first choice."""
        return json.dumps(self.chart)


def present(answer: dict[str, Any], sql: str = "") -> Result:
    """Columns, the first rows as text, statistics and exceptions."""
    from segments.dataplane.query.sql.default_limit import may_be_cut  # heavy; only who queries needs it

    columns, rows = table_of(answer)
    most = rows_within(SHOWN_ROWS, _CELLS, len(columns))
    shown, written = [list(row) for row in rows[:most]], written_as(sql)
    return Result(
        columns=columns,
        rows=_cells(columns, shown, written),
        total=len(rows),
        exceptions=[e if isinstance(e, dict) else {"message": str(e)} for e in answer.get("exceptions") or []],
        stats=_stats(answer),
        is_partial=bool(answer.get("partialResult")) or len(rows) > most,
        may_be_cut=may_be_cut(sql, len(rows)),
        plan=plan_text([c.name for c in columns], shown),
        chart=chart_of([c.name for c in columns], [c.type for c in columns], shown, written) if columns else None,
    )


def _stats(answer: Mapping[str, Any]) -> list[tuple[str, Any]]:
    given = ((answer.get(key), one, many) for key, one, many in _STATS)
    return [(one if value == 1 else many, value) for value, one, many in given if value is not None]


def _cells(columns: Sequence[Column], rows: Sequence[Sequence[Any]], written: Mapping[str, str]) -> list[list[Cell]]:
    """Rows of cells, made column by column, because what a number means depends on the others of its column."""
    if not rows:
        return []
    by_column = zip(columns, zip(*rows, strict=True), strict=True)
    made = [_column(c, values, written.get(c.name, "")) for c, values in by_column]
    return [list(row) for row in zip(*made, strict=True)]


def _column(column: Column, values: Sequence[Any], written: str) -> list[Cell]:
    whens = moments(column.name, column.type, values, written) if column.is_number else None
    texts = ["" if when is None else moment_text(when) for when in whens or [None] * len(values)]
    return [Cell(column, as_text(v), text) for v, text in zip(values, texts, strict=True)]


def plan_text(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The rows of EXPLAIN, one operator a line, indented below its parent; empty for any other answer."""
    if list(names) != _PLAN:
        return ""
    depths: dict[Any, int] = {}
    lines = []
    for operator, number, parent in rows:
        depths[number] = depths.get(parent, -1) + 1
        lines.append("  " * depths[number] + str(operator))
    return "\n".join(lines)


def table_of(answer: dict[str, Any]) -> tuple[list[Column], Sequence[list[Any]]]:
    """Columns and raw rows; both empty when the answer holds no table."""
    table = answer.get("resultTable") or {}
    schema = table.get("dataSchema") or {}
    names, types = schema.get("columnNames") or [], schema.get("columnDataTypes") or []
    return [Column(n, t) for n, t in zip(names, types, strict=False)], table.get("rows") or []


def as_text(value: Any) -> str:
    """A cell's text: null is distinguished from the text "null" by its sign, lists are JSON."""
    if value is None:
        return "∅"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else str(value)
