"""The checks of a table as people write them: JSON text under ``metadata.customConfigs`` of the table config."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from segments.domain.formats.bounded_json import parse_json
from segments.domain.formats.moment import iso_moment
from segments.domain.replacement.checks import (
    DEFAULT_TIMEOUT_MS,
    Bound,
    Check,
    CheckPlan,
    Expectation,
    Level,
    NullShare,
    RowCount,
    SampleSql,
    TimeRange,
    UniqueKey,
)
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig, parse_period
from segments.errors import InvalidInput

CHECKS: Final = "pinotadmin.checks"
_MOST_CHECKS: Final = 50
_LONGEST_SQL: Final = 10_000
_MOST_DIGITS: Final = 20
_TIMEOUTS_MS: Final = (100, 600_000)
_RELATIVE = re.compile(r"now(?:\s*([+-])\s*(\S+))?\Z", re.IGNORECASE)
#: between LOW and HIGH
_WORDS_OF_RANGE: Final = 4
_COMPARISON = re.compile(r"==|=|!=|<>|<=|>=|<|>")
_ALIKE: Final = {"==": "=", "<>": "!="}

_Parse = Callable[["_Item"], Check]


def checks_of(config: TableConfig) -> CheckPlan:
    """The checks of a table; an empty plan when it has none. Raises InvalidInput for a document that cannot
    be read.
    """
    text = config.custom.get(CHECKS)
    if text is None or text == "":
        return CheckPlan()
    return parse_checks(text)


def parse_checks(given: Any) -> CheckPlan:
    """Check a document, as JSON text or as values: ``{"checks": [...], "timeoutMs": 60000}``. Raises InvalidInput
    naming the field.
    """
    body = given
    if isinstance(given, str):
        try:
            body = parse_json(given, what=f"'{CHECKS}'")
        except InvalidInput as error:
            raise InvalidInput(error.message, field=CHECKS) from error
    if not isinstance(body, Mapping):
        raise _bad("", "must be an object with 'checks', a list")
    _only(body, "", ("checks", "timeoutMs"))
    listed = body.get("checks")
    if not isinstance(listed, list) or len(listed) > _MOST_CHECKS:
        raise _bad("checks", f"must be a list of at most {_MOST_CHECKS} checks")
    checks = tuple(_parse(_Item(f"checks[{i}]", item)) for i, item in enumerate(listed))
    names = [c.name for c in checks]
    for name in names:
        if names.count(name) > 1:
            raise _bad("checks", f"has two checks named '{name}'", "Give them a 'name' each.")
    timeout = body.get("timeoutMs", DEFAULT_TIMEOUT_MS)
    if not _is_int(timeout) or not _TIMEOUTS_MS[0] <= timeout <= _TIMEOUTS_MS[1]:
        raise _bad(
            "timeoutMs", f"must be a whole number from {_TIMEOUTS_MS[0]} to {_TIMEOUTS_MS[1]} (milliseconds per check)"
        )
    return CheckPlan(checks, timeout)


def check_columns(plan: CheckPlan, config: TableConfig, schema: Schema) -> None:
    """The columns that checks name must be in the schema and fit. Raises InvalidInput."""
    for check in plan.checks:
        match check:
            case NullShare():
                _column(check, check.column, schema)
            case UniqueKey():
                for column in check.columns:
                    _column(check, column, schema)
                    if not schema.by_name[column].single_value:
                        raise _bad(
                            check.name, f"names the multi-value column '{column}'", "A key has one value per column."
                        )
            case TimeRange():
                column = check.column or config.time_column or ""
                if not column:
                    raise _bad(
                        check.name, "names no column, and the table has no time column", "Name a date-time column."
                    )
                _column(check, column, schema)
                if schema.by_name[column].kind != "DATE_TIME":
                    raise _bad(check.name, f"names '{column}', which is not a date-time column")


def to_document(plan_text: str | None) -> dict[str, Any]:
    """The document as stored (no checks when there is none), with the time-out written out. Raises InvalidInput."""
    plan = parse_checks(plan_text) if plan_text else CheckPlan()
    body = json.loads(plan_text) if plan_text else {"checks": []}
    return {"checks": body["checks"], "timeoutMs": plan.timeout_ms}


class _Item:
    """One check as given, with the path that messages name it by."""

    def __init__(self, path: str, body: Any) -> None:
        if not isinstance(body, Mapping):
            raise _bad(path, "must be an object")
        self.path, self.body = path, body

    def bad(self, key: str, text: str, remedy: str = "") -> InvalidInput:
        return _bad(f"{self.path}.{key}" if key else self.path, text, remedy)

    def only(self, *keys: str) -> None:
        _only(self.body, self.path, ("kind", "name", "level", *keys))

    def text(self, key: str) -> str:
        value = self.body.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self.bad(key, "is missing" if value is None else "must be text")
        return value

    def name(self, default: str) -> str:
        value = self.body.get("name", default)
        if not isinstance(value, str) or not 0 < len(value.strip()) <= 100:
            raise self.bad("name", "must be text of at most 100 characters")
        return value.strip()

    def level(self) -> Level:
        value = self.body.get("level", Level.BLOCK.value)
        try:
            return Level(value)
        except ValueError as error:
            raise self.bad("level", f"must be block or warn, not {value!r}") from error

    def number(self, key: str, high: float | None = None, *, whole: bool = False) -> Any:
        value = self.body.get(key)
        if value is None:
            return None
        fits = _is_int(value) or (isinstance(value, float) and not whole)
        if not fits or not value >= 0 or (high is not None and value > high) or value == float("inf"):
            span = f"from 0 to {high:g}" if high is not None else "from 0 on"
            raise self.bad(key, f"must be a {'whole ' if whole else ''}number {span}, not {value!r}")
        return value

    def period(self, key: str) -> int | None:
        value = self.body.get(key)
        if value is None:
            return None
        found = parse_period(value) if isinstance(value, str) else None
        if found is None:
            raise self.bad(key, f"must be a period such as 2d or 12h30m, not {value!r}")
        return found

    def bound(self, key: str) -> Bound | None:
        value = self.body.get(key)
        if value is None:
            return None
        found = parse_bound(value)
        if found is None:
            raise self.bad(
                key,
                f"is not a moment: {value!r}",
                "Write 2024-01-31, 2024-01-31T12:00:00Z, now-30d or epoch milliseconds.",
            )
        return found


def parse_bound(value: Any) -> Bound | None:
    """``2024-01-31``, ISO date and time (UTC unless it says otherwise), ``now-30d`` or epoch milliseconds; None for
    anything else.
    """
    if _is_int(value):
        return Bound(str(value), value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if found := _RELATIVE.match(text):
        offset = parse_period(found[2]) if found[2] else 0
        return None if offset is None else Bound(text, None, -offset if found[1] == "-" else offset)
    try:
        return Bound(text, round(iso_moment(text).timestamp() * 1000))
    except (ValueError, OverflowError):
        return None


def parse_expectation(text: str) -> Expectation | None:
    """``= 0``, ``!= 'x'``, ``<= 0.5``, ``between 1 and 5``; None for anything else."""
    text = text.strip()
    words = text.split()
    if len(words) == _WORDS_OF_RANGE and (words[0].lower(), words[2].lower()) == ("between", "and"):
        low, high = _operand(words[1]), _operand(words[3])
        return Expectation(text, "between", (low, high)) if low is not None and high is not None else None
    if found := _COMPARISON.match(text):
        operand = _operand(text[found.end() :].strip())
        return None if operand is None else Expectation(text, _ALIKE.get(found[0], found[0]), (operand,))
    return None


def _operand(text: str) -> float | str | None:
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    try:
        is_whole = len(text) <= _MOST_DIGITS and text.lstrip("+-").isdecimal()
        number: float = int(text) if is_whole else float(text)
    except ValueError:
        return None
    return None if number != number or number in (float("inf"), float("-inf")) else number


def _row_count(item: _Item) -> Check:
    item.only("min", "max", "minRatio", "maxRatio")
    limits = (
        item.number("min", whole=True),
        item.number("max", whole=True),
        item.number("minRatio"),
        item.number("maxRatio"),
    )
    if all(x is None for x in limits):
        raise item.bad("", "allows any number of rows", "Give min, max, minRatio or maxRatio.")
    for low, high, key in ((limits[0], limits[1], "min"), (limits[2], limits[3], "minRatio")):
        if low is not None and high is not None and low > high:
            raise item.bad(key, "is above its maximum")
    return RowCount(item.name("rowCount"), item.level(), *limits)


def _null_share(item: _Item) -> Check:
    item.only("column", "max")
    column, share = item.text("column"), item.number("max", 1.0)
    if share is None:
        raise item.bad("max", "is missing", "Give the largest share, from 0 to 1.")
    return NullShare(item.name(f"nullShare {column}"), item.level(), column, share)


def _time(item: _Item) -> Check:
    item.only("column", "notBefore", "notAfter", "maxAge")
    column = item.text("column") if "column" in item.body else None
    limits = item.bound("notBefore"), item.bound("notAfter"), item.period("maxAge")
    if all(x is None for x in limits):
        raise item.bad("", "allows any time", "Give notBefore, notAfter or maxAge.")
    return TimeRange(item.name(f"time {column}" if column else "time"), item.level(), column, *limits)


def _unique_key(item: _Item) -> Check:
    item.only("columns")
    columns = item.body.get("columns")
    if not isinstance(columns, list) or not columns or not all(isinstance(c, str) and c for c in columns):
        raise item.bad("columns", "must be a list of column names")
    if len(set(columns)) < len(columns):
        raise item.bad("columns", "names a column twice")
    return UniqueKey(item.name(f"uniqueKey {', '.join(columns)}"[:100]), item.level(), tuple(columns))


def _sql(item: _Item) -> Check:
    item.only("sql", "expect")
    sql, expect = item.text("sql"), item.text("expect")
    if len(sql) > _LONGEST_SQL:
        raise item.bad("sql", f"is longer than {_LONGEST_SQL} characters")
    condition = parse_expectation(expect)
    if condition is None:
        raise item.bad(
            "expect", f"is not a condition: {expect!r}", "Write for example = 0, >= 0.5, != 'x' or between 1 and 5."
        )
    return SampleSql(item.name("sql"), item.level(), sql, condition)


_KINDS: Final[dict[str, _Parse]] = {
    "rowCount": _row_count, "nullShare": _null_share, "time": _time, "uniqueKey": _unique_key, "sql": _sql,
}  # fmt: skip


def _parse(item: _Item) -> Check:
    kind = item.body.get("kind")
    parse = _KINDS.get(kind) if isinstance(kind, str) else None
    if parse is None:
        raise item.bad(
            "kind", "is missing" if kind is None else f"is unknown: {kind!r}", f"Use one of {', '.join(_KINDS)}."
        )
    return parse(item)


def _column(check: Check, column: str, schema: Schema) -> None:
    if column not in schema.by_name:
        raise _bad(
            check.name,
            f"names column '{column}', which is not in the schema",
            f"Columns are {', '.join(sorted(schema.by_name))}.",
        )


def _only(body: Mapping[Any, Any], path: str, known: tuple[str, ...]) -> None:
    for key in body:
        if key not in known:
            raise _bad(f"{path}.{key}".lstrip("."), "is not known here", f"Known are {', '.join(known)}.")


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _bad(path: str, text: str, remedy: str = "") -> InvalidInput:
    where = f"{CHECKS}: '{path}'" if path else f"'{CHECKS}'"
    return InvalidInput(f"{where} {text}.".replace("..", "."), remedy=remedy, field=path or CHECKS)
