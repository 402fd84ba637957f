"""Queries answer as Pinot answers them, however the segments are spread over servers."""

from __future__ import annotations

from typing import Any

import pytest

from segments.dataplane.query import plan_query
from tests.query.samples import BASE, ROWS, SCHEMA, over_no_server, over_one_server, over_two_servers

DAY = 86_400_000
#: SQL -> column names, column types, rows.
CASES: list[tuple[str, list[str], list[str], list[list[Any]]]] = [
    ("select count(*) from t", ["count(*)"], ["LONG"], [[12]]),
    ("SELECT COUNT(*) AS c FROM `t` WHERE 1 = 1;", ["c"], ["LONG"], [[12]]),
    ('set timeoutMs = 10; select count(v) from "t" option(useStarTree=false)', ["count(*)"], ["LONG"], [[12]]),
    (
        "select v, count(*) from t group by v order by v limit 1000",
        ["v", "count(*)"],
        ["STRING", "LONG"],
        [["s0", 3], ["s1", 3], ["s2", 3], ["s3", 3]],
    ),
    (
        "select sum(n), min(n), max(l), avg(d), minmaxrange(n) from t",
        ["sum(n)", "min(n)", "max(l)", "avg(d)", "minmaxrange(n)"],
        ["DOUBLE"] * 5,
        [[66.0, 0.0, 1e12 + 11, 8.25, 11.0]],
    ),
    (
        "select distinctcount(city), distinctcounthll(v), count(distinct tags), distinctsum(n) from t",
        ["distinctcount(city)", "distinctcounthll(v)", "distinctcount(tags)", "distinctsum(n)"],
        ["INT", "LONG", "INT", "DOUBLE"],
        [[4, 4, 3, 66.0]],
    ),
    (
        "select percentile(n, 50), percentile95(n), percentile(n, 100), mode(ok) from t where n > 0",
        ["percentile(n, 50.0)", "percentile95(n)", "percentile(n, 100.0)", "mode(ok)"],
        ["DOUBLE"] * 4,
        [[6.0, 11.0, 11.0, 1.0]],
    ),
    (
        "select v, sum(n) / count(*) as a from t group by v having sum(n) > 5 order by a desc limit 2",
        ["v", "a"],
        ["STRING", "DOUBLE"],
        [["s3", 10.0], ["s2", 7.0]],
    ),
    (
        "select sum(n) - 1, v from t group by v order by 1 limit 1",
        ["minus(sum(n),'1')", "v"],
        ["DOUBLE", "STRING"],
        [[2.0, "s0"]],
    ),
    (
        "select count(*) filter (where ok = true) as yes, count(*) from t",
        ["yes", "count(*)"],
        ["LONG", "LONG"],
        [[6, 12]],
    ),
    (
        "select upper(city) as u, count(*) from t group by u order by count(*) desc, u",
        ["u", "count(*)"],
        ["STRING", "LONG"],
        [["BERLIN", 6], ["PARIS", 3], ["ROME'S", 3]],
    ),
    (
        "select v, n from t order by n desc limit 3 offset 1",
        ["v", "n"],
        ["STRING", "INT"],
        [["s3", 10], ["s3", 9], ["s2", 8]],
    ),
    ("select n from t order by n limit 2, 3", ["n"], ["INT"], [[2], [3], [4]]),
    ("select n from t order by v desc, n limit 2", ["n"], ["INT"], [[9], [10]]),
    ("select distinct v from t order by v desc limit 2", ["v"], ["STRING"], [["s3"], ["s2"]]),
    ("select v from t group by v order by v limit 1", ["v"], ["STRING"], [["s0"]]),
    (
        "select ok, ts, raw, big, doc, f, nums, tags from t where n = 1",
        ["ok", "ts", "raw", "big", "doc", "f", "nums", "tags"],
        ["BOOLEAN", "TIMESTAMP", "BYTES", "BIG_DECIMAL", "JSON", "FLOAT", "INT_ARRAY", "STRING_ARRAY"],
        [[True, "2024-02-29 13:34:56.789", "01ff", "1.50", '{"i":1}', 0.1, [1, 2], ["x", "y"]]],
    ),
    (
        "select n + 1, n % 2, -n, abs(0 - n), n * 2.5 from t where n = 3",
        ["plus(n,'1')", "mod(n,'2')", "minus('0',n)", "abs(minus('0',n))", "times(n,'2.5')"],
        ["DOUBLE"] * 5,
        [[4.0, 1.0, -3.0, 3.0, 7.5]],
    ),
    ("select n / 0 from t where n in (0, 1) order by n", ["divide(n,'0')"], ["DOUBLE"], [["NaN"], ["Infinity"]]),
    (
        "select lower(city), length(city), substr(city, 1, 3), substring(city, 1, 3), concat(v, city, '-'), v || 'x' "
        "from t where n = 1",
        [
            "lower(city)",
            "length(city)",
            "substr(city,'1','3')",
            "substring(city,'1','3')",
            "concat(v,city,'-')",
            "concat(v,'x')",
        ],
        ["STRING", "INT", "STRING", "STRING", "STRING", "STRING"],
        [["paris", 5, "ar", "Par", "s0-Paris", "s0x"]],
    ),
    (
        "select case when n > 10 then 'hi' when n > 9 then 'mid' end as c from t where n > 8 order by n",
        ["c"],
        ["STRING"],
        [[""], ["mid"], ["hi"]],
    ),
    (
        "select cast(d as int), cast(n as string), cast('7' as long), cast(ts as string) from t where n = 1",
        ["cast(d,'INT')", "cast(n,'STRING')", "cast('7','LONG')", "cast(ts,'STRING')"],
        ["INT", "STRING", "LONG", "STRING"],
        [[1, "1", 7, "2024-02-29 13:34:56.789"]],
    ),
    (
        "select json_extract_scalar(doc, '$.i', 'INT') as i, json_extract_scalar(doc, '$.no', 'STRING', 'none') as j "
        "from t where n = 5",
        ["i", "j"],
        ["INT", "STRING"],
        [[5, "none"]],
    ),
    (
        "select year(ts), month(ts), day(ts), hour(ts, 'Europe/Berlin'), dayofweek(ts), toepochdays(ms), "
        "fromepochdays(1) from t where n = 0",
        [
            "year(ts)",
            "month(ts)",
            "day(ts)",
            "hour(ts,'Europe/Berlin')",
            "dayofweek(ts)",
            "toepochdays(ms)",
            "fromepochdays('1')",
        ],
        ["INT"] * 5 + ["LONG"] * 2,
        [[2024, 2, 29, 13, 4, BASE // DAY, DAY]],
    ),
    (
        "select dateTrunc('DAY', ms) as d, dateTrunc('month', ms, 'MILLISECONDS', 'UTC', 'DAYS') as m, "
        "toDateTime(ms, 'yyyyMMdd') as t,"
        " dateTimeConvert(ms, '1:MILLISECONDS:EPOCH', '1:HOURS:EPOCH', "
        "'1:DAYS') as h from t where n = 1",
        ["d", "m", "t", "h"],
        ["LONG", "LONG", "STRING", "LONG"],
        [[(BASE // DAY + 1) * DAY, 19783, "20240301", (BASE // DAY + 1) * 24]],
    ),
    (
        "select datetrunc('DAY', ts), count(*) from t group by datetrunc('DAY', ts)",
        ["datetrunc('DAY',ts)", "count(*)"],
        ["LONG", "LONG"],
        [[BASE // DAY * DAY, 12]],
    ),
    (
        "select $segmentName, $docId, n from t where $segmentName = 'seg2' order by $docId desc limit 2",
        ["$segmentName", "$docId", "n"],
        ["STRING", "INT", "INT"],
        [["seg2", 2, 8], ["seg2", 1, 7]],
    ),
    (
        'select "$hostName", count(*) from t group by "$hostName" order by 1',
        ["$hostName", "count(*)"],
        ["STRING", "LONG"],
        [["h0", 6], ["h1", 6]],
    ),
    (
        "select tags, count(*), sum(n) from t where n < 3 group by tags order by tags",
        ["tags", "count(*)", "sum(n)"],
        ["STRING", "LONG", "DOUBLE"],
        [["x", 2, 1.0], ["y", 1, 1.0], ["z", 1, 2.0]],
    ),
    (
        "select distinct tags, nums from t where n = 1 order by tags, nums",
        ["tags", "nums"],
        ["STRING", "INT"],
        [["x", 1], ["x", 2], ["y", 1], ["y", 2]],
    ),
    (
        "select countmv(tags), summv(nums), minmv(nums), maxmv(nums), distinctcountmv(nums), percentilemv(nums, 50) "
        "from t",
        [
            "countmv(tags)",
            "summv(nums)",
            "minmv(nums)",
            "maxmv(nums)",
            "distinctcountmv(nums)",
            "percentilemv(nums, 50.0)",
        ],
        ["LONG", "DOUBLE", "DOUBLE", "DOUBLE", "INT", "DOUBLE"],
        [[16, 144.0, 0.0, 12.0, 13, 6.0]],
    ),
    (
        "select arraylength(tags), arraymax(nums), T.n from t as T where N = 4",
        ["arraylength(tags)", "arraymax(nums)", "n"],
        ["INT", "INT", "INT"],
        [[2, 5, 4]],
    ),
    ("select 1, 'a' from t limit 1", ["'1'", "'a'"], ["INT", "STRING"], [[1, "a"]]),
    ("select n from t limit 0", ["n"], ["INT"], []),
]


@pytest.mark.parametrize(("sql", "names", "types", "rows"), CASES, ids=[c[0][:60] for c in CASES])
def test_a_query_gives_the_expected_answer_over_one_and_over_two_servers(
    sql: str, names: list[str], types: list[str], rows: list[list[Any]]
) -> None:
    result, _ = over_two_servers(sql)
    assert (result.column_names, result.column_types, result.rows) == (names, types, rows)
    assert over_one_server(sql) == result


PREDICATES = [
    ("n = 5", [5]),
    ("5 = n", [5]),
    ("n = '5'", [5]),
    ("n <> 5 and n < 7 and not n = 6", [0, 1, 2, 3, 4]),
    ("n in (1, 3, 99)", [1, 3]),
    ("n not in (0,1,2,3,4,5,6,7,8)", [9, 10, 11]),
    ("n between 3 and 5", [3, 4, 5]),
    ("n not between 1 and 10", [0, 11]),
    ("n = 5.5", []),
    ("n > 9.5", [10, 11]),
    ("l >= 1000000000010", [10, 11]),
    ("f = 0.3", [3]),
    ("f > 0.95", [10, 11]),
    ("city = 'Rome''s'", [3, 7, 11]),
    ("city like 'B%'", [0, 4, 8]),
    ("city like '_aris'", [1, 5, 9]),
    ("city not like '%r%'", [3, 7, 11]),
    ("regexp_like(city, '^[bB]er')", [0, 2, 4, 6, 8, 10]),
    ("regexp_like(city, '^BER', 'i')", [0, 2, 4, 6, 8, 10]),
    ("city = 5", []),
    ("v = 's1' or n = 0", [0, 3, 4, 5]),
    ("ok = true and n < 4", [1, 3]),
    ("ok and n < 4", [1, 3]),
    ("ok = 1 and n < 4", [1, 3]),
    ("ok is true and n < 2", [1]),
    ("ok is not true and n < 3", [0, 2]),
    ("tags not like 'x%'", [2, 5, 8, 11]),
    ("raw = '05ff'", [5]),
    ("raw in ('05ff', '06FF')", [5, 6]),
    ("big > 9.5", [10, 11]),
    ("big = 4.5", [4]),
    ("ts >= '2024-02-29 22:34:56.789'", [10, 11]),
    (f"ts = {BASE}", [0]),
    ("ts < '2024-02-29 13:00:00'", [0]),
    ("v is null", []),
    ("v is not null and n = 2", [2]),
    ("tags = 'y'", [1, 4, 7, 10]),
    ("tags <> 'x'", [2, 5, 8, 11]),
    ("tags in ('y', 'z') and n < 3", [1, 2]),
    ("tags not in ('x', 'y')", [2, 5, 8, 11]),
    ("not tags = 'x'", [2, 5, 8, 11]),
    ("nums > 11", [11]),
    ("nums between 11 and 20", [10, 11]),
    ("tags like 'z%' and n < 6", [2, 5]),
    ("n + 1 = 3", [2]),
    ("lower(city) = 'berlin' and n < 5", [0, 2, 4]),
    ("ms > now()", []),
    ("ms < ago('P1D') and n = 1", [1]),
    ("n = 1 and 1 = 2", []),
    ("case when n > 10 then 1 else 0 end = 1", [11]),
    ("$docId = 0", [0, 3, 6, 9]),
    ("$segmentName in ('seg0','seg3') and n > 1", [2, 9, 10, 11]),
    ("doc = '{\"i\":7}'", [7]),
    ("true and n = 1", [1]),
    ("n = 1 -- no more\n", [1]),
    ("n /* here */ = 1", [1]),
]


@pytest.mark.parametrize(("where", "wanted"), PREDICATES, ids=[p[0] for p in PREDICATES])
def test_where_keeps_the_rows_that_satisfy_it(where: str, wanted: list[int]) -> None:
    result, partials = over_two_servers(f"select n from t where {where} limit 100")
    assert sorted(r[0] for r in result.rows) == wanted
    counted, partials = over_two_servers(f"select count(*), sum(n) from t where {where}")
    assert counted.rows == [[len(wanted), float(sum(wanted))]]
    assert sum(p.docs_scanned for p in partials) == len(wanted)
    assert sum(p.segments_matched for p in partials) == len({n // 3 for n in wanted})


def test_star_selects_the_columns_of_the_schema_in_alphabetical_order() -> None:
    result, partials = over_two_servers("select * from t limit 5")
    assert result.column_names == sorted(SCHEMA.by_name)
    assert [r[result.column_names.index("n")] for r in result.rows] == [0, 1, 2, 3, 4]
    assert [p.rows.num_rows for p in partials] == [5, 5]


def test_without_a_limit_ten_rows_come_back() -> None:
    assert len(over_one_server("select n from t").rows) == 10
    assert len(over_one_server("select n, count(*) from t group by n").rows) == 10
    assert len(over_one_server("select distinct n from t").rows) == 10


def test_aggregations_over_no_rows_give_the_values_of_pinot() -> None:
    sql = "select count(*), sum(n), min(n), max(n), avg(n), distinctcount(n), minmaxrange(n), percentile(n, 50) from t"
    wanted: list[list[Any]] = [[0, 0.0, "Infinity", "-Infinity", "-Infinity", 0, "-Infinity", "-Infinity"]]
    assert over_no_server(sql).rows == wanted
    assert over_two_servers(sql + " where n > 100")[0].rows == wanted
    assert over_no_server("select avg(n), sum(n), min(n), count(*), max(n) from t").rows == [
        ["-Infinity", 0.0, "Infinity", 0, "-Infinity"]
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "select v, count(*) from t group by v",
        "select * from t",
        "select n from t order by n",
        "select distinct tags from t",
        "select tags, distinctcount(n) from t group by tags having count(*) > 0",
    ],
)
def test_a_table_without_segments_answers_columns_and_types_but_no_rows(sql: str) -> None:
    empty, full = over_no_server(sql), over_one_server(sql)
    assert empty.rows == []
    assert (empty.column_names, empty.column_types) == (full.column_names, full.column_types)


def test_the_plan_reads_only_the_columns_that_the_query_names() -> None:
    assert plan_query("select count(*) from t", SCHEMA).columns == ()
    assert plan_query("select $segmentName, count(*) from t group by $segmentName", SCHEMA).columns == ()
    assert set(plan_query("select v, sum(n) from t where l > 1 group by v order by max(d)", SCHEMA).columns) == {
        "v",
        "n",
        "l",
        "d",
    }
    assert plan_query("select count(*) from db.t_OFFLINE", SCHEMA).table == "t_OFFLINE"


def test_now_is_the_same_for_all_who_plan_with_the_same_option() -> None:
    first, second = (
        plan_query("select n from t where ms > ago('PT1H') and ms < now()", SCHEMA, options={"now": str(BASE)})
        for _ in range(2)
    )
    assert first.where == second.where
    assert str(BASE) in str(first.where)


def test_numbers_too_special_for_json_are_strings() -> None:
    rows = [
        {**ROWS[0], "d": float("nan")},
        {**ROWS[1], "d": float("inf")},
        {**ROWS[2], "d": float("-inf")},
        {**ROWS[3], "f": 1e30},
    ]
    assert over_one_server("select d, f from t order by n", rows).rows == [
        ["NaN", 0.0],
        ["Infinity", 0.1],
        ["-Infinity", 0.2],
        [4.5, 1e30],
    ]
