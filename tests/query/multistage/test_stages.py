"""Joins, subqueries, WITH, unions and windows: answers, names and types, and what is read of each table."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

from segments.dataplane import query_bounds
from segments.dataplane.query import plan_query
from segments.dataplane.query.multistage import execute_stages, stages_of, tables_read
from segments.expressions.query_errors import EXECUTION_TIMEOUT, SQL_PARSING, UNKNOWN_COLUMN, QueryRejected
from tests.query.multistage.tables import TABLES, answer, plan, rows_of, schema_of

#: SQL -> column names, rows.
CASES: list[tuple[str, list[str], list[list[Any]]]] = [
    ("select a.k, b.n from t a join u b on a.k = b.k order by a.k, b.n", ["k", "n"],
     [[1, 10], [2, 20], [2, 20], [3, 30]]),
    ("select count(*) from t, u", ["count(*)"], [[16]]),
    ("select k, a.v from t a join u b using (k) where b.v = 'c'", ["k", "v"], [[3, "c"]]),
    (
        "select a.k, b.k from t a left join w b on a.k = b.k where a.k > 2 order by a.k",
        ["k", "k"],
        [[3, 3], [4, None]],
    ),
    ("select a.k, b.k from t a full join w b on a.k = b.k where a.k is null or b.k is null order by a.k", ["k", "k"],
     [[4, None], [None, 9]]),
    ("select count(b.k), count(*), avg(b.n) from t a left join w b on a.k = b.k",
     ["count(b.k)", "count(*)", "avg(b.n)"],
     [[3, 4, 20.0]]),
    ("select distinctcount(b.v) from t a left join w b on a.k = b.k", ["distinctcount(b.v)"], [[3]]),
    ("select coalesce(b.v, 'none') c, count(*) m from t a left join w b on a.k = b.k group by c having m > 0 "
     "order by c", ["c", "m"], [["a", 1], ["b", 1], ["c", 1], ["none", 1]]),
    ("select v from t where k in (select k from u where n > 10) order by v", ["v"], [["b"], ["c"]]),
    ("select v from t where k not in (select k from u) ", ["v"], [["a"]]),
    ("select v from t where exists (select 1 from u where u.k = t.k and u.n = 30)", ["v"], [["c"]]),
    ("select k, (select max(n) from u) m from t where k = 1", ["k", "m"], [[1, 30.0]]),
    ("select v, s from (select v, sum(n) s from t group by v) x where s > 25 order by v", ["v", "s"],
     [["a", 50.0], ["c", 30.0]]),
    ("with x as (select v, sum(n) s from t group by v) select v, s, rank() over (order by s desc) from x order by v",
     ["v", "s", "EXPR$2"], [["a", 50.0, 1], ["b", 20.0, 3], ["c", 30.0, 2]]),
    ("with a(p, q) as (select k, n from t), b as (select p, q from a where q > 10) select sum(b.q) "
     "from a join b on a.p = b.p",
     ["sum(b.q)"], [[90.0]]),
    ("select v from t union select v from u order by v", ["v"], [["a"], ["b"], ["c"]]),
    ("select v from t union all select v from u where k = 1 order by 1 desc limit 2", ["v"], [["c"], ["b"]]),
    ("select k from t except select k from u", ["k"], [[4]]),
    ("select k from t intersect select k from w order by k", ["k"], [[1], [2], [3]]),
    ("select k, n from t where k < 3 union all select k, x from u where k = 3 order by k", ["k", "n"],
     [[1, 10.0], [2, 20.0], [3, 1.5]]),
    ("select k, row_number() over (partition by v order by n desc) r from t order by k", ["k", "r"],
     [[1, 2], [2, 1], [3, 1], [4, 1]]),
    ("select k, sum(n) over (order by k rows between 1 preceding and current row) s from t order by k", ["k", "s"],
     [[1, 10.0], [2, 30.0], [3, 50.0], [4, 70.0]]),
    ("select k, lag(n) over (order by k) l, lead(n, 1, 0) over (order by k) f, ntile(2) over (order by k) b from t "
     "order by k", ["k", "l", "f", "b"], [[1, None, 20, 1], [2, 10, 30, 1], [3, 20, 40, 2], [4, 30, 0, 2]]),
    ("select v, sum(sum(n)) over (order by v) s from (select v, n from t) x group by v order by v", ["v", "s"],
     [["a", 50.0], ["b", 70.0], ["c", 100.0]]),
    ("select v, count(*) filter (where n > 10) f from (select * from t) x group by v order by v", ["v", "f"],
     [["a", 1], ["b", 1], ["c", 1]]),
    ("select distinct a.v from t a join u b on a.k = b.k order by a.v desc", ["v"], [["c"], ["b"], ["a"]]),
    ("select a.tags, a.ok, a.ts from t a join u b on a.k = b.k where a.k = 1", ["tags", "ok", "ts"],
     [[["t1", "all"], True, "2013-01-02 00:00:00.0"]]),
    ("select count(*) from t a join u b on a.k = b.k where a.tags = 't2' and a.ok = false", ["count(*)"], [[2]]),
    ("select a.k, b.* from t a join (select k, n from u) b on a.k = b.k and b.n = 30", ["k", "k", "n"], [[3, 3, 30]]),
    ("select a.$segmentName s, count(*) from t a join u b on a.k = b.k group by s order by s", ["s", "count(*)"],
     [["s0", 3], ["s1", 1]]),
    ("select case when a.n > 10 then 'big' else 'small' end c, count(*) from t a join u b on a.k = b.k group by c "
     "order by c", ["c", "count(*)"], [["big", 3], ["small", 1]]),
    ("select dateTrunc('DAY', a.ts) d from t a join w b on a.k = b.k order by d limit 1", ["d"], [[1_357_084_800_000]]),
    ("select a.k from t a join t b on a.k = b.k + 1 order by 1 limit 2 offset 1", ["k"], [[3], [4]]),
    ("set useMultistageEngine = true; select count(*) from t_OFFLINE a join default.u b on a.k = b.k",
     ["count(*)"], [[4]]),
    ("select count(*) from (select 'x' c, k from t group by c, k) s", ["count(*)"], [[4]]),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "names", "rows"), CASES, ids=[c[0][:60] for c in CASES])
def test_a_query_of_several_stages_answers_as_sql_says(sql: str, names: list[str], rows: list[list[Any]]) -> None:
    found = answer(sql, {**TABLES, "t_OFFLINE": TABLES["t"]})
    assert found.column_names == names
    assert [list(row) for row in found.rows] == rows


def test_columns_have_pinots_types() -> None:
    select = "a.k, a.v, a.ok, a.ts, count(*) c, sum(b.n), row_number() over (order by a.k)"
    found = answer(f"select {select} from t a join u b on a.k = b.k group by a.k, a.v, a.ok, a.ts, a.n")
    assert found.column_types == ["INT", "STRING", "BOOLEAN", "TIMESTAMP", "LONG", "DOUBLE", "LONG"]


def test_a_plain_query_of_one_table_has_one_stage() -> None:
    assert stages_of("select v, count(*) from t where n > 1 group by v") is None


@pytest.mark.parametrize(
    ("sql", "scans"),
    [
        (
            "select a.v from t a join u b on a.k = b.k where a.n between 1 and 20 and b.v in ('a', 'it''s') "
            "and a.v <> b.v",
            {
                "t": """SELECT "k", "n", "v" FROM "t" WHERE ("n" BETWEEN 1 AND 20)""",
                "u": """SELECT "k", "v" FROM "u" WHERE ("v" IN ('a', 'it''s'))""",
            },
        ),
        (
            "select a.v from t a join t b on a.k = b.k where a.n > 1",
            {"t": 'SELECT "k", "n", "v" FROM "t"'},
        ),
        (
            "select count(*) from t a join u b on a.k = b.k where a.n > 1 or b.n > 1",
            {"t": 'SELECT "k", "n" FROM "t"', "u": 'SELECT "k", "n" FROM "u"'},
        ),
        ("select count(*) from t, u", {"t": 'SELECT "$docId" FROM "t"', "u": 'SELECT "$docId" FROM "u"'}),
        (
            "with a as (select k from t where n > -5) select count(*) from a join u on a.k = u.k where u.n < 3",
            {"t": 'SELECT "n", "k" FROM "t" WHERE ("n" > -5)', "u": 'SELECT "k", "n" FROM "u" WHERE ("n" < 3)'},
        ),
    ],
)  # fmt: skip
def test_servers_send_only_the_columns_and_rows_that_are_needed(sql: str, scans: dict[str, str]) -> None:
    planned = plan(sql)
    assert {scan.table: scan.sql for scan in planned.scans.values()} == scans
    for scan in planned.scans.values():
        plan_query(scan.sql, schema_of(scan.table), rows=10)


@pytest.mark.parametrize(
    ("sql", "code", "words"),
    [
        ("select * from read_csv('/etc/passwd') a join t on 1 = 1", SQL_PARSING, "no functions"),
        ("select * from glob('/*') a, t", SQL_PARSING, "no functions"),
        ("select a.k from t a, duckdb_settings() b", SQL_PARSING, "no functions"),
        ("select read_text('/etc/passwd') from t a, u b", 700, "read_text"),
        ("select getenv('HOME') from t a, u b", 700, "getenv"),
        ("select * from t a, (values (1)) b", SQL_PARSING, "FROM"),
        ("select * from t a, unnest([1]) b", SQL_PARSING, "FROM"),
        ("select * from t a, lateral (select 1 from u) b", SQL_PARSING, "FROM"),
        ("copy t to '/tmp/x'", SQL_PARSING, "COPY"),
        ("attach '/tmp/x' as y; select * from t, u", SQL_PARSING, "ATTACH"),
        ("select * from t, u; select 1 from t", SQL_PARSING, "2 statements"),
        ("with recursive r as (select k from t union all select k from r) select * from r", SQL_PARSING, "RECURSIVE"),
        ("with r as (select k from t union all select k from r) select * from r", SQL_PARSING, "name of WITH"),
        ("with a as (select * from b), b as (select * from t) select * from a", SQL_PARSING, "name of WITH"),
        ("with a as (select * from t), A as (select * from u) select * from a", SQL_PARSING, "twice"),
        ("with a as (select * from t) select * from x.a", SQL_PARSING, "name of WITH"),
        ("with t as (select 1 from t) select * from t", SQL_PARSING, "no table"),
        ("select (with z as (select k from t) select max(k) from z), z.k from u, z", SQL_PARSING, "name of WITH"),
        ("select a.k from t a join u b on a.zzz = b.k", UNKNOWN_COLUMN, "a.zzz"),
        ("select k from t a join u b on a.k = b.k", UNKNOWN_COLUMN, "several tables"),
        ("select a.k from t a join u a on a.k = a.k", SQL_PARSING, "called 'a'"),
        ("select x.k from t a join (select a.k from u) x on a.k = x.k", UNKNOWN_COLUMN, "a.k"),
        ("select a.k from t a natural join u b", SQL_PARSING, "NATURAL"),
        ("select a.k from t a semi join u b on a.k = b.k", SQL_PARSING, "SEMI"),
        ("select a.k from t a asof join u b on a.k = b.k", SQL_PARSING, "ASOF"),
        ("select a.k from t a left join u b", SQL_PARSING, "condition"),
        ("select a.k from t a right join u b using (k)", SQL_PARSING, "USING"),
        ("select a.k, count(*) from t a join u b on a.k = b.k", SQL_PARSING, "GROUP BY"),
        ("select *, count(*) from t a, u b", SQL_PARSING, "aggregation"),
        ("select k from t where k in (select k, n from u)", SQL_PARSING, "one column"),
        ("select k from t where v in (select n from u)", 700, "compared"),
        ("select k from t where k = any (select k from u)", SQL_PARSING, "ANY"),
        ("select k from t union select k, n from u", SQL_PARSING, "1 and 2"),
        ("select k from t union select tags from u", 700, "different types"),
        ("select sum(n) over w from t a window w as (order by k)", SQL_PARSING, "WINDOW"),
        ("select mode(n) over (order by k) from t", 700, "mode"),
        ("select rank() over () from t", 700, "ORDER BY"),
        ("select sum(n) over (order by k range between 1 preceding and current row) from t", SQL_PARSING, "frame"),
        ("select a.k from t tablesample (5) a, u", SQL_PARSING, ""),
        ("select a.k from t a, u b limit 2000000", 700, "LIMIT"),
        ("select a.k from t_OFFLINE a, t b", SQL_PARSING, "as a whole"),
        ("select a.k from " + ", ".join(f"t t{i}" for i in range(17)), SQL_PARSING, "16 tables"),
        ("select a.k from t a, u b group by rollup(a.k)", SQL_PARSING, ""),
        ("select distinct on (a.k) a.k from t a, u b", SQL_PARSING, "DISTINCT ON"),
        ("select a.k from t a, u b order by a.tags", 700, "Multi-value"),
    ],
)
def test_what_is_not_understood_is_refused_by_its_name(sql: str, code: int, words: str) -> None:
    with pytest.raises(QueryRejected) as refused:
        plan(sql)
    assert refused.value.error_code == code
    assert words in str(refused.value)


def test_the_refusal_of_an_unknown_column_lists_those_of_each_table() -> None:
    with pytest.raises(QueryRejected) as refused:
        plan("select a.zzz from t a join (select k as kk, n from u) b on a.k = b.kk")
    assert "Columns of a: k, n, ok, tags, ts, v, x; Columns of b: kk, n." in str(refused.value), str(refused.value)


def test_of_very_many_columns_the_refusal_lists_the_first() -> None:
    many = ", ".join(f"k as column_{n:03}" for n in range(200))
    with pytest.raises(QueryRejected) as refused:
        plan(f"select zzz from (select {many} from t) a")
    found = re.search(r"Columns of a: (.*) and (\d+) more\.", str(refused.value))
    assert found is not None, str(refused.value)
    assert len(found[1].split(", ")) + int(found[2]) == 200
    assert len(found[1]) <= 600


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("select * from t", ["t"]),
        ("select * from t a, (select * from \"u\" where k in (select k from `w`)) b", ["t", "u", "w"]),
        ("with x as (select * from secret) select * from t, x", ["secret", "t"]),
        ("select k from t union select k from db.secret", ["secret", "t"]),
        ("select (select max(k) from secret) from t", ["secret", "t"]),
        ("select rank() over (order by (select max(k) from secret)) from t", ["secret", "t"]),
        ("select a.k from t a join u b on a.k in (select k from secret) order by (select 1 from w)",
         ["secret", "t", "u", "w"]),
        ("select a.k from t_OFFLINE a, t_REALTIME b", ["t_OFFLINE", "t_REALTIME"]),
    ],
)  # fmt: skip
def test_every_table_that_a_query_reads_is_known_before_it_runs(sql: str, tables: list[str]) -> None:
    assert tables_read(sql) == tables


def test_texts_that_grow_from_part_to_part_are_refused() -> None:
    parts = ["c0 as (select v as s from t)"]
    parts += [f"c{i} as (select concat(s, concat(s, s)) as s from c{i - 1})" for i in range(1, 9)]
    with pytest.raises(QueryRejected, match="can make texts of"):
        plan(f"with {', '.join(parts)} select s from c8")


def test_a_join_that_never_ends_is_ended() -> None:
    many = {name: rows_of(range(20_000)) for name in ("t", "u", "w")}
    planned = plan("select count(*) from t a, u b, w c where a.n + b.n + c.n = -1")
    read = {short: many[s.table].select(["n"]).rename_columns(["c0"]) for short, s in planned.scans.items()}
    with pytest.raises(QueryRejected) as refused:
        execute_stages(planned, read, 0.3)
    assert refused.value.error_code == EXECUTION_TIMEOUT


def test_an_answer_with_too_many_rows_is_refused_instead_of_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_bounds, "_current", query_bounds.QueryBounds(rows=15))
    with pytest.raises(QueryRejected, match="more than 15 rows"):
        answer("select a.k from t a, u b")
    assert len(answer("select a.k from t a, u b limit 15").rows) == 15


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("select a.k from t a join u b on a.k = b.k where a.v is null", [[2], [2]]),
        ("select a.k from t a join u b on a.k = b.k where a.v is not null order by a.k", [[1], [3]]),
        (
            "select b.k from t b left join w a on a.k = b.k where not (b.v is null or a.k is null) order by b.k",
            [[1], [3]],
        ),
        ("select a.k from u b left join t a on a.k = b.k + 2 where a.v is null order by b.k", [[None]]),
        ("select k from (select k, v is null m from t) x where m", [[2]]),
        ("select count(*) from (select v from t) x where v is null", [[0]]),
        ("select count(*) from t a join u b on a.k = b.k where a.$docId is null", [[0]]),
    ],
)
def test_is_null_means_what_segments_record_and_what_an_outer_join_leaves(sql: str, wanted: list[list[Any]]) -> None:
    marked = TABLES["t"].append_column("$isRecordedNull.v", pa.array([False, True, False, False]))
    assert [list(row) for row in answer(sql, {**TABLES, "t": marked}).rows] == wanted
