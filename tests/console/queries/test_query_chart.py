"""What of an answer is drawn, and which numbers are moments."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from segments.console.presenters.queries.answer import SHOWN_ROWS, present
from segments.console.presenters.queries.chart import chart_of
from segments.console.presenters.queries.times import moment_text, moments, written_as
from tests.console.conftest import FakeBroker

DAY = 1_356_998_400_000  # 2013-01-01


@pytest.mark.parametrize(
    ("name", "kind", "values", "found"),
    [
        ("dateTrunc('DAY', ts)", "LONG", [DAY, None], [DAY, None]),
        ("eventTimeSeconds", "LONG", [DAY // 1000], [DAY]),
        ("daysSinceEpoch", "INT", [15_706], [DAY]),
        ("flight_date", "INT", [20_130_101], [DAY]),
        ("flight_date", "INT", [20_131_341], None),
        ("ts", "TIMESTAMP", ["2013-01-01 00:00:00.0"], [DAY]),
        ("day", "STRING", ["2013-01-01"], [DAY]),
        ("day", "STRING", ["2013-01-01", "monday"], None),
        ("day", "STRING", ["2013-13-01"], None),
        ("dayOfWeek", "INT", [1, 7], None),
        ("amount", "LONG", [DAY], None),
        ("ts", "DOUBLE", [1.5], None),
        ("ts", "LONG", [None], None),
        ("ts", "LONG", [[DAY]], None),
    ],
)
def test_a_number_is_a_moment_when_its_name_and_its_size_say_so(
    name: str, kind: str, values: list[Any], found: list[int | None] | None
) -> None:
    assert moments(name, kind, values) == found


def test_a_bucket_of_time_is_a_moment_under_any_alias() -> None:
    sql = "select datetrunc('day', ts) d, sum(n) as total, count(*) from t group by d"
    assert written_as(sql)["total"].lower() == "sum(n)"
    table = {"dataSchema": {"columnNames": ["d", "total"], "columnDataTypes": ["LONG"] * 2}, "rows": [[DAY, DAY + 1]]}
    shown = present({"resultTable": table}, sql)
    assert [cell.moment for cell in shown.rows[0]] == ["2013-01-01", ""]
    assert written_as("select a.x from a join b on a.x = b.x") == written_as("no query") == {}


def test_a_moment_is_written_as_short_as_it_can_be() -> None:
    assert [moment_text(DAY + more) for more in (0, 60_000, 61_000)] == [
        "2013-01-01",
        "2013-01-01 00:01",
        "2013-01-01 00:01:01",
    ]


@pytest.mark.parametrize(
    ("names", "types", "rows", "choice", "is_clear"),
    [
        (["day", "n"], ["STRING", "LONG"], [["2013-01-01", 1], ["2013-01-02", 2]], ("line", 0, [1], None), True),
        (["carrier", "n"], ["STRING", "LONG"], [["AA", 1], ["UA", 2]], ("bar", 0, [1], None), True),
        (
            ["day", "carrier", "n"], ["STRING", "STRING", "LONG"],
            [["2013-01-01", "AA", 1], ["2013-01-01", "UA", 2]], ("line", 0, [2], 1), True,
        ),
        (
            ["day", "carrier", "n"], ["STRING", "STRING", "LONG"],
            [["2013-01-01", f"C{i}", i] for i in range(12)], ("line", 0, [2], 1), True,
        ),
        (["c", "a", "b"], ["STRING", "INT", "INT"], [["x", 1, 2], ["y", 2, "NaN"]], ("bar", 0, [1, 2], None), True),
        (["n", "carrier"], ["INT", "STRING"], [[1, "AA"], [2, "UA"]], ("bar", 1, [0], None), False),
        (["hour", "n"], ["INT", "LONG"], [[1, 7], [0, 9]], ("bar", 0, [1], None), False),
    ],
)  # fmt: skip
def test_moments_make_a_line_and_names_or_numbers_make_bars(
    names: list[str], types: list[str], rows: list[list[Any]], choice: tuple[Any, ...], is_clear: bool
) -> None:
    found = chart_of(names, types, rows)
    assert found is not None
    assert found["choice"] == dict(zip(("kind", "x", "values", "split"), choice, strict=True))
    assert found["isClear"] is is_clear


@pytest.mark.parametrize("rows", [[], [["AA", 1]]])
def test_one_row_is_not_drawn(rows: list[list[Any]]) -> None:
    assert chart_of(["carrier", "n"], ["STRING", "LONG"], rows) is None


def test_texts_alone_are_not_drawn() -> None:
    assert chart_of(["a", "b"], ["STRING", "STRING"], [["x", "y"], ["x", "y"]]) is None


def test_what_is_no_finite_number_is_a_gap() -> None:
    found = chart_of(["c", "n"], ["STRING", "DOUBLE"], [["a", "Infinity"], ["b", None], ["c", 1.5]])
    assert found is not None
    assert found["columns"][1]["values"] == [None, None, 1.5]


def test_the_page_holds_the_data_of_the_chart_as_text_that_is_no_markup(viewer: Client, broker: FakeBroker) -> None:
    schema = {"columnNames": ["carrier", "n"], "columnDataTypes": ["STRING", "LONG"]}
    rows = [["</pre><script>alert(1)</script>", 3], ["UA", 1]]
    broker.answer = {"resultTable": {"dataSchema": schema, "rows": rows}, "exceptions": []}
    text = viewer.post("/console/query/", {"sql": "q"}, headers={"HX-Request": "true"}).content.decode()
    held = re.search(r'id="query-chart-data">(.*?)</pre>', text, re.DOTALL)
    assert held is not None
    assert "<" not in held[1]
    assert json.loads(unescape(held[1]))["columns"][0]["values"] == [rows[0][0], "UA"]
    assert 'role="img"' in text


def test_a_number_that_is_a_moment_is_shown_with_its_date(viewer: Client, broker: FakeBroker) -> None:
    schema = {"columnNames": ["day_ts", "n"], "columnDataTypes": ["LONG", "LONG"]}
    broker.answer = {"resultTable": {"dataSchema": schema, "rows": [[DAY, 3]]}, "exceptions": []}
    text = viewer.post("/console/query/", {"sql": "q"}, headers={"HX-Request": "true"}).content.decode()
    assert f'{DAY} <span class="ago">2013-01-01</span>' in text


def test_of_numbers_alone_the_second_is_drawn_along_the_first(viewer: Client, broker: FakeBroker) -> None:
    schema = {"columnNames": ["hour", "n"], "columnDataTypes": ["INT", "LONG"]}
    broker.answer = {"resultTable": {"dataSchema": schema, "rows": [[1, 7], [0, 9]]}, "exceptions": []}
    text = viewer.post("/console/query/", {"sql": "q"}, headers={"HX-Request": "true"}).content.decode()
    values = text.split('id="chart-value"')[1].split("</select>")[0]
    assert re.findall(r'<option value="(\d)"( selected)?>', values) == [("0", ""), ("1", " selected")]


def test_numbers_of_one_column_are_not_drawn() -> None:
    assert chart_of(["n"], ["LONG"], [[1], [2]]) is None


def test_a_chart_of_some_of_the_rows_says_so(viewer: Client, broker: FakeBroker) -> None:
    schema = {"columnNames": ["carrier", "n"], "columnDataTypes": ["STRING", "LONG"]}
    for count, is_said in ((SHOWN_ROWS, False), (SHOWN_ROWS + 5, True)):
        rows = [[f"c{i}", i] for i in range(count)]
        broker.answer = {"resultTable": {"dataSchema": schema, "rows": rows}, "exceptions": []}
        text = viewer.post("/console/query/", {"sql": "q"}, headers={"HX-Request": "true"}).content.decode()
        assert ("Drawn from the first 1,000 of 1,005 rows." in text) is is_said
