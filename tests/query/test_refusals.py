"""What is not supported is refused by name, and nothing in a query's text reaches files or settings."""

from __future__ import annotations

import pytest

from segments.dataplane.query import QueryRejected, engine, plan_query, table_of
from segments.expressions.query_errors import QUERY_EXECUTION, QUERY_VALIDATION, SQL_PARSING, UNKNOWN_COLUMN
from tests.query.samples import SCHEMA, over_one_server, segments_for

REFUSED = [
    ("select nope from t", UNKNOWN_COLUMN, "'nope'"),
    ("select n from t where other.n = 1", UNKNOWN_COLUMN, "'other'"),
    ("select a.n from t join u on t.n = u.n", SQL_PARSING, "JOIN"),
    ("select n from t, u", SQL_PARSING, "JOIN"),
    ("select n from (select n from t)", SQL_PARSING, "Subqueries"),
    ("select n from t where n in (select n from u)", SQL_PARSING, "Subqueries"),
    ("with x as (select 1) select n from x", SQL_PARSING, "WITH"),
    ("select n from t union select n from u", SQL_PARSING, "UNION"),
    ("select n from t except select n from u", SQL_PARSING, "EXCEPT"),
    ("select sum(n) over (partition by v) from t", SQL_PARSING, "Window functions"),
    ("explain plan for select n from t", SQL_PARSING, "EXPLAIN"),
    ("insert into t values (1)", SQL_PARSING, "INSERT"),
    ("drop table t", SQL_PARSING, "DROP"),
    ("select n from t; drop table t", SQL_PARSING, "2 statements"),
    ("select distinct on (n) n from t", SQL_PARSING, "DISTINCT ON"),
    ("select n from t tablesample (10)", SQL_PARSING, "SAMPLE"),
    ("select n from t qualify n = 1", SQL_PARSING, "QUALIFY"),
    ("select n from t for update", SQL_PARSING, "FOR UPDATE"),
    ("select * except (n) from t", SQL_PARSING, "EXCEPT"),
    ("select v, count(*) from t group by rollup (v)", SQL_PARSING, "ROLLUP"),
    ("select v from t group by n", SQL_PARSING, "'v' should appear in GROUP BY"),
    ("select v, count(*) from t", SQL_PARSING, "'v' should appear in GROUP BY"),
    ("select n from t where sum(n) > 1", QUERY_VALIDATION, "SUM(n)"),
    ("select sum(sum(n)) from t", QUERY_VALIDATION, "SUM(n)"),
    ("select n from t where n", QUERY_VALIDATION, "'n' is not a condition"),
    ("select n from t where n = 'abc'", SQL_PARSING, "'abc'"),
    ("select n from t where v > n", QUERY_VALIDATION, "cannot be compared"),
    ("select upper(tags) from t", QUERY_VALIDATION, "'tags'"),
    ("select n from t order by tags", QUERY_VALIDATION, "'tags'"),
    ("select summv(n) from t", QUERY_VALIDATION, "'n' is single-valued"),
    ("select upper(v, n) from t", QUERY_VALIDATION, "upper() takes 1 arguments"),
    ("select percentile(n, 101) from t", QUERY_VALIDATION, "0 to 100"),
    ("select n from t where n between symmetric 1 and 2", SQL_PARSING, "BETWEEN"),
    ("select cast(n as decimal(1, 2)) from t", QUERY_VALIDATION, "DECIMAL"),
    ("select interval '1' day from t", SQL_PARSING, "INTERVAL"),
    ("select tags[1] from t", SQL_PARSING, "tags[1]"),
    ("select n from t limit -1", SQL_PARSING, "LIMIT"),
    ("select n from t order by 2", SQL_PARSING, "Position 2"),
    ("select n from t option(broken)", SQL_PARSING, "OPTION"),
    ("select hour(ts, 'Mars/Base') from t", QUERY_VALIDATION, "Mars/Base"),
    ("select datetrunc('eon', ms) from t", QUERY_VALIDATION, "eon"),
    ("select n from t where ts > 'soon'", QUERY_VALIDATION, "'soon'"),
    ("select 1", SQL_PARSING, "no table"),
    ("select n from t where", SQL_PARSING, "something is missing after 'where' (line 1, column 21)"),
    ("select n from t where n between 1", SQL_PARSING, "something is missing after '1'"),
    ("select n from t join", SQL_PARSING, "table name is expected at 'join'"),
    ("select (n from t", SQL_PARSING, ") is expected at 'from'"),
    ("select n x y from t", SQL_PARSING, "'y' is not expected here"),
    ("select n from t where v = 'UA", SQL_PARSING, "What begins with ' is not closed"),
    ("select n from t /* why", SQL_PARSING, "comment is not closed"),
    ("", SQL_PARSING, "empty query"),
    ("select " + "(" * 2000 + "n" + ")" * 2000 + " from t", SQL_PARSING, "nested too deeply"),
    ("select " + "n+" * 5000 + "n from t", SQL_PARSING, "nested too deeply"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "code", "part"), REFUSED, ids=[r[0][:50] for r in REFUSED])
def test_what_is_not_supported_is_refused_by_name(sql: str, code: int, part: str) -> None:
    with pytest.raises(QueryRejected) as refused:
        plan_query(sql, SCHEMA)
    assert part in str(refused.value)
    assert refused.value.error_code == code


ATTACKS = [
    "select * from read_csv('/etc/passwd')",
    "select n from t where v in (select * from read_text('/etc/passwd'))",
    "select read_text('/etc/passwd') from t",
    "select getenv('HOME') from t",
    "select current_setting('memory_limit') from t",
    "select * from duckdb_settings()",
    "select error('x') from t",
    "select query('select 1') from t",
    "select n from t where (pragma_version())",
    "copy t to '/tmp/out.csv'",
    "attach '/tmp/x.db'",
    "pragma database_list",
    "install httpfs",
    "select $$x$$ from t",
    "select \"n\"\"; drop table rows; --\" from t",
]  # fmt: skip


@pytest.mark.parametrize("sql", ATTACKS)
def test_functions_files_and_statements_of_duckdb_are_out_of_reach(sql: str) -> None:
    with pytest.raises(QueryRejected):
        plan_query(sql, SCHEMA)


def test_a_path_as_the_tables_name_is_just_a_name() -> None:
    assert table_of("select * from '/etc/passwd'") == "/etc/passwd"
    plan = plan_query("select n from '/etc/passwd' where n = 1", SCHEMA)
    assert "passwd" not in repr((plan.where, plan.select, plan.order))


def test_quotes_in_literals_stay_in_the_literal() -> None:
    assert over_one_server("select n from t where v = 'x'' or 1 = 1 --'").rows == []
    assert over_one_server("select 'a''b' from t limit 1").rows == [["a'b"]]
    assert over_one_server("select n from t where regexp_like(v, ''' or ''') or v like '%''%'").rows == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "COPY (SELECT 1) TO '/tmp/never.csv'",
        "SET enable_external_access = true",
        "ATTACH '/tmp/never.db'",
        "LOAD httpfs",
        "SELECT * FROM segments_for",
    ],
)
def test_the_engine_itself_refuses_files_and_settings(sql: str) -> None:
    plan = plan_query("select n from t", SCHEMA)
    with pytest.raises(QueryRejected) as refused:
        engine.run(sql, "rows", segments_for(plan)[0].rows)
    assert refused.value.error_code == QUERY_EXECUTION


def test_a_value_that_cannot_be_converted_fails_the_query_with_its_reason() -> None:
    with pytest.raises(QueryRejected, match="Could not convert") as refused:
        over_one_server("select cast(city as int) from t")
    assert refused.value.error_code == QUERY_EXECUTION


def test_table_names_lose_quotes_and_the_database() -> None:
    assert table_of('select * from "my_table_OFFLINE" limit 1') == "my_table_OFFLINE"
    assert table_of("select * from `db`.`t` as x") == "t"
    assert table_of('set a = 1; select count(*) from "db.t" option(timeoutMs=5);') == "t"
    assert table_of("select count(*) from t where v = 'a' option(snapshot='e-1:to')") == "t"
