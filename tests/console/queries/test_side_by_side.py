"""One query as of two snapshots of its table: the answers next to each other, what differs marked."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from segments.console.presenters.queries.answer import present
from segments.console.presenters.queries.side_by_side import marked
from tests.console.conftest import FakeBroker, logged_in
from tests.factories import make_snapshot, make_table

HTMX = {"HX-Request": "true"}
SQL = "select carrier, count(*) as n from t group by carrier"
PAGE, CHOICE = "/console/query/", "/console/query/snapshots/"


def answer_of(*rows: tuple[str, int]) -> dict[str, Any]:
    schema = {"columnNames": ["carrier", "n"], "columnDataTypes": ["STRING", "LONG"]}
    return {"resultTable": {"dataSchema": schema, "rows": [list(r) for r in rows]}, "exceptions": []}


@pytest.fixture
def as_of(broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the snapshots that were read; snapshot 1 has other rows than now."""
    make_table("t_OFFLINE")
    make_snapshot(1, rows=10, actor="ann")
    make_snapshot(2, rows=20)
    broker.answer = answer_of(("AA", 3), ("UA", 7))
    asked: list[str] = []

    def query_as_of(ctx: Any, sql: str, options: Any, name: str) -> dict[str, Any]:
        asked.append(name)
        return answer_of(("UA", 7), ("AA", 2), ("DL", 1)) if name == "1" else broker.answer

    monkeypatch.setattr("segments.console.views.queries.page.query_as_of", query_as_of)
    return asked


def asked_of(client: Client, **more: str) -> str:
    text: str = client.post(PAGE, {"sql": SQL, **more}, headers=HTMX).content.decode()
    return text


def test_the_page_offers_the_snapshots_of_the_querys_table(viewer: Client, as_of: list[str]) -> None:
    text = viewer.post(CHOICE, {"sql": SQL}).content.decode()
    offered = text.split('id="query-against"')[0]
    assert re.findall(r'<option value="(\d)">\d: [^<]*', offered) == ["2", "1"]
    assert "10 rows, by ann" in text
    assert "Write a query of one table first." in viewer.post(CHOICE, {"sql": ""}).content.decode()
    joined = viewer.post(CHOICE, {"sql": "select * from t join u on t.a = u.a"}).content.decode()
    assert ("reads one table" in joined, '<option value="1"' in joined) == (True, False)
    named = viewer.post(CHOICE, {"sql": f"set snapshot=1; {SQL}", "against": "2"}).content.decode()
    assert "1, as the query says" in named
    assert re.search(r'<option value="2" selected>', named)


def test_the_page_itself_reads_no_history_until_the_choice_is_opened(viewer: Client, as_of: list[str]) -> None:
    with CaptureQueriesContext(connection) as asked:
        text = viewer.get(PAGE, {"sql": f"set snapshot=1; {SQL}"}).content.decode()
    assert not any("segments_snapshot" in q["sql"] for q in asked)
    assert "Read a snapshot, or two side by side: 1, as the query says" in text
    chosen = viewer.post(PAGE, {"sql": SQL, "snapshot": "1"}).content.decode()
    assert re.search(r'<option value="1" selected>1: ', chosen)


def test_who_may_not_read_the_table_is_offered_nothing(viewer: Client, as_of: list[str], settings: Any) -> None:
    settings.READ_BY_GRANT = True
    text = logged_in("nora").post(CHOICE, {"sql": SQL}).content.decode()
    assert "by ann" not in text


def test_a_chosen_snapshot_is_read_instead_of_what_queries_see(viewer: Client, as_of: list[str]) -> None:
    assert "DL" in asked_of(viewer, snapshot="1")
    assert as_of == ["1"]
    assert 'name="snapshot" value="1"' in asked_of(viewer, snapshot="1")


def test_two_answers_stand_next_to_each_other_with_what_differs_marked(viewer: Client, as_of: list[str]) -> None:
    text = asked_of(viewer, against="1")
    assert as_of == ["1"]
    assert re.findall(r'<h2 class="inset">([^<]*)', text) == ["What queries see now", "Snapshot 1"]
    assert "<strong>2 rows are not the same</strong>" in text
    cells = [re.sub("<[^>]*>", "", c) for c in re.findall(r'<td class="[^"]*differs">(.*?)</td>', text)]
    assert [c.removesuffix(" (differs)") for c in cells] == ["3", "2", "DL", "1"]


def test_the_same_answer_twice_says_so(viewer: Client, as_of: list[str]) -> None:
    assert "Both answers are the same." in asked_of(viewer, snapshot="2", against="current")
    assert as_of == ["2"]


def test_the_plan_is_not_asked_twice(viewer: Client, as_of: list[str], broker: FakeBroker) -> None:
    schema = {"columnNames": ["Operator", "Operator_Id", "Parent_Id"], "columnDataTypes": ["STRING", "INT", "INT"]}
    broker.answer = {"resultTable": {"dataSchema": schema, "rows": [["SCAN", 0, -1]]}, "exceptions": []}
    assert "query-plan" in asked_of(viewer, against="1", explain="yes")
    assert as_of == []


def test_rows_without_a_key_are_compared_by_their_place() -> None:
    first, second = present(answer_of(("AA", 1), ("AA", 2))), present(answer_of(("AA", 1), ("AA", 3), ("AA", 4)))
    left, right, count = marked(first, second)
    assert [[c.differs for c in row] for row in left.rows] == [[False, False], [False, True]]
    assert [[c.differs for c in row] for row in right.rows] == [[False, False], [False, True], [True, True]]
    assert count == 2


def test_answers_that_got_a_limit_are_not_called_the_same_without_saying_so(
    viewer: Client, as_of: list[str], broker: FakeBroker
) -> None:
    broker.answer = answer_of(*((f"c{i}", i) for i in range(10)))
    text = asked_of(viewer, against="2")
    assert "LIMIT 10 was added" in text
    assert "Both answers are the same. Only the rows below are compared" in text
    broker.answer = answer_of(*((f"c{i}", i) for i in range(9)))
    assert "Only the rows below" not in asked_of(viewer, against="2")
