"""Thousands of columns of a short query, and files of answers that nobody reads, cost a bounded amount."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
import pytest
from django.core.signals import request_finished
from django.db import close_old_connections
from django.test import Client

from segments import wiring
from segments.console.export import csv_response
from segments.console.presenters.queries.answer import Column, present
from segments.console.presenters.queries.files import json_pieces, unique_names
from segments.dataplane.query.rows import PiecewiseRows, as_rows
from segments.expressions.duckdb.compiled import Expr
from segments.expressions.query_errors import QueryRejected
from segments.services.access.query_slots import QuerySlots
from segments.services.queries.running import running_queries
from tests.console.conftest import FakeBroker, broker, viewer, world

__all__ = ["broker", "viewer", "world"]

WIDE = 4_000


def wide(rows: int) -> pa.Table:
    return pa.table({f"s{i}": pa.repeat(pa.scalar(7), rows) for i in range(WIDE)})


def test_pieces_of_a_wide_answer_have_fewer_rows() -> None:
    rows = as_rows(wide(600), [Expr(f"s{i}", "LONG", "k") for i in range(WIDE)])
    assert isinstance(rows, PiecewiseRows)
    assert [len(piece) for piece in rows.pieces()] == [250, 250, 100]
    assert max(text.count(b"7,") for text in json_pieces([Column("k", "LONG")] * WIDE, rows)) <= 1_000_000
    sent = [bytes(piece) for piece in csv_response("a.csv", ["k"] * WIDE, rows)]
    assert (max(map(len, sent)) < 1_100_000, sum(piece.count(b"\n") for piece in sent)) == (True, 601)


def test_the_page_of_a_wide_answer_shows_fewer_rows() -> None:
    schema = {"columnNames": ["k"] * WIDE, "columnDataTypes": ["LONG"] * WIDE}
    found = present({"resultTable": {"dataSchema": schema, "rows": [[7] * WIDE] * 600}})
    assert (len(found.rows), found.total, found.is_partial) == (25, 600, True)


def test_columns_of_one_name_get_names_in_linear_time() -> None:
    began = time.process_time()
    found = unique_names([*[Column("k", "INT")] * WIDE, Column("k_2", "INT"), Column("k", "INT")])
    assert time.process_time() - began < 10, "it was minutes when each name was compared with all others"
    assert [*found[:3], *found[-2:]] == ["k", "k_2", "k_3", "k_2_2", f"k_{WIDE + 1}"]


def give_up(answer: Any) -> None:
    """As when its reader leaves; the database of the test stays open, which a server would close then."""
    request_finished.disconnect(close_old_connections)
    try:
        answer.close()
    finally:
        request_finished.connect(close_old_connections)


@pytest.mark.parametrize("wanted", ["csv", "json", "parquet"])
def test_a_file_takes_its_persons_turn_until_it_is_sent_or_given_up(
    viewer: Client, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    slots = QuerySlots(10, 1, patience_s=0.0)
    monkeypatch.setattr(wiring, "query_slots", lambda: slots)
    asked = {"sql": "select carrier, n from flights", "format": wanted}
    unread = viewer.post("/console/query/export/", asked)
    assert viewer.post("/console/query/export/", asked).status_code == 429
    give_up(unread)
    sent = viewer.post("/console/query/export/", asked)
    assert sent.getvalue()
    assert viewer.post("/console/query/csv/", asked).status_code == 200


def test_a_file_that_is_being_sent_can_be_cancelled(viewer: Client, broker: FakeBroker) -> None:
    answer = viewer.post("/console/query/csv/", {"sql": "select carrier, n from flights", "query": "4f1c"})
    running = next(q for q in running_queries().all_of(wiring.context().cluster) if q.client_id == "4f1c")
    running.stop.set()
    with pytest.raises(QueryRejected, match="cancelled"):
        answer.getvalue()
    give_up(answer)
