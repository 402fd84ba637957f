"""Which text is a query whose plan is wanted, and which is not."""

from __future__ import annotations

import pytest

from segments.dataplane.query.multistage import tables_read
from segments.dataplane.query.sql.explaining import explained, explaining
from segments.expressions.query_errors import QueryRejected


@pytest.mark.parametrize(
    ("sql", "inner"),
    [
        ("EXPLAIN PLAN FOR select 1 from t", "select 1 from t"),
        ("set a = 1; explain  plan for\nselect 1 from t option(b=2)", "set a = 1;  \nselect 1 from t option(b=2)"),
        ("explain plan without implementation for with x as (select 1 from t) select 2 from x",
         "with x as (select 1 from t) select 2 from x"),
        ("select explain from t", None),
        ("select 'explain plan for' from t", None),
        ("\"explain\" plan for", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_query_within_is_found(sql: str, inner: str | None) -> None:
    found = explained(sql)
    assert (None if found is None else found.split()) == (None if inner is None else inner.split())


@pytest.mark.parametrize("sql", ["explain select 1 from t", "explain plan select 1 from t", "explain analyze select 1"])
def test_other_forms_are_refused_with_the_one_that_is_known(sql: str) -> None:
    with pytest.raises(QueryRejected, match="Only EXPLAIN PLAN FOR"):
        explained(sql)


def test_rights_are_asked_for_the_tables_of_the_query_within() -> None:
    assert tables_read("explain plan for select a from secret") == ["secret"]
    assert tables_read("explain plan for select a.x from secret a join other b on a.x = b.x") == ["other", "secret"]


def test_what_is_to_be_explained_is_marked_once_and_behind_its_options() -> None:
    assert explaining("set a = 1; select 1 from t") == "set a = 1; EXPLAIN PLAN FOR select 1 from t"
    assert explaining("explain plan for select 1 from t") == "explain plan for select 1 from t"
