"""The query page."""

from __future__ import annotations

import pytest
from django.test import Client

from segments import wiring
from segments.console.export import csv_response
from segments.console.presenters.queries.answer import SHOWN_ROWS
from segments.dataplane import stopping
from segments.errors import Unavailable
from tests.console.conftest import FakeBroker
from tests.factories import make_table

HTMX = {"HX-Request": "true"}


def test_the_editor_takes_its_text_from_the_address_and_offers_samples(viewer: Client) -> None:
    make_table("flights_OFFLINE")
    text = viewer.get("/console/query/?sql=SELECT+1").content.decode()
    assert "SELECT 1</textarea>" in text
    assert "SELECT * FROM &quot;flights&quot; LIMIT 10" in text.replace('"', "&quot;")


def test_htmx_gets_only_the_result(viewer: Client, broker: FakeBroker) -> None:
    text = viewer.post("/console/query/", {"sql": "select 1"}, headers=HTMX).content.decode()
    assert broker.asked == ["select 1"]
    assert "<html" not in text
    for words in ("carrier", "LONG", "AA", "∅", "<b>12</b> ms", "2 rows"):
        assert words in text


@pytest.mark.parametrize(
    ("sql", "rows", "is_reported"),
    [
        ("select carrier, count(*) from flights group by carrier", 10, True),
        ("set a = 1; select carrier from flights", 10, True),
        ("select carrier from flights limit 10", 10, False),
        ("select carrier from flights limit 5, 10", 10, False),
        ("select carrier from flights", 9, False),
        ("selec carrier from (", 10, False),
    ],
)
def test_a_page_says_when_a_limit_was_added_to_the_query(
    viewer: Client, broker: FakeBroker, sql: str, rows: int, is_reported: bool
) -> None:
    schema = {"columnNames": ["carrier"], "columnDataTypes": ["STRING"]}
    broker.answer = {"resultTable": {"dataSchema": schema, "rows": [["AA"]] * rows}, "exceptions": []}
    text = viewer.post("/console/query/", {"sql": sql}, headers=HTMX).content.decode()
    assert ("The query has no LIMIT, so LIMIT 10 was added" in text) is is_reported


def test_an_answer_without_rows_is_its_columns_and_says_so(viewer: Client, broker: FakeBroker) -> None:
    schema = {"columnNames": ["day", "n"], "columnDataTypes": ["LONG", "LONG"]}
    broker.answer = {"resultTable": {"dataSchema": schema, "rows": []}, "exceptions": [], "timeUsedMs": 1}
    answer = viewer.post("/console/query/", {"sql": "select day, n from t where n = 7"}, headers=HTMX)
    assert answer.status_code == 200
    assert ("No rows." in answer.content.decode(), ">day<br>" in answer.content.decode()) == (True, True)


def test_a_moment_in_an_answer_is_not_broken_into_three_lines(viewer: Client, broker: FakeBroker) -> None:
    schema = {"columnNames": ["at", "text"], "columnDataTypes": ["TIMESTAMP", "STRING"]}
    broker.answer = {"resultTable": {"dataSchema": schema, "rows": [["2026-01-02 03:04:05.0", "some words"]]}}
    text = viewer.post("/console/query/", {"sql": "select 1"}, headers=HTMX).content.decode()
    assert '<td class="nowrap">2026-01-02 03:04:05.0' in text
    assert '<td class="">some words' in text


def test_one_of_something_is_not_counted_as_several(viewer: Client, broker: FakeBroker) -> None:
    broker.answer |= {"numDocsScanned": 1, "numSegmentsQueried": 1, "numServersQueried": 2}
    text = viewer.post("/console/query/", {"sql": "select 1"}, headers=HTMX).content.decode()
    for words in ("<b>1</b> row scanned", "<b>1</b> segment queried", "<b>2</b> servers asked"):
        assert words in text


def test_it_works_without_scripts(viewer: Client, broker: FakeBroker) -> None:
    text = viewer.post("/console/query/", {"sql": "select 1"}).content.decode()
    assert "<html" in text
    assert "AA" in text


def test_exceptions_of_the_broker_are_shown(viewer: Client, broker: FakeBroker) -> None:
    broker.answer = {"exceptions": [{"errorCode": 150, "message": "SQLParsingError: <oops>"}]}
    text = viewer.post("/console/query/", {"sql": "selec"}, headers=HTMX).content.decode()
    assert "Error 150" in text
    assert "&lt;oops&gt;" in text


def test_an_empty_query_and_a_missing_broker_say_what_to_do(
    viewer: Client, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Write a query first." in viewer.post("/console/query/", {"sql": " "}, headers=HTMX).content.decode()

    def missing() -> FakeBroker:
        raise Unavailable("This process has no broker.", remedy="Ask the web process.")

    monkeypatch.setattr(wiring, "broker", missing)
    answer = viewer.post("/console/query/", {"sql": "select 1"})
    assert answer.status_code == 503
    assert "Ask the web process." in answer.content.decode()


def test_the_page_shows_some_rows_and_the_csv_all(viewer: Client, broker: FakeBroker) -> None:
    rows = [[f"c{i}", i] for i in range(SHOWN_ROWS + 5)]
    broker.answer = {
        "resultTable": {"dataSchema": {"columnNames": ["c", "n"], "columnDataTypes": ["STRING", "INT"]}, "rows": rows}
    }
    assert (
        f"{SHOWN_ROWS} rows shown of {SHOWN_ROWS + 5}"
        in viewer.post("/console/query/", {"sql": "q"}, headers=HTMX).content.decode()
    )
    answer = viewer.post("/console/query/csv/", {"sql": "q"})
    assert len(answer.getvalue().decode().splitlines()) == SHOWN_ROWS + 6


def test_the_csv_holds_nothing_a_spreadsheet_would_run(viewer: Client, broker: FakeBroker) -> None:
    broker.answer = {
        "resultTable": {
            "dataSchema": {"columnNames": ["a", "b"], "columnDataTypes": ["STRING", "INT"]},
            "rows": [["=1+1", -5]],
        }
    }
    answer = viewer.post("/console/query/csv/", {"sql": "q"})
    assert answer.getvalue().decode().splitlines() == ["a,b", "'=1+1,-5"]


@pytest.mark.parametrize("alias", ["=cmd()", "+1", "-1", "@SUM(A1)", "\tx", "\uff1dcmd()"])
def test_an_alias_of_a_query_is_no_formula_in_the_header_of_the_csv(
    viewer: Client, broker: FakeBroker, alias: str
) -> None:
    table = {"dataSchema": {"columnNames": [alias, "b"], "columnDataTypes": ["INT", "INT"]}, "rows": [[1, 2]]}
    broker.answer = {"resultTable": table}
    answer = viewer.post("/console/query/csv/", {"sql": "q"})
    assert answer.getvalue().decode().splitlines() == [f"'{alias},b", "1,2"]


def test_a_name_of_a_file_ends_no_header() -> None:
    response = csv_response('a"; x="\r\nSet-Cookie: a=b', ["a"], [])
    assert "Set-Cookie" not in response.headers
    assert "\n" not in response["Content-Disposition"]


def test_the_csv_of_a_wrong_query_is_an_error_page(viewer: Client, broker: FakeBroker) -> None:
    broker.answer = {"exceptions": [{"errorCode": 150, "message": "bad"}]}
    assert viewer.post("/console/query/csv/", {"sql": "q"}).status_code == 400


def test_the_page_of_a_query_cancels_it(viewer: Client, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    answered, stopped = broker.query, []

    def while_cancelled(sql: str) -> dict[str, object]:
        cancelled = viewer.post("/console/query/cancel/", {"sql": sql, "query": "4f1c"})
        stopped.append((cancelled.status_code, stopping.current().is_set))
        return answered(sql)

    monkeypatch.setattr(broker, "query", while_cancelled)
    page = viewer.get("/console/query/").content.decode()
    assert 'id="cancel-query"' in page
    assert 'name="query"' in page
    viewer.post("/console/query/", {"sql": "select 1", "query": "4f1c"}, headers=HTMX)
    assert stopped == [(204, True)]
    assert viewer.post("/console/query/cancel/", {"sql": "x", "query": "4f1c"}).status_code == 204, "it has ended"


def test_nobody_cancels_the_query_of_another_from_the_page(
    viewer: Client, operator: Client, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = []

    def while_tried(sql: str) -> dict[str, object]:
        operator.post("/console/query/cancel/", {"sql": sql, "query": "4f1c"})
        stopped.append(stopping.current().is_set)
        return {"exceptions": []}

    monkeypatch.setattr(broker, "query", while_tried)
    viewer.post("/console/query/", {"sql": "select 1", "query": "4f1c"}, headers=HTMX)
    assert stopped == [False]


def test_explain_shows_the_plan_as_a_tree(viewer: Client, broker: FakeBroker) -> None:
    schema = {"columnNames": ["Operator", "Operator_Id", "Parent_Id"], "columnDataTypes": ["STRING", "INT", "INT"]}
    rows = [["BROKER_REDUCE(limit: 10)", 1, 0], ["COMBINE_SELECT", 2, 1]]
    broker.answer = {"resultTable": {"dataSchema": schema, "rows": rows}, "exceptions": []}
    sent = {"sql": "set a = 1; select 1 from t", "explain": "yes"}
    text = viewer.post("/console/query/", sent, headers=HTMX).content.decode()
    assert broker.asked == ["set a = 1; EXPLAIN PLAN FOR select 1 from t"]
    assert "BROKER_REDUCE(limit: 10)\n  COMBINE_SELECT</pre>" in text
    assert "<table" not in text


def test_one_thing_is_counted_in_the_singular(viewer: Client, broker: FakeBroker) -> None:
    broker.answer |= {"numDocsScanned": 1, "numSegmentsQueried": 1, "numServersQueried": 2}
    text = viewer.post("/console/query/", {"sql": "select 1 from t"}, headers=HTMX).content.decode()
    for words in ("<b>1</b> row scanned", "<b>1</b> segment queried", "<b>2</b> servers asked"):
        assert words in text
