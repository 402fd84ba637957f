"""No query text freezes the process: reading and planning grow linearly up to a limit, and the longest text takes about
a second.
"""

from __future__ import annotations

import pytest

from segments.dataplane.query import plan_query
from segments.dataplane.query.sql.parse import parse_select
from segments.dataplane.query.sql.plan_size import MAX_BRACKETS
from segments.dataplane.query.sql.tokens import read_tokens
from segments.expressions.query_errors import QueryRejected
from segments.expressions.sql import MAX_DEPTH, MAX_SQL_LENGTH, MAX_TOKENS
from tests.query.multistage.tables import plan as plan_of_stages
from tests.query.samples import SCHEMA
from tests.security.growth.timing import grows_at_most_linearly, repeated, seconds, takes_less_than

_PARTS = [
    "'",
    '"',
    "`",
    "''",
    "--",
    "-- ",
    "--\n",
    "/*",
    "/**/",
    "/* */ ",
    "*/",
    "{#",
    "{%",
    "(",
    ")",
    "()",
    "[",
    "{",
    ";",
    "select ",
    "select;",
    "SET a=1;",
    "SET ",
    "SET a=",
    "option(",
    "option(a=b) ",
    "option(a=b",
    "OPTION (",
    "$",
    "@",
    "#",
    "\\",
    "a",
    "a ",
    " ",
    "\n",
    "\t",
    "1",
    "1.",
    "1e",
    "0x",
    ".",
    "a.",
    "N'",
    "x'",
    "::",
    "->",
    "||",
    "<",
    "<=",
    "=",
    "!",
    "not ",
    "group by ",
    "group ",
    "order by ",
    "character ",
    "char varying ",
    "is ",
    "null ",
    "é",
    "\U0001d518",
    "\x00",
    "case ",
    "case when x then ",
    "a or ",
    "a and ",
    "x=1 or ",
    "f(",
    "cast(",
    "struct(",
    "array<",
    "bigint[",
    "x -> ",
    "interval ",
    "date ",
    ", 1",
    "begin show ",
    "from t ",
    "between ",
    "in ",
    "like ",
]
_BEGINS = ["", "select a from t where ", "SET a=1; -- ", "select cast(x as "]


def _plan(sql: str) -> object:
    return plan_query(sql, SCHEMA)


def test_the_text_that_took_a_second_with_93_bytes_takes_no_time() -> None:
    assert seconds(parse_select, "/**/" * 23 + "1") < 0.1


@pytest.mark.parametrize("part", _PARTS)
def test_reading_sql_grows_linearly_whatever_is_repeated(part: str) -> None:
    slow = {
        begin: found for begin in _BEGINS if (found := grows_at_most_linearly(_parse, repeated(begin, part, ""), 300))
    }
    assert not slow


@pytest.mark.parametrize("part", ["(", ",", "x ", "''", "[1,", "x=1 or ", "a+", "not "])
def test_the_longest_text_is_refused_within_a_second(part: str) -> None:
    text = "select n from t where " + part * (MAX_SQL_LENGTH // len(part) - 10)
    assert takes_less_than(1.0, _plan, text)


@pytest.mark.parametrize(
    ("begin", "part", "end"),
    [
        ("select n from t where n in (1", ",12345", ")"),
        ("select n from t where n=1", " or n=12", ""),
        ("select n, count(*) from t group by n having count(*)=1", " or count(*)=12", ""),
        ("select case", " when n=1 then n", " end from t"),
        ("select n", ", n+1", " from t"),
        ("select n+1 as b", ", n+1", " from t order by b"),
    ],
)
def test_planning_grows_linearly_up_to_the_limit_of_words(begin: str, part: str, end: str) -> None:
    of_one = len(read_tokens(f"{begin}{part}{end}").tokens) - len(read_tokens(f"{begin}{end}").tokens)
    most = (MAX_TOKENS - 100) // of_one
    assert not grows_at_most_linearly(_plan, repeated(begin, part, end), most // 4)
    assert takes_less_than(1.2, _plan, begin + part * most + end)


@pytest.mark.parametrize(
    "sql",
    [
        "select " + " or ".join(["n=1"] * 500) + " as b from t order by " + ",".join(["b"] * 500),
        "select " + "round(n," * 25 + "n" + ")" * 25 + " from t",
        "select " + "length(substr(v," * 19 + "n" + ",3))" * 19 + " from t",
        "select n from t where " + "(" * 30 + "n" + " between 1 and 2) between true and false" * 30,
        "select case " + "n+" * 90 + "n " + "when 1 then 1 " * 2000 + "end from t",
        "select " + ",".join(["*"] * 10_000) + " from t",
        "select n, count(*) from t group by n having "
        + "not " * 100
        + "(n in ("
        + ",".join(["1"] * 14_000)
        + ") or count(*) = 1)",
        "select " + "struct(" * 20 + "n" + ")" * 20 + " from t",
        "select cast(n as " + "array<" * 30 + "int" + ">" * 30 + ") from t",
    ],
    ids=["aliases", "round", "substr", "between", "case-operand", "stars", "having", "struct", "array"],
)
def test_a_short_text_that_means_a_huge_plan_is_refused_within_a_second(sql: str) -> None:
    assert takes_less_than(1.0, _plan, sql)
    try:
        plan = plan_query(sql, SCHEMA)
    except QueryRejected:
        return
    assert sum(e.sql.count("(") for e in plan.select) <= MAX_BRACKETS


def test_a_query_that_is_too_deep_or_too_long_is_refused_with_the_reason() -> None:
    with pytest.raises(QueryRejected, match=f"at most {MAX_DEPTH} brackets"):
        parse_select("select n from t where " + "(" * (MAX_DEPTH + 1) + "n=1" + ")" * (MAX_DEPTH + 1))
    with pytest.raises(QueryRejected, match=f"more than {MAX_TOKENS} words"):
        parse_select("select n from t where n in (" + "1," * MAX_TOKENS + "1)")
    with pytest.raises(QueryRejected, match="nested too deeply"):
        plan_query("select " + "- " * 5000 + "n from t", SCHEMA)
    with pytest.raises(QueryRejected, match="data types are nested"):
        parse_select("select " + "struct(" * 20 + "n" + ")" * 20 + " from t")


@pytest.mark.parametrize(
    ("sql", "options"),
    [
        ("SET timeoutMs = 5; select n from t", {"timeoutMs": "5"}),
        ("-- first\nset a.b='x y'; /* then */ SET \"c\" = -1.5 ;select n from t", {"a.b": "x y", "c": "-1.5"}),
        ("set a=1; set a=2; select n from t option(a=3)", {"a": "2"}),
        ("select n from t option(timeoutMs=5, x = y z) OPTION(timeoutMs=9);", {"timeoutMs": "9", "x": "y z"}),
        ("set a='it''s'; select n from t -- option(b=1)", {"a": "it's"}),
        ("select n from t where v = 'option(a=1)'", {}),
        ("set a='--'; select n from t option /* c */ (b=2)", {"a": "--", "b": "2"}),
    ],
)
def test_options_are_read_from_head_and_end(sql: str, options: dict[str, str]) -> None:
    statement = parse_select(sql)
    assert (statement.table, statement.options) == ("t", options)


@pytest.mark.parametrize(
    "sql",
    ["set a=; select n from t", "set =1; select n from t", "set a=1 2; select n from t", "set a; select 1", "set"],
)
def test_a_malformed_set_is_shown_how_to_write_it(sql: str) -> None:
    with pytest.raises(QueryRejected, match=r"is malformed\. Write SET name = value;"):
        parse_select(sql)


def _parse(sql: str) -> object:
    return parse_select(sql)


_STAGES = {
    "conditions": lambda n: "select a.k from t a join u b on a.k = b.k where " + " and ".join(["a.n > 1"] * n),
    "parts of WITH": lambda n: (
        f"with {', '.join(f'c{i} as (select k from t)' for i in range(n))} select * from c0"
    ),
    "windows": lambda n: f"select {', '.join(['sum(n) over (partition by v order by k)'] * n)} from t",
    "columns of USING": lambda n: f"select k from t join u using ({', '.join(['k'] * n)})",
    "having": lambda n: "select count(*) from t a, u b having " + " and ".join(["count(*) > 1"] * n),
    "doubling stars": lambda n: (
        "with c0 as (select * from t)"
        + "".join(f", c{i} as (select x.*, y.* from c{i - 1} x, c{i - 1} y)" for i in range(1, n))
        + f" select * from c{n - 1}"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(_STAGES))
def test_planning_a_query_of_several_stages_takes_time_that_grows_with_its_text(name: str) -> None:
    assert grows_at_most_linearly(plan_of_stages, _STAGES[name], 200) == ""
