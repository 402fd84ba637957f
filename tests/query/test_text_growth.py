"""A query cannot make texts that grow with every level of nesting; what keeps or shortens texts may be nested as
before.
"""

from __future__ import annotations

import pytest

from segments.dataplane.query.sql.parse import parse_select
from segments.dataplane.query.sql.text_growth import MAX_TEXT
from segments.expressions.query_errors import QUERY_VALIDATION, QueryRejected


def nested(inner: str, levels: int, call: str = "replace({}, 'a', 'aaaaaaaaaa')") -> str:
    for _ in range(levels):
        inner = call.format(inner)
    return inner


@pytest.mark.parametrize(
    "sql",
    [
        f"select {nested('city', 3)} from t",
        f"select count(*) from t where {nested('city', 3)} = 'x'",
        f"select count(*) from t group by {nested('city', 3)}",
        f"select city, count(*) from t group by city having max(length({nested('city', 3)})) > 1",
        f"select city from t order by {nested('city', 3)}",
        f"select {nested('city', 2)} as a from t order by {nested('a', 2)}",
        f"select {nested('city', 4, 're_place({}, city, city)')} from t",
        f"select {nested('city', 1, 'replace({}, city, city)')} from t",
        f"select {nested('city', 2, 'case when 1=1 then replace({}, 1, 12345678901234567890) else 0 end')} from t",
        f"select replace(upper({nested('city', 2)}), '', '{'x' * 20}') from t",
        f"select {nested('city', 8, 'concat({0}, {0})')} from t",
        f"select {nested('city', 8, '{0} || {0}')} from t",
        f"select sum(length({nested('city', 3)})) filter (where city = 'x') from t",
        f"select city from t where startswith({nested('city', 3)}, 'x')",
        f"select city from t where city in ('x') and {nested('city', 3)} between 'a' and 'b'",
    ],
)
def test_texts_that_grow_beyond_the_limit_are_refused(sql: str) -> None:
    with pytest.raises(QueryRejected, match=f"at most {MAX_TEXT} are allowed") as refused:
        parse_select(sql)
    assert refused.value.error_code == QUERY_VALIDATION


@pytest.mark.parametrize(
    "sql",
    [
        f"select {nested('city', 30, chr(123) + chr(125) + '')} from t",
        f"""select {nested("city", 30, "replace({}, 'a', '')")} from t""",
        f"""select {nested("city", 30, "replace({}, 'ab', 'cd')")} from t""",
        f"select {nested('city', 2)} from t",
        "select concat(city, country, ', ') from t",
        f"select city from t where city = '{'x' * 100_000}'",
    ],
)
def test_what_does_not_grow_much_is_answered(sql: str) -> None:
    assert parse_select(sql).table == "t"
