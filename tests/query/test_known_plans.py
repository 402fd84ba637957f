"""A statement that comes again is planned once, and answers as if it were planned every time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from segments.dataplane import query_bounds
from segments.dataplane.query import QueryRejected, plan_query
from segments.dataplane.query import plan as planning
from segments.dataplane.query.known_plans import KnownPlans, reads_clock
from segments.dataplane.query_bounds import QueryBounds
from segments.domain.tables.schema import Schema, parse_schema
from segments.domain.tables.time_boundary import TimeFilter

SQL = "select v, count(*) from t where n > 3 group by v limit 20"


def schema(n: str = "INT") -> Schema:
    return parse_schema(
        {
            "schemaName": "t",
            "dimensionFieldSpecs": [{"name": "v", "dataType": "STRING"}, {"name": "n", "dataType": n}],
        }
    )


@pytest.fixture(autouse=True)
def planned(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Texts that were planned, in order; nothing is known before."""
    found: list[str] = []
    real = planning._Planner

    def make(statement: Any, *given: Any) -> Any:
        found.append(statement.select.sql())
        return real(statement, *given)

    monkeypatch.setattr(planning, "_Planner", make)
    monkeypatch.setattr(planning, "_known", KnownPlans())
    yield found
    query_bounds.use(QueryBounds())


def test_a_statement_that_comes_again_is_planned_once_and_has_its_own_options(planned: list[str]) -> None:
    known = schema()
    first = plan_query(SQL, known, options={"now": "1", "timeoutMs": "7000"})
    second = plan_query(SQL, known, options={"now": "2", "timeoutMs": "3000"})
    assert len(planned) == 1
    assert (first.timeout_s, second.timeout_s) == (7.0, 3.0)
    assert second.where == first.where
    assert second.names == first.names


def test_another_schema_side_or_number_of_rows_is_another_plan(planned: list[str]) -> None:
    known = schema()
    plan_query(SQL, known)
    assert plan_query(SQL, schema("STRING")).fields["n"].data_type == "STRING"
    assert "<=" in (plan_query(SQL, known, time_filter=TimeFilter("n", "<=", 9)).where or "")
    assert plan_query(SQL, known, rows=5).limit == 5
    assert plan_query(SQL, known).limit == 20
    assert len(planned) == 4


def test_a_bound_that_was_lowered_holds_for_a_known_statement() -> None:
    known = schema()
    plan_query(SQL, known)
    query_bounds.use(QueryBounds(rows=10))
    with pytest.raises(QueryRejected, match="exceeds maximum"):
        plan_query(SQL, known)


@pytest.mark.parametrize("call", ["now()", "NOW()", "n_ow()", "ago('PT1H')", "AGO('PT1H')"])
def test_what_reads_the_clock_is_planned_for_its_own_moment(call: str) -> None:
    known = schema("LONG")
    sql = f"select v from t where n > {call}"
    early, late = (plan_query(sql, known, options={"now": str(at)}) for at in (10**9, 10**12))
    assert early.where != late.where
    assert reads_clock(call)


def test_a_large_plan_is_not_kept(planned: list[str]) -> None:
    known = schema()
    large = "select " + ", ".join(f"concat(v, '{'x' * 400}{i}')" for i in range(10)) + " from t"
    repeated = "select v from t where " + " or ".join(["concat(concat(v, v), concat(v, v)) = 'a'"] * 90)
    assert len(large) > 4_096 > len(repeated)
    for sql in (large, repeated):
        plan_query(sql, known)
        plan_query(sql, known)
    assert len(planned) == 4
