"""What differs between the rows of two snapshots: rows per day, nulls of every column, and of one its most frequent
values.

Each side is answered from exactly its segments, in few queries of bounded time, and only when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

from segments.datatypes.inference.written_times import TIMESTAMP, millis_of, moment
from segments.datatypes.shown_value import plain_text
from segments.domain.formats.sql_name import quoted
from segments.domain.tables.schema import FieldSpec
from segments.errors import InvalidInput, PinotAdminError, Unavailable
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.history.as_of import reading_as_of
from segments.services.tables.schemas import read_schema
from segments.services.tables.table_record import read_table_config

#: Days, most frequent values and milliseconds of one query.
MOST_DAYS: Final = 366
_TOP: Final = 5
#: Columns of one query for nulls.
_AT_ONCE: Final = 100
_TIME_MS: Final = "5000"
_DAY_MS: Final = 86_400_000

T = TypeVar("T")
Ask = Callable[[str], list[list[Any]]]


@dataclass(frozen=True)
class ValueCount:
    """A value as text, dates as dates, and in how many rows it stands."""

    value: str
    rows: int


@dataclass(frozen=True)
class ColumnSide:
    """A column on one side."""

    rows: int
    nulls: int
    top: list[ValueCount]

    @property
    def null_share(self) -> float:
        """From 0 to 1."""
        return self.nulls / self.rows if self.rows else 0.0


@dataclass(frozen=True)
class ColumnValues:
    """A column on both sides. ``why_before``, ``why_after``: why a side could not be read."""

    column: str
    before: ColumnSide | None
    after: ColumnSide | None
    why_before: str = ""
    why_after: str = ""

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        sides = (("from", self.before, self.why_before), ("to", self.after, self.why_after))
        shown = {
            name: {**asdict(side), "nullShare": side.null_share} if side else {"problem": why}
            for name, side, why in sides
        }
        return {"column": self.column, **shown}


@dataclass(frozen=True)
class DayRows:
    """Rows of a day (ISO 8601, UTC) on both sides; None: that side could not be read."""

    day: str
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Days:
    """Rows per day, the last ``MOST_DAYS`` of each side. ``column``: the time column, "": there is none."""

    column: str
    days: list[DayRows]
    problems: list[str]

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        listed = [{"day": d.day, "from": d.before, "to": d.after} for d in self.days]
        return {"timeColumn": self.column, "days": listed, "problems": self.problems}


@dataclass(frozen=True)
class NullRows:
    """Rows of a column that are null on both sides; None: that side could not be read."""

    column: str
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Nulls:
    """Columns of the schema that have nulls on one side at least. ``rows``: all rows of both sides."""

    rows: tuple[int | None, int | None]
    columns: list[NullRows]
    problems: list[str]


def compare_column(ctx: Context, table: TableName, before: str, after: str, column: str) -> ColumnValues:
    """A column in both snapshots. NotFound for an unknown table or snapshot, InvalidInput for an unknown column."""
    spec = read_schema(ctx, table.raw).by_name.get(column)
    if spec is None:
        raise InvalidInput(f"Table '{table}' has no column '{column[:200]}'.", remedy="See its schema.", field="column")
    (old, why_old), (new, why_new) = _sides(ctx, table, (before, after), lambda ask: _column(ask, table, spec))
    return ColumnValues(column, old, new, why_old, why_new)


def compare_days(ctx: Context, table: TableName, before: str, after: str) -> Days:
    """Rows per day by the time column. NotFound as ``compare_column``."""
    config, schema = read_table_config(ctx, table), read_schema(ctx, table.raw)
    spec = schema.by_name.get(config.time_column or "")
    if spec is None or not spec.format:
        return Days("", [], [])
    (old, why_old), (new, why_new) = _sides(ctx, table, (before, after), lambda ask: _days(ask, table, spec))
    listed = sorted({*(old or ()), *(new or ())})
    days = [DayRows(moment(day * _DAY_MS)[:10] or str(day), _rows(old, day), _rows(new, day)) for day in listed]
    return Days(spec.name, days, [why for why in (why_old, why_new) if why])


def compare_nulls(ctx: Context, table: TableName, before: str, after: str) -> Nulls:
    """Of every column of the schema. NotFound as ``compare_column``."""
    names = list(read_schema(ctx, table.raw).by_name)
    (old, why_old), (new, why_new) = _sides(ctx, table, (before, after), lambda ask: _nulls(ask, table, names))
    found = [NullRows(n, old and old[1][n], new and new[1][n]) for n in names]
    return Nulls(
        rows=(old and old[0], new and new[0]),
        columns=[c for c in found if c.before or c.after],
        problems=[why for why in (why_old, why_new) if why],
    )


def _rows(side: dict[int, int] | None, day: int) -> int | None:
    return None if side is None else side.get(day, 0)


def _sides(
    ctx: Context, table: TableName, names: tuple[str, str], read: Callable[[Ask], T]
) -> tuple[tuple[T | None, str], tuple[T | None, str]]:
    """What ``read`` finds in each of two snapshots, or why it cannot be read; an unknown snapshot is raised."""
    are_recorded = read_schema(ctx, table.raw).column_based_nulls or read_table_config(ctx, table).null_handling
    options = {"timeoutMs": _TIME_MS, "nullsAreRecorded": str(are_recorded).lower()}
    first, second = (_side(ctx, table, name, options, read) for name in names)
    return first, second


def _side(
    ctx: Context, table: TableName, name: str, options: dict[str, str], read: Callable[[Ask], T]
) -> tuple[T | None, str]:
    try:
        with reading_as_of(ctx, table, name) as query:

            def ask(sql: str) -> list[list[Any]]:
                answer = query(sql, options)
                if answer.get("exceptions"):
                    raise Unavailable(str(answer["exceptions"][0].get("message", "The query failed."))[:500])
                return list((answer.get("resultTable") or {}).get("rows") or [])

            return read(ask), ""
    except PinotAdminError as error:
        if error.status == 404:
            raise
        return None, str(error)


def _nulls(ask: Ask, table: TableName, names: list[str]) -> tuple[int, dict[str, int]]:
    """All rows, and {column: those that are null}."""
    rows, found = 0, dict[str, int]()
    for start in range(0, len(names), _AT_ONCE):
        piece = names[start : start + _AT_ONCE]
        counts = ask(_select(", ".join(["count(*)", *map(_count_of_nulls, piece)]), table, "limit 1"))[0]
        rows, found = int(counts[0]), {**found, **dict(zip(piece, map(int, counts[1:]), strict=True))}
    return rows, found


def _count_of_nulls(column: str) -> str:
    return f"count(*) filter (where {quoted(f'$isNull.{column}')})"


def _column(ask: Ask, table: TableName, spec: FieldSpec) -> ColumnSide:
    name = quoted(spec.name)
    rows, empty = ask(_select(f"count(*), {_count_of_nulls(spec.name)}", table, "limit 1"))[0]
    order = f"group by {name} order by count(*) desc, {name} limit {_TOP}"
    found = ask(_select(f"{name}, count(*)", table, order))
    return ColumnSide(
        int(rows), int(empty), [ValueCount(shown_value(value, spec), int(count)) for value, count in found]
    )


def _days(ask: Ask, table: TableName, spec: FieldSpec) -> dict[int, int]:
    text = "1:MILLISECONDS:EPOCH" if spec.format == "TIMESTAMP" else str(spec.format)
    column = f"cast({quoted(spec.name)} as LONG)" if spec.format == "TIMESTAMP" else quoted(spec.name)
    day = f"datetimeconvert({column}, '{text.replace(chr(39), chr(39) * 2)}', '1:DAYS:EPOCH', '1:DAYS')"
    found = ask(_select(f"{day}, count(*)", table, f"group by {day} order by {day} desc limit {MOST_DAYS}"))
    return {int(value): int(count) for value, count in found if value is not None}


def shown_value(value: Any, spec: FieldSpec | None) -> str:
    """A value as text, cut at 80 characters; dates as dates where the column is known."""
    written = _time_format(spec) if spec is not None else None
    if written and value is not None:
        millis = millis_of(value, written)
        if millis is not None and (text := moment(millis)):
            return text.removesuffix("T00:00:00Z")
    text = plain_text(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def _time_format(spec: FieldSpec) -> str | None:
    if spec.data_type == TIMESTAMP:
        return TIMESTAMP
    return spec.format if spec.kind == "DATE_TIME" else None


def _select(what: str, table: TableName, more: str) -> str:
    return f"select {what} from {quoted(table.typed)} {more}"  # noqa: S608  # every name in it is quoted
