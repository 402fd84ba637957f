"""What one query may cost: rows, bytes of its answer, time and memory; beyond that it is refused and says what to
change.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

from segments.dataplane import query_bounds
from segments.dataplane.query import engine, time_limit
from segments.dataplane.query.merge import merge
from segments.dataplane.query.partial import execute_partial
from segments.dataplane.query.plan import QueryPlan, plan_query
from segments.dataplane.query.scan import SegmentRows
from segments.dataplane.query_bounds import QueryBounds
from segments.domain.tables.schema import parse_schema
from segments.expressions.query_errors import EXECUTION_TIMEOUT, QUERY_EXECUTION, QUERY_VALIDATION, QueryRejected
from tests.waiting import wait_until

SCHEMA = parse_schema(
    {
        "schemaName": "t",
        "dimensionFieldSpecs": [{"name": "city", "dataType": "STRING"}, {"name": "n", "dataType": "LONG"}],
    }
)


@pytest.fixture(autouse=True)
def bounds() -> Iterator[None]:
    yield
    query_bounds.use(QueryBounds())


def answer(sql: str, rows: int, text: str = "Oslo", **options: str) -> list[list[object]]:
    plan = plan_query(sql, SCHEMA, options=options)
    return merge(plan, [execute_partial(plan, [_segment(rows, text)])]).rows


def _segment(rows: int, text: str) -> SegmentRows:
    table = pa.table({"city": pa.array([text] * rows).dictionary_encode(), "n": pa.array(range(rows), pa.int64())})
    return SegmentRows("s", "here", table, rows)


@pytest.mark.parametrize(
    "limit", ["LIMIT 2147483647", "LIMIT 1000001", "LIMIT 10 OFFSET 999991", "LIMIT 2147483647, 10"]
)
def test_a_limit_beyond_the_allowed_number_of_rows_is_refused_as_pinot_does(limit: str) -> None:
    with pytest.raises(
        QueryRejected, match=r"exceeds maximum allowed value of 1000000.*PINOTADMIN_QUERY_MAX_ROWS"
    ) as refused:
        answer(f"select city from t {limit}", 1)
    assert refused.value.error_code == QUERY_VALIDATION


def test_a_limit_at_the_bound_is_answered() -> None:
    query_bounds.use(QueryBounds(rows=5))
    assert len(answer("select n from t limit 3 offset 2", 10)) == 3


@pytest.mark.parametrize(
    "sql",
    [
        "select city from t limit 10000",
        "select city from t order by n limit 10000",
        "select city, n from t where n >= 0 limit 10000",
        "select upper(city), n from t limit 10000",
        "select distinct concat(city, n) from t limit 10000",
        "select n, max(length(city)), mode(n) from t group by n, city limit 10000",
    ],
)
def test_an_answer_of_too_many_bytes_is_refused_while_it_is_read(sql: str) -> None:
    query_bounds.use(QueryBounds(answer_bytes=100_000))
    with pytest.raises(QueryRejected, match=r"more than 100000 bytes.*PINOTADMIN_QUERY_MAX_ANSWER_BYTES"):
        answer(sql, 10_000, text="a long name of a city " * 10)


def test_a_query_is_ended_when_its_time_is_over() -> None:
    rows = pa.table({"c0": pa.array(range(3_000_000), pa.int64())})
    began = time.monotonic()
    plan = plan_query("select n from t", SCHEMA, options={"timeoutMs": "300"})
    with pytest.raises(QueryRejected, match="longer than its time") as refused, _limit(plan):
        engine.run("SELECT max(sin(a.c0 * b.c0)) AS x FROM rows AS a, rows AS b", "rows", rows)
    assert refused.value.error_code == EXECUTION_TIMEOUT
    assert time.monotonic() - began < 10
    assert answer("select count(*) from t where n >= 0", 5) == [[5]], (
        "the next query of this thread is not ended with it"
    )


def test_a_statement_that_begins_after_its_time_is_ended_too() -> None:
    """An interruption of a cursor that runs nothing yet is forgotten by DuckDB when its statement begins."""
    cursor = duckdb.connect().cursor()
    with time_limit.time_limit(0.05):
        statement = time_limit.begin(cursor)
    wait_until(lambda: statement.is_ended, 10)
    began = time.monotonic()
    with pytest.raises(duckdb.InterruptException):
        cursor.execute("select max(sin(a.i * b.i)) from range(3000000) a(i), range(3000000) b(i)").fetchall()
    time_limit.end(statement)
    assert time.monotonic() - began < 10


def _limit(plan: QueryPlan) -> object:
    from segments.dataplane.query.time_limit import time_limit

    return time_limit(plan.timeout_s)


def test_no_query_may_take_longer_than_the_longest_time() -> None:
    query_bounds.use(QueryBounds(timeout_ms=5_000))
    for options in ({"timeoutMs": "2147483647"}, {}, {"timeoutMs": "nonsense"}):
        assert plan_query("select n from t", SCHEMA, options=options).timeout_s == 5.0


def test_the_engine_refuses_what_does_not_fit_its_memory_and_writes_nothing_to_disk() -> None:
    assert engine.settings()["memory_limit"] == f"{4 << 30}B"
    found = []

    def run() -> None:
        cursor = engine._cursor(engine._MAIN)
        found.append(
            dict(
                cursor.execute(
                    "SELECT name, value FROM duckdb_settings() WHERE name LIKE '%temp_directory%'"
                ).fetchall()
            )
        )

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found[0]["temp_directory"] == ""
    assert found[0]["max_temp_directory_size"] in ("0 bytes", "0B")


def test_a_query_that_needs_more_memory_than_there_is_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_ROOTS", {})
    monkeypatch.setattr(engine, "_LOCAL", threading.local())
    query_bounds.use(QueryBounds(memory_bytes=20 << 20))
    with pytest.raises(QueryRejected, match="Out of Memory") as refused:
        answer(
            "select concat(city, n), count(*), mode(n) from t group by concat(city, n) limit 5", 300_000, text="x" * 100
        )
    assert refused.value.error_code == QUERY_EXECUTION
    assert answer("select count(*) from t where n >= 0", 5) == [[5]]
