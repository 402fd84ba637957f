"""Measures what a table's checks ask for, by SQL on exactly the named segments. What fails or takes too long is
reported, never left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from segments.domain.formats.sql_name import quoted
from segments.domain.replacement.checks import (
    Check,
    CheckPlan,
    Measured,
    NullShare,
    RowCount,
    SampleSql,
    TimeRange,
    UniqueKey,
)
from segments.domain.tables.schema import FieldSpec, Schema
from segments.domain.tables.table_config import TableConfig
from segments.services.engine.snapshots import SnapshotReader

#: Keys shown of those that are there more than once.
_EXAMPLES: Final = 5


class Unmeasurable(Exception):
    """The query has no answer; the text says why. Never leaves this module."""


@dataclass(frozen=True)
class Snapshot:
    """``new``: the segments that the switch would show; ``old``: those it would hide, None when it replaces nothing."""

    config: TableConfig
    schema: Schema
    new: Sequence[str]
    old: Sequence[str] | None


class Measuring:
    """One check after the other over one reader."""

    def __init__(self, reader: SnapshotReader, snapshot: Snapshot, plan: CheckPlan) -> None:
        self._reader, self._snapshot, self._plan = reader, snapshot, plan
        self._table = quoted(snapshot.config.table.typed)

    def measure(self, check: Check) -> Measured:
        """What was found; ``error`` when it could not be measured."""
        try:
            return self._measure(check)
        except Unmeasurable as error:
            return Measured(error=str(error))

    def _measure(self, check: Check) -> Measured:
        match check:
            case RowCount():
                old = self._snapshot.old
                return Measured(
                    rows=self._rows(self._snapshot.new), previous_rows=None if old is None else self._rows(old)
                )
            case NullShare():
                rows, nulls = self._first(
                    self._select(f'count(*), count(*) filter (where "$isNull.{_inner(check.column)}")')
                )
                return Measured(rows=int(rows), nulls=int(nulls))
            case TimeRange():
                return self._times(check.column or self._snapshot.config.time_column or "")
            case UniqueKey():
                keys = ", ".join(quoted(c) for c in check.columns)
                having = f"group by {keys} having count(*) > 1 order by count(*) desc limit {_EXAMPLES}"
                found = self._ask(self._select(f"{keys}, count(*)", having), self._snapshot.new)
                return Measured(duplicates=tuple(tuple(row) for row in found))
            case SampleSql():
                answer = self._ask(check.sql, self._snapshot.new)
                return Measured(row=tuple(answer[0]) if answer else None)

    def _rows(self, segments: Sequence[str]) -> int:
        return int(self._first(self._select("count(*)"), segments)[0]) if segments else 0

    def _times(self, column: str) -> Measured:
        spec = self._snapshot.schema.by_name.get(column)
        if spec is None or spec.datetime_format is None:
            raise Unmeasurable(f"column '{column}' has no date-time format")
        text, to_millis = _millis(spec)
        rows, first, last = self._first(self._select(f"count(*), min({text}), max({text})"))
        if not int(rows):
            return Measured()
        try:
            return Measured(first_ms=to_millis(float(first)), last_ms=to_millis(float(last)))
        except (TypeError, ValueError, OverflowError) as error:
            raise Unmeasurable(f"'{first}' to '{last}' of column '{column}' are not times") from error

    def _select(self, what: str, more: str = "") -> str:
        return f"select {what} from {self._table} {more}".rstrip()  # noqa: S608  # quoted names of the schema only

    def _first(self, sql: str, segments: Sequence[str] | None = None) -> list[Any]:
        rows = self._ask(sql, self._snapshot.new if segments is None else segments)
        if not rows:
            raise Unmeasurable("the query returned no row")
        return rows[0]

    def _ask(self, sql: str, segments: Sequence[str]) -> list[list[Any]]:
        options = {"timeoutMs": str(self._plan.timeout_ms), "nullsAreRecorded": str(self._are_nulls_recorded()).lower()}
        answer = self._reader.query(sql, options, segments=segments)
        if answer.get("exceptions"):
            raise Unmeasurable(" ".join(str(answer["exceptions"][0].get("message")).split()))
        rows: list[list[Any]] = (answer.get("resultTable") or {}).get("rows") or []
        return rows

    def _are_nulls_recorded(self) -> bool:
        return self._snapshot.schema.column_based_nulls or self._snapshot.config.null_handling


def _millis(spec: FieldSpec) -> tuple[str, Callable[[float], int]]:
    """SQL over a date-time column that gives a number, and how that number becomes epoch milliseconds."""
    form = spec.datetime_format
    assert form is not None
    if form.kind != "SIMPLE_DATE_FORMAT":
        return quoted(spec.name), lambda value: form.to_millis(int(value))
    pattern, zone = form.pattern.replace("'", "''"), form.zone.replace("'", "''")
    return f"fromDateTime(cast({quoted(spec.name)} as varchar), '{pattern}', '{zone}')", int


def _inner(name: str) -> str:
    return name.replace('"', '""')
