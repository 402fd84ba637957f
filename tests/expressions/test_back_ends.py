"""Every function that ingestion and queries have gives the same value in both; differences are listed here."""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.dataplane.query import engine, plan_query
from segments.datatypes.convert import BadValue
from segments.errors import PinotAdminError
from segments.expressions.arrow.evaluate import evaluate
from segments.expressions.casts import CASTS
from segments.expressions.duckdb.calls import call
from segments.expressions.duckdb.compiled import Expr, literal
from segments.expressions.function import Function, canonical
from segments.expressions.functions import FUNCTIONS
from segments.expressions.ingestion import Call, Column, Literal, parse_expression
from tests.query.samples import SCHEMA

#: A column of an argument: its type and values. Anything else is a constant.
Values = tuple[str, tuple[Any, ...]]
LONGS: Final[Values] = ("LONG", (None, 0, 1, 7, 1_500, 19_675, 2**31, 1_700_000_000_123, 951_868_799_999))
SIGNED: Final[Values] = ("LONG", (0, 1, -1, 7, -7, -(2**20), 2**20))
POSITIVE: Final[Values] = ("LONG", (None, 1, 7, 2**40))
DOUBLES: Final[Values] = ("DOUBLE", (None, 0.0, 0.25, 1.5, -1.5, 2.5, 1e300, -1e-300))
POSITIVE_DOUBLES: Final[Values] = ("DOUBLE", (None, 0.25, 1.0, 2.5, 700.0))
MORE: Final[Values] = ("DOUBLE", (None, 1.0, -0.5, 3.0))
TEXTS: Final[Values] = (
    "STRING",
    (None, "", "a", "abcab", "  Ab c ", "ÄÖ", "x'y\"z", "a-b-a", "naïve", "日本語", "🙂x"),
)
DAYS_OF_1970: Final[Values] = ("LONG", (None, 0, 1, 364))
DAYS: Final[Values] = ("STRING", (None, "1970-01-01", "2024-02-29", "1969-12-31"))
_ONE_TIME: Final = [(LONGS,)]
_BUCKETS: Final = [(LONGS, 1), (LONGS, 7)]
_UNARY: Final = [(SIGNED,), (POSITIVE,), (DOUBLES,)]
_BINARY: Final = [(SIGNED, SIGNED), (POSITIVE, 3), (DOUBLES, MORE), (SIGNED, MORE)]
_EXTREMES: Final = [(SIGNED, SIGNED), (SIGNED, 3), (SIGNED, 2.5)]
_ROOTS: Final = [(POSITIVE_DOUBLES,)]
_ONE_TEXT: Final = [(TEXTS,)]
_SEARCH: Final = [(TEXTS, "a"), (TEXTS, "ab"), (TEXTS, ""), (TEXTS, "語")]
_UNITS: Final = ("millisecond", "SECOND", "minute", "hour", "day", "week", "month", "quarter", "year")
_ARGUMENTS: Final[dict[str, list[tuple[Any, ...]]]] = {
    **dict.fromkeys(("plus", "minus", "times", "divide"), _BINARY),
    **dict.fromkeys(("least", "greatest"), _EXTREMES),
    "mod": [(POSITIVE, 3), (POSITIVE, POSITIVE), (("DOUBLE", (None, 0.5, 7.5, 1e10)), 2)],
    **dict.fromkeys(("abs", "ceil", "floor"), _UNARY),
    **dict.fromkeys(("exp", "ln", "sqrt"), _ROOTS),
    **dict.fromkeys(("lower", "upper", "trim", "ltrim", "rtrim", "length", "reverse"), _ONE_TEXT),
    **dict.fromkeys(("startsWith", "endsWith", "contains"), _SEARCH),
    "concat": [(TEXTS, TEXTS), (TEXTS, "-"), (TEXTS, TEXTS, ", "), (LONGS, TEXTS)],
    "replace": [(TEXTS, "a", "bb"), (TEXTS, "ab", ""), (TEXTS, "", "x"), (TEXTS, "語", "go")],
    "substr": [(TEXTS, 0), (TEXTS, 2), (TEXTS, 0, 2), (TEXTS, 1, -1), (TEXTS, 2, 1), (TEXTS, 50, 60)],
    "dateTrunc": [(unit, LONGS) for unit in _UNITS],
    "toDateTime": [(LONGS, "yyyy-MM-dd HH:mm:ss"), (LONGS, "yyyyMMdd", "Asia/Tokyo"), (LONGS, "HH:mm:ss.SSS")],
    "fromDateTime": [(DAYS, "yyyy-MM-dd"), (DAYS, "yyyy-MM-dd", "Asia/Tokyo")],
    **{f"toEpoch{u}": _ONE_TIME for u in ("Seconds", "Minutes", "Hours", "Days")},
    **{f"fromEpoch{u}": [(DAYS_OF_1970,)] for u in ("Seconds", "Minutes", "Hours", "Days")},
    **{f"toEpoch{u}{w}": _BUCKETS for u in ("Seconds", "Minutes", "Hours", "Days") for w in ("Rounded", "Bucket")},
    **dict.fromkeys(
        ("year", "quarter", "month", "day", "dayOfYear", "dayOfWeek", "hour", "minute", "second", "millisecond"),
        _ONE_TIME,
    ),
}
FAILS: Final = "fails"
_ARROW: Final = {"LONG": pa.int64(), "DOUBLE": pa.float64(), "STRING": pa.string()}
#: Of multi-value columns, and of the clock.
_NOT_OF_ROWS: Final = {"arrayLength", "arraySum", "arrayAverage", "arrayMin", "arrayMax", "now", "ago"}
#: Arguments of functions that have one back end, to see what they make of null.
_ONE_SIDED: Final[dict[str, tuple[Any, ...]]] = {
    **dict.fromkeys(("log", "log2", "log10", "sign", "truncate", "round", "roundDecimal"), (MORE,)),
    **dict.fromkeys(("equals", "notEquals", "lessThan", "lessThanOrEqual"), (LONGS, 1)),
    **dict.fromkeys(("greaterThan", "greaterThanOrEqual"), (LONGS, 1)),
    **dict.fromkeys(("strcmp", "split", "strpos", "regexpLike"), (TEXTS, "a")),
    **dict.fromkeys(("monthOfYear", "week", "yearOfWeek", "not", "fromTimestamp", "toTimestamp"), (LONGS,)),
    **{f"fromEpoch{u}Bucket": (DAYS_OF_1970, 7) for u in ("Seconds", "Minutes", "Hours", "Days")},
    "power": (MORE, 2), "strlen": (TEXTS,), "substring": (TEXTS, 1), "jsonFormat": (TEXTS,), "cast": (LONGS, "STRING"),
    "timeConvert": (LONGS, "MILLISECONDS", "DAYS"),
    "dateTimeConvert": (LONGS, "1:MILLISECONDS:EPOCH", "1:DAYS:EPOCH", "1:DAYS"),
}  # fmt: skip
#: Where the two differ: ingestion's value, the queries' value, and why.
_DIFFERENCES: Final[list[tuple[str, tuple[Any, ...], Any, Any, str]]] = [
    ("plus", (2**62, 2**62), -(2**63), 2.0**63, "ingestion adds LONGs, which wrap; queries compute with DOUBLE"),
    ("times", (2**40, 2**40), 0, 2.0**80, "the same"),
    ("mod", (7, 0), FAILS, math.nan, "ingestion has no whole number to give for x % 0"),
    ("mod", (-7, 3), -1, 2.0, "DuckDB's fmod has the sign of the divisor"),
    ("least", (None, 1), None, 1, "DuckDB leaves null out"),
    ("greatest", (None, 1), None, 1, "DuckDB leaves null out"),
    ("toEpochSeconds", (-1_500,), -1, -2, "queries round times before 1970 down"),
    ("toEpochDaysRounded", (-1, 7), 0, -7, "the same"),
    ("toEpochDaysBucket", (-1, 7), 0, -1, "the same"),
    ("fromEpochDays", (2**62,), 0, FAILS, "ingestion wraps, DuckDB gives up"),
    ("year", (2**55,), 29_565, FAILS, "DuckDB's timestamps end earlier"),
    ("trim", ("\t a\n",), "a", "\t a\n", "DuckDB trims blanks only, ingestion all that Java takes for space"),
    ("reverse", ("e\u0301x",), "x\u0301e", "xe\u0301", "DuckDB keeps accents with their letters"),
    ("substr", ("abc", -1), FAILS, "abc", "ingestion refuses positions before the text"),
    ("toDateTime", (1, "d MMM yyyy"), "1 Jan 1970", "01 Jan 1970", "DuckDB pads the day"),
    ("concat", (1e10, "x"), "1.0E10x", "10000000000.0x", "ingestion writes a DOUBLE as Java does"),
]


def _both() -> dict[str, Function]:
    return {f.name: f for f in FUNCTIONS.values() if f.arrow is not None and f.duckdb is not None}


def _table(arguments: tuple[Any, ...]) -> tuple[pa.Table, list[tuple[Any, ...]]]:
    """All combinations of the columns' values, as columns c0, c1... and as rows."""
    values = [[(a, v) for v in a[1]] if isinstance(a, tuple) else [(None, a)] for a in arguments]
    rows = [tuple(v for _, v in row) for row in itertools.product(*values)]
    columns = {
        f"c{i}": pa.array([row[i] for row in rows], _ARROW[a[0]])
        for i, a in enumerate(arguments)
        if isinstance(a, tuple)
    }
    return pa.table(columns), rows


def _by_arrow(name: str, arguments: tuple[Any, ...], table: pa.Table) -> list[Any]:
    trees = [Column(f"c{i}") if isinstance(a, tuple) else Literal(a) for i, a in enumerate(arguments)]
    found: list[Any] = evaluate(Call(name, tuple(trees)), table).to_pylist()
    return found


def _by_duckdb(name: str, arguments: tuple[Any, ...], table: pa.Table) -> list[Any]:
    given = [Expr(f"c{i}", a[0], f"c{i}") if isinstance(a, tuple) else literal(a) for i, a in enumerate(arguments)]
    made = call(name, given, 0)
    found: list[Any] = engine.run(f"SELECT {made.sql} AS found FROM input", "input", table).column(0).to_pylist()
    return found


def _alike(a: Any, b: Any) -> bool:
    """The same value; numbers as DOUBLE, because queries compute with no others."""
    if isinstance(a, int | float) and isinstance(b, int | float) and not isinstance(a, bool):
        return math.isclose(a, b, rel_tol=1e-15) or (math.isnan(a) and math.isnan(b))
    return bool(a == b)


def _check(name: str, arguments: tuple[Any, ...]) -> None:
    table, rows = _table(arguments)
    arrow, duckdb = _by_arrow(name, arguments, table), _by_duckdb(name, arguments, table)
    assert [(r, a, d) for r, a, d in zip(rows, arrow, duckdb, strict=True) if not _alike(a, d)] == []


def test_every_function_that_has_both_back_ends_is_compared() -> None:
    assert _both().keys() == _ARGUMENTS.keys()
    assert {f.name for f in FUNCTIONS.values() if not f.only} == _both().keys()


@pytest.mark.parametrize("name", _ARGUMENTS)
def test_ingestion_and_queries_compute_the_same(name: str) -> None:
    for arguments in _ARGUMENTS[name]:
        _check(name, arguments)


@pytest.mark.parametrize(("name", "row", "arrow", "duckdb", "why"), _DIFFERENCES)
def test_where_they_differ_it_is_known_and_why(
    name: str, row: tuple[Any, ...], arrow: Any, duckdb: Any, why: str
) -> None:
    kinds = {int: "LONG", float: "DOUBLE", str: "STRING", type(None): "LONG"}
    is_constant = {"toEpochDaysRounded": 1, "toEpochDaysBucket": 1, "substr": 1, "toDateTime": 1}.get(name, len(row))
    arguments = tuple((kinds[type(v)], (v,)) if i < is_constant else v for i, v in enumerate(row))
    table, _ = _table(arguments)
    found = []
    for compute in (_by_arrow, _by_duckdb):
        try:
            found += compute(name, arguments, table)
        except (BadValue, PinotAdminError):
            found.append(FAILS)
    assert [_alike(found[0], arrow), _alike(found[1], duckdb)] == [True, True], (found, why)


@pytest.mark.parametrize("name", sorted({f.name for f in FUNCTIONS.values() if f.keeps_null} - _NOT_OF_ROWS))
def test_null_in_gives_null_out(name: str) -> None:
    function = FUNCTIONS[canonical(name)]
    for arguments in _ARGUMENTS.get(name) or [_ONE_SIDED[name]]:
        table, rows = _table(arguments)
        for compute in [c for c, f in ((_by_arrow, function.arrow), (_by_duckdb, function.duckdb)) if f is not None]:
            found = compute(name, arguments, table)
            assert [v for row, v in zip(rows, found, strict=True) if None in row and v is not None] == []
            assert any(v is not None for v in found)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text("abAB -.'ä日", max_size=12), min_size=1, max_size=30), st.text("abA '", max_size=3))
def test_texts_are_treated_alike(texts: list[str], piece: str) -> None:
    column: Values = ("STRING", tuple(texts))
    for name in ("lower", "upper", "trim", "ltrim", "rtrim", "length", "reverse"):
        _check(name, (column,))
    for name in ("startsWith", "endsWith", "contains", "concat"):
        _check(name, (column, piece))
    _check("replace", (column, piece, "xyz"))
    _check("substr", (column, len(piece), len(piece) + 3))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 2**42), min_size=1, max_size=30), st.integers(1, 1_000))
def test_times_are_treated_alike(moments: list[int], size: int) -> None:
    column: Values = ("LONG", tuple(moments))
    for name in ("year", "month", "dayOfWeek", "dayOfYear", "quarter", "millisecond", "toEpochMinutes"):
        _check(name, (column,))
    for name in ("toEpochHoursRounded", "toEpochDaysBucket"):
        _check(name, (column, size))
    for unit in ("week", "quarter"):
        _check("dateTrunc", (unit, column))
    _check("toDateTime", (column, "yyyy-MM-dd HH:mm:ss.SSS", "America/New_York"))


@pytest.mark.parametrize(
    "text",
    ["n + 2 * 3 - 1", "(n + 2) / 4", "n % 4", "-n", "NOT n = 3 AND n <> 4 OR n > 8", "n IN (1, 2)", "n NOT IN (1, 2)",
     "n >= 2 AND n <= 3 OR n < 1", "n BETWEEN 2 AND 4", "n NOT BETWEEN 2 AND 4", "NOT (n = 1 OR n = 2)", "v = 's1'",
     *(f"CAST(n AS {name})" for name in CASTS),
     "CAST('7' AS LONG)", "CAST(d AS INT)", "upper(concat('x', v))", "length(v) + n", "v < 's2'"],
)  # fmt: skip
def test_a_text_means_the_same_to_ingestion_and_to_queries(text: str) -> None:
    plan = plan_query(f"select {text} from t", SCHEMA)
    rows = pa.table({"n": list(range(10)), "v": [f"s{i % 4}" for i in range(10)], "d": [i * 0.75 for i in range(10)]})
    renamed = pa.table({f"c{i}": rows.column(name) for i, name in enumerate(plan.reads)} or {"none": range(10)})
    queried = engine.run(f"SELECT {plan.select[0].sql} AS found FROM input", "input", renamed).column(0).to_pylist()
    ingested = evaluate(parse_expression(text), rows).to_pylist()
    assert [(a, b) for a, b in zip(ingested, queried, strict=True) if not _alike(a, b)] == []
