"""What the query page offers: tables and columns that the person may read, words, formatting, files."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from django.test import Client

from segments.dataplane.query.sql.formatted import MAX_CHARACTERS, formatted_sql
from segments.expressions.query_errors import QueryRejected
from segments.models import Grant
from tests.console.conftest import FakeBroker, logged_in
from tests.factories import CLUSTER, make_table

SCHEMA = {
    "dimensionFieldSpecs": [
        {"name": "carrier", "dataType": "STRING"},
        {"name": "tags", "dataType": "STRING", "singleValueField": False},
    ]
}


def test_the_side_lists_tables_and_columns_with_their_types(viewer: Client) -> None:
    make_table("flights_OFFLINE", schema=SCHEMA)
    make_table("flights_REALTIME", schema=SCHEMA)
    assert viewer.get("/console/query/columns/?q=LIGHT").json() == {"tables": ["flights"], "hasMore": False}
    assert viewer.get("/console/query/columns/?q=nothing").json()["tables"] == []
    found = viewer.get("/console/query/columns/?table=flights").json()["columns"]
    assert [(c["name"], c["type"]) for c in found] == [("carrier", "STRING"), ("tags", "STRING[]")]
    assert viewer.get("/console/query/columns/?table=flights_OFFLINE").json()["columns"] == found


@pytest.mark.usefixtures("db")
def test_who_may_not_read_a_table_learns_nothing_of_it(settings: Any) -> None:
    settings.READ_BY_GRANT = True
    make_table("open_OFFLINE", schema=SCHEMA)
    make_table("secret_OFFLINE", schema=SCHEMA)
    client = logged_in("vera")
    Grant.objects.create(user=User.objects.get(username="vera"), right="read", cluster=CLUSTER, tables="open")
    assert client.get("/console/query/columns/?q=e").json()["tables"] == ["open"]
    assert client.get("/console/query/columns/?table=secret").json() == {"columns": []}
    assert "secret" not in client.get("/console/query/").content.decode()


def test_the_page_holds_functions_for_the_completion(viewer: Client) -> None:
    text = viewer.get("/console/query/").content.decode()
    for word in ('"dateTrunc"', '"sum"', '"distinctCountHLL"', '"LEFT JOIN"'):
        assert word in text


@pytest.mark.parametrize(
    ("sql", "lines"),
    [
        (
            "select a,Sum(b) from t where x='it''s' group by a",
            "SELECT|  a,|  Sum(b)|FROM t|WHERE|  x = 'it''s'|GROUP BY|  a",
        ),
        ("set a=1; select 1 from t option(b=2)", "set a=1;|SELECT|  1|FROM t|option(b=2)"),
        ("select * from t limit 10, 5;", None),
        ("select `a b`, $docId from t order by a desc", None),
    ],
)
def test_formatting_keeps_the_meaning(sql: str, lines: str | None) -> None:
    found = formatted_sql(sql)
    if lines is not None:
        assert found.split("\n") == lines.split("|")
    assert formatted_sql(found) == found


@pytest.mark.parametrize(
    "sql",
    [
        "selec 1", "select 1 from t; select 2 from t", "", "drop table t", "x" * (MAX_CHARACTERS + 1),
        f"select {','.join('a' * 6000)} from t",
    ],
)  # fmt: skip
def test_what_cannot_be_formatted_is_refused(sql: str) -> None:
    with pytest.raises(QueryRejected):
        formatted_sql(sql)


def test_the_page_formats_and_runs_nothing(viewer: Client, broker: FakeBroker) -> None:
    answer = viewer.post("/console/query/format/", {"sql": "select a from t"})
    assert answer.json() == {"sql": "SELECT\n  a\nFROM t"}
    refused = viewer.post("/console/query/format/", {"sql": "selec"})
    assert (refused.status_code, "message" in refused.json()) == (400, True)
    assert viewer.post("/console/query/format/", {"sql": " "}).status_code == 400
    assert broker.asked == []


def test_an_answer_is_downloaded_as_json_and_as_parquet(viewer: Client, broker: FakeBroker) -> None:
    schema = {
        "columnNames": ["k", "k", "x", "tags", "ts"],
        "columnDataTypes": ["INT", "LONG", "DOUBLE", "STRING_ARRAY", "TIMESTAMP"],
    }
    rows = [[1, 2, "NaN", ["a"], "2013-01-01 00:00:00.0"], [None, 3, 1.5, [], None]]
    broker.answer = {"resultTable": {"dataSchema": schema, "rows": rows}, "exceptions": []}
    answer = viewer.post("/console/query/export/", {"sql": "q", "format": "json"})
    assert "result.json" in answer["Content-Disposition"]
    found = json.loads(answer.getvalue())
    assert found[0] == {"k": 1, "k_2": 2, "x": "NaN", "tags": ["a"], "ts": "2013-01-01 00:00:00.0"}
    answer = viewer.post("/console/query/export/", {"sql": "q", "format": "parquet"})
    table = pq.read_table(io.BytesIO(answer.getvalue()))
    assert table.column("k_2").to_pylist() == [2, 3]
    assert table.column("x").to_pylist()[1] == 1.5
    assert table.column("tags").to_pylist() == [["a"], []]
    csv = viewer.post("/console/query/export/", {"sql": "q", "format": "csv"})
    assert csv.getvalue().decode().splitlines()[0] == "k,k,x,tags,ts"
    assert viewer.post("/console/query/export/", {"sql": "q", "format": "exe"}).status_code == 400


def test_an_answer_without_rows_is_a_file_without_rows(viewer: Client, broker: FakeBroker) -> None:
    broker.answer = {"resultTable": {"dataSchema": {"columnNames": ["k"], "columnDataTypes": ["INT"]}, "rows": []}}
    assert json.loads(viewer.post("/console/query/export/", {"sql": "q", "format": "json"}).getvalue()) == []
    answer = viewer.post("/console/query/export/", {"sql": "q", "format": "parquet"})
    assert pq.read_table(io.BytesIO(answer.getvalue())).num_rows == 0


def test_a_join_gets_no_limit_so_none_is_reported(viewer: Client, broker: FakeBroker) -> None:
    broker.answer = {
        "resultTable": {"dataSchema": {"columnNames": ["k"], "columnDataTypes": ["INT"]}, "rows": [[1]] * 10}
    }
    answer = viewer.post("/console/query/", {"sql": "select a.k from t a join u b on a.k = b.k"})
    assert "LIMIT 10 was added" not in answer.content.decode()


def test_no_file_is_made_of_an_answer_that_is_not_whole(viewer: Client, broker: FakeBroker) -> None:
    """A Pinot whose servers did not all answer gives the rows of the others."""
    broker.answer = {
        "resultTable": {"dataSchema": {"columnNames": ["k"], "columnDataTypes": ["INT"]}, "rows": [[1]]},
        "exceptions": [{"errorCode": 427, "message": "2 servers not responded"}],
    }
    answer = viewer.post("/console/query/export/", {"sql": "q", "format": "csv"})
    assert answer.status_code == 400
    assert "not whole" in answer.content.decode()
    assert "2 servers not responded" in answer.content.decode()


def test_a_file_writes_truth_as_the_page_does(viewer: Client, broker: FakeBroker) -> None:
    schema = {"columnNames": ["ok", "n"], "columnDataTypes": ["BOOLEAN", "LONG"]}
    broker.answer = {"resultTable": {"dataSchema": schema, "rows": [[True, 1 << 60], [False, None]]}}
    answer = viewer.post("/console/query/export/", {"sql": "q", "format": "csv"})
    assert answer.getvalue().decode().splitlines() == ["ok,n", f"true,{1 << 60}", "false,"]
