"""The one table of functions: each of Pinot's functions once, for ingestion (Arrow) and for queries (DuckDB)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from segments.datatypes.compute import pc
from segments.expressions.arrow import json_paths, logic, numbers, texts, times
from segments.expressions.duckdb import functions as duck
from segments.expressions.duckdb import times as duck_times
from segments.expressions.duckdb.compiled import Expr, as_long
from segments.expressions.function import Function, canonical

_SYNTAX: Final = "queries write it as an operator, which their compiler knows"
_CLOCK: Final = "rows of a segment must not depend on when it is built"
_COLUMNS: Final = "expressions of ingestion have no multi-value columns"
_NO_QUERY: Final = "queries do without it so far"
_NO_INGESTION: Final = "ingestion does without it so far"
_EPOCH_UNITS: Final = {"Seconds": 1_000, "Minutes": 60_000, "Hours": 3_600_000, "Days": 86_400_000}


def _typed(build: Callable[[Sequence[Expr]], str], kind: str) -> Callable[[Sequence[Expr]], Expr]:
    return lambda args: Expr(build(args), kind, "")


def _numbers() -> Iterable[Function]:
    f = Function
    yield f("plus", (2, 2), numbers.binary(pc.add), duck.binary("+"), ("add",))
    yield f("minus", (2, 2), numbers.binary(pc.subtract), duck.binary("-"), ("sub",))
    yield f("times", (2, 2), numbers.binary(pc.multiply), duck.binary("*"), ("mult",))
    yield f("divide", (2, 2), numbers.divide, duck.binary("/"), ("div",))
    yield f("mod", (2, 2), numbers.modulo, duck.binary("%"))
    yield f("abs", (1, 1), lambda a: pc.abs(numbers.number(a)), duck.of_doubles("abs({})"))
    yield f("ceil", (1, 1), numbers.real(pc.ceil), duck.of_doubles("ceil({})"), ("ceiling",))
    yield f("floor", (1, 1), numbers.real(pc.floor), duck.of_doubles("floor({})"))
    yield f("exp", (1, 1), numbers.real(pc.exp), duck.of_doubles("exp({})"))
    yield f("ln", (1, 1), numbers.real(pc.ln), duck.of_doubles("ln({})"))
    yield f("sqrt", (1, 1), numbers.real(pc.sqrt), duck.of_doubles("sqrt({})"))
    for name, better in (("least", pc.less), ("greatest", pc.greater)):
        yield f(
            name, (1, 64), numbers.extreme(better), partial(duck.extreme, name), arrow_takes=(2, 2), keeps_null=False
        )
    for name, template in (("truncate", "trunc({})"), ("log", "ln({})"), ("log2", "log2({})"), ("log10", "log10({})")):
        yield f(name, (1, 1), None, duck.of_doubles(template), only=_NO_INGESTION)
    yield f("sign", (1, 1), None, duck.of_doubles("CAST(sign({}) AS DOUBLE)"), only=_NO_INGESTION)
    yield f("power", (2, 2), None, duck.of_doubles("pow({}, {})"), ("pow",), _NO_INGESTION)
    yield f("round", (1, 2), None, duck.rounded, only=_NO_INGESTION)
    yield f("roundDecimal", (1, 2), None, duck.round_decimal, only=_NO_INGESTION)


def _conditions() -> Iterable[Function]:
    for name, operation in (
        ("equals", pc.equal), ("notEquals", pc.not_equal), ("lessThan", pc.less), ("greaterThan", pc.greater),
        ("lessThanOrEqual", pc.less_equal), ("greaterThanOrEqual", pc.greater_equal),
    ):  # fmt: skip
        yield Function(name, (2, 2), logic.comparison(operation), only=_SYNTAX)
    yield Function("in", (2, None), logic.is_in, only=_SYNTAX, keeps_null=False)
    yield Function("between", (3, 3), logic.between, only=_SYNTAX, keeps_null=False)
    yield Function("and", (1, None), logic.folded(pc.and_kleene), only=_SYNTAX, keeps_null=False)
    yield Function("or", (1, None), logic.folded(pc.or_kleene), only=_SYNTAX, keeps_null=False)
    yield Function("not", (1, 1), lambda a: pc.invert(logic.as_boolean(a)), only=_SYNTAX)
    yield Function("isNull", (1, 1), pc.is_null, only=_SYNTAX, keeps_null=False)
    yield Function("isNotNull", (1, 1), pc.is_valid, only=_SYNTAX, keeps_null=False)
    yield Function("caseWhen", (2, None), logic.case_when, only=_SYNTAX, keeps_null=False)
    yield Function("cast", (2, 2), logic.cast, only=_SYNTAX)
    yield Function("coalesce", (1, None), logic.coalesce, only="null handling is off in queries", keeps_null=False)


def _texts() -> Iterable[Function]:
    f, of_texts = Function, duck.of_texts
    yield f("lower", (1, 1), texts.of_texts(pc.utf8_lower), of_texts("lower({})"))
    yield f("upper", (1, 1), texts.of_texts(pc.utf8_upper), of_texts("upper({})"))
    yield f("trim", (1, 1), texts.trimmed(pc.utf8_trim), of_texts("trim({})"))
    yield f("ltrim", (1, 1), texts.trimmed(pc.utf8_ltrim), of_texts("ltrim({})"))
    yield f("rtrim", (1, 1), texts.trimmed(pc.utf8_rtrim), of_texts("rtrim({})"))
    yield f("length", (1, 1), texts.of_texts(pc.utf8_length), of_texts("CAST(length({}) AS INTEGER)", "INT"))
    yield f("strlen", (1, 1), None, of_texts("CAST(length({}) AS INTEGER)", "INT"), only=_NO_INGESTION)
    yield f("reverse", (1, 1), texts.of_texts(pc.utf8_reverse), of_texts("reverse({})"))
    yield f("concat", (2, 3), texts.concat, duck.concat, grows="joined")
    yield f("replace", (3, 3), texts.replace, of_texts("replace({}, {}, {})"), grows="replaced")
    yield f("substr", (2, 3), texts.substr, duck.substr)
    yield f("substring", (2, 3), None, duck.substring, only=_NO_INGESTION)
    for name, operation, template in (
        ("startsWith", pc.starts_with, "starts_with({}, {})"),
        ("endsWith", pc.ends_with, "ends_with({}, {})"),
        ("contains", pc.match_substring, "contains({}, {})"),
    ):
        yield f(name, (2, 2), texts.search(operation, name), of_texts(template, "BOOLEAN"))
    yield f("strpos", (2, 2), None, of_texts("CAST(strpos({}, {}) - 1 AS INTEGER)", "INT"), only=_NO_INGESTION)
    yield f("regexpLike", (2, 3), None, duck.regexp_like, only=_NO_INGESTION)
    yield f("strcmp", (2, 2), texts.strcmp, only=_NO_QUERY)
    yield f("split", (2, 2), texts.split, only="it makes a multi-value, which queries only read")


def _json_and_arrays() -> Iterable[Function]:
    yield Function("jsonFormat", (1, 1), json_paths.json_format, only=_NO_QUERY)
    yield Function("jsonPathString", (2, 3), json_paths.json_path_string, only=_NO_QUERY, keeps_null=False)
    yield Function("jsonPathLong", (2, 3), json_paths.json_path_long, only=_NO_QUERY, keeps_null=False)
    yield Function("jsonPathDouble", (2, 3), json_paths.json_path_double, only=_NO_QUERY, keeps_null=False)
    yield Function(
        "jsonExtractScalar", (3, 4), None, duck.json_extract_scalar, only="ingestion has jsonPathX", keeps_null=False
    )
    yield Function("arrayLength", (1, 1), None, duck.array_number("len", "INT"), ("cardinality",), _COLUMNS)
    yield Function("arraySum", (1, 1), None, duck.array_number("list_sum", None), only=_COLUMNS)
    yield Function("arrayAverage", (1, 1), None, duck.array_number("list_avg", None), only=_COLUMNS)
    yield Function("arrayMin", (1, 1), None, partial(duck.array_extreme, "list_min"), only=_COLUMNS)
    yield Function("arrayMax", (1, 1), None, partial(duck.array_extreme, "list_max"), only=_COLUMNS)


def _epochs() -> Iterable[Function]:
    for unit, millis in _EPOCH_UNITS.items():
        for name, count, run, build in (
            (f"toEpoch{unit}", 1, times.to_epoch, duck_times.to_epoch),
            (f"toEpoch{unit}Rounded", 2, times.to_epoch_rounded, duck_times.to_epoch_rounded),
            (f"toEpoch{unit}Bucket", 2, times.to_epoch_bucket, duck_times.to_epoch_bucket),
            (f"fromEpoch{unit}", 1, times.from_epoch, duck_times.from_epoch),
        ):
            yield Function(name, (count, count), run(millis), _typed(partial(build, millis), "LONG"))
        yield Function(f"fromEpoch{unit}Bucket", (2, 2), times.from_epoch_bucket(millis), only=_NO_QUERY)


def _dates() -> Iterable[Function]:
    for name, part, operation, aliases in (
        ("year", "year", pc.year, ()), ("quarter", "quarter", pc.quarter, ()), ("month", "month", pc.month, ()),
        ("day", "day", pc.day, ("dayOfMonth",)), ("dayOfYear", "doy", pc.day_of_year, ("doy",)),
        ("dayOfWeek", "isodow", lambda t: pc.day_of_week(t, count_from_zero=False), ("dow",)),
        ("hour", "hour", pc.hour, ()), ("minute", "minute", pc.minute, ()), ("second", "second", pc.second, ()),
        ("millisecond", "millisecond", pc.millisecond, ()),
    ):  # fmt: skip
        build = _typed(partial(duck_times.date_part, part), "INT")
        yield Function(name, (1, 2), times.date_part(operation), build, aliases, arrow_takes=(1, 1))
    for name, part, aliases in (
        ("monthOfYear", "month", ()), ("week", "week", ("weekOfYear",)), ("yearOfWeek", "isoyear", ("yow",)),
    ):  # fmt: skip
        build = _typed(partial(duck_times.date_part, part), "INT")
        yield Function(name, (1, 2), None, build, aliases, _NO_INGESTION)
    truncate = _typed(duck_times.date_trunc, "LONG")
    yield Function("dateTrunc", (2, 5), times.date_trunc, truncate, arrow_takes=(2, 2))
    yield Function("toDateTime", (2, 3), times.to_datetime, _typed(duck_times.to_date_time, "STRING"))
    yield Function("fromDateTime", (2, 3), times.from_datetime, _typed(duck_times.from_date_time, "LONG"))
    yield Function("dateTimeConvert", (4, 4), None, duck_times.date_time_convert, only=_NO_INGESTION)
    yield Function("timeConvert", (3, 3), None, _typed(duck_times.time_convert, "LONG"), only=_NO_INGESTION)
    yield Function("toTimestamp", (1, 1), None, duck.to_timestamp, only="ingestion has CAST AS TIMESTAMP")
    yield Function("fromTimestamp", (1, 1), None, _typed(lambda a: as_long(a[0]), "LONG"), only=_NO_INGESTION)
    yield Function("now", (0, 0), None, duck_times.now, only=_CLOCK, reads_clock=True)
    yield Function("ago", (1, 1), None, duck_times.ago, only=_CLOCK, reads_clock=True)


#: By every name in the form that ``canonical`` gives.
FUNCTIONS: Final[dict[str, Function]] = {
    canonical(name): function
    for family in (_numbers, _conditions, _texts, _json_and_arrays, _epochs, _dates)
    for function in family()
    for name in (function.name, *function.aliases)
}
