"""Large answers go out piece by piece over a real socket, and queries at once are bounded by user and in all."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pinotadmin import handler
from segments import wiring
from segments.api.queries.answer_stream import AnswerPieces
from segments.dataplane.query.merge import ResultTable
from segments.dataplane.query.response import broker_response
from segments.dataplane.query.rows import PIECE, PiecewiseRows, as_rows
from segments.dataplane.stopping import Stop
from segments.errors import TooManyRequests
from segments.expressions.duckdb.compiled import Expr
from segments.services.access.query_slots import QuerySlots
from tests.api.cluster import ApiCluster
from tests.security.sizes.test_bodies import ROOT, Web
from tests.waiting import wait_until

ROWS = 5 * PIECE + 7
SELECT = (Expr("s0", "LONG", "n"), Expr("s1", "STRING", "city"), Expr("s2", "TIMESTAMP", "at"))


def columns(rows: int) -> pa.Table:
    return pa.table(
        {
            "s0": pa.array(range(rows), pa.int64()),
            "s1": pa.array(["Oslo"] * rows),
            "s2": pa.array([0] * rows, pa.int64()),
        }
    )


class LargeBroker:
    """Answers every query with very many rows."""

    def query(self, sql: str, options: Mapping[str, str]) -> dict[str, Any]:
        return broker_response(
            ResultTable(["n", "city", "at"], ["LONG", "STRING", "TIMESTAMP"], as_rows(columns(ROWS), SELECT))
        )


@pytest.fixture
def web(tmp_path: Path, transactional_db: None, settings: Any) -> Iterator[Web]:
    settings.ALLOWED_HOSTS = ["*"]
    made = ApiCluster(tmp_path)
    with wiring.use(made.ctx, LargeBroker()):
        made.create()
        served = Web()
        yield served
        served.close()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/query/sql", b'{"sql": "select 1"}'),
        ("GET", "/sql?sql=select+1", b""),
        ("POST", "/sql", b'{"sql": "' + b"x" * 70_000 + b'"}'),
    ],
)
def test_a_large_answer_comes_whole_in_pieces(web: Web, method: str, path: str, body: bytes) -> None:
    status, headers, said = web.ask(method, path, body, Content_Length=str(len(body)), Authorization=ROOT)
    assert (status, headers["transfer-encoding"]) == (200, "chunked")
    assert said["numRowsResultSet"] == len(said["resultTable"]["rows"]) == ROWS
    assert said["resultTable"]["rows"][-1] == [ROWS - 1, "Oslo", "1970-01-01 00:00:00.0"]
    assert said["resultTable"]["dataSchema"]["columnNames"] == ["n", "city", "at"]


def test_whoever_does_not_read_an_answer_is_cut_off_and_holds_no_slot(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "STALLED_S", 0.3)
    slots = QuerySlots(10, 1, patience_s=0.0)
    monkeypatch.setattr(wiring, "query_slots", lambda: slots)
    body = b'{"sql": "select 1"}'
    with closing(web.begin("POST", "/query/sql", body, Content_Length=str(len(body)), Authorization=ROOT)):
        wait_until(lambda: slots._count == 1 or None, 20)
        wait_until(lambda: slots._count == 0, 20)


def test_an_answer_costs_the_memory_of_a_few_of_its_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segments.dataplane.query.rows.PIECE", 1000)  # what is traced is slow
    answer = broker_response(
        ResultTable(["n", "city", "at"], ["LONG", "STRING", "TIMESTAMP"], as_rows(columns(20_000), SELECT))
    )
    rows = answer["resultTable"]["rows"]
    sizes, peaks = [], []
    tracemalloc.start()
    for piece in AnswerPieces(answer, rows, ExitStack(), Stop()):
        sizes.append(len(piece))
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert len(sizes) > 20
    # One piece as Python values and as text is some 0.4 MB; all of them would be 8.
    assert max(peaks) < 2_000_000
    # Threads of other tests may be at work, too.
    assert max(peaks) - peaks[3] < 1_000_000, "it does not grow with the answer"


def test_no_more_pieces_are_made_than_their_reader_takes(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    made, before = [], PiecewiseRows.pieces

    def counted(self: PiecewiseRows) -> Iterator[Any]:
        for piece in before(self):
            made.append(len(piece))
            yield piece

    monkeypatch.setattr(PiecewiseRows, "pieces", counted)
    monkeypatch.setattr("tests.security.sizes.test_large_answers.ROWS", 300 * PIECE)
    body = b'{"sql": "select 1"}'
    with closing(web.begin("POST", "/query/sql", body, Content_Length=str(len(body)), Authorization=ROOT)) as reader:
        reader.recv(1000)
        seen = wait_until(lambda: stays(made), 20)
        assert 0 < seen < 100, "the rest waits for the reader"
    assert wait_until(lambda: stays(made), 20) < 110, "nor are they made for one who has left"


def stays(made: list[int]) -> int | None:
    """How many there are, once no more come for a moment."""
    count = len(made)
    threading.Event().wait(0.3)
    return count if count == len(made) else None


def test_only_one_piece_of_the_rows_is_made_at_a_time() -> None:
    rows = PiecewiseRows(columns(ROWS), SELECT)
    pieces = [len(p) for p in rows.pieces()]
    assert pieces == [PIECE] * 5 + [7]
    assert (len(rows), rows[3], rows[-1][0], [r[0] for r in rows[2:4]], rows[ROWS:]) == (
        ROWS,
        [3, "Oslo", rows[0][2]],
        ROWS - 1,
        [2, 3],
        [],
    )
    assert [r[0] for r in rows[0:10:4]] == [0, 4, 8]
    assert isinstance(as_rows(columns(PIECE), SELECT), list)


def test_a_slot_comes_back_when_an_answer_is_never_read() -> None:
    slots, held = QuerySlots(1, 1, patience_s=0.0), ExitStack()
    held.enter_context(slots.slot("ann"))
    answer = broker_response(ResultTable(["n"], ["LONG"], PiecewiseRows(columns(5), SELECT)))
    AnswerPieces(answer, PiecewiseRows(columns(5), SELECT), held, Stop()).close()
    with slots.slot("ann"):
        pass


def test_queries_at_once_are_bounded_by_user_and_in_all() -> None:
    slots = QuerySlots(in_all=3, per_user=2, patience_s=0.0)
    with slots.slot("ann"), slots.slot("ann"):
        with pytest.raises(TooManyRequests, match="2 of 'ann', 2 in all") as refused, slots.slot("ann"):
            pass
        assert refused.value.data["retry_after_s"] == 1
        with slots.slot("bob"), pytest.raises(TooManyRequests), slots.slot("eve"):
            pass
    with slots.slot("ann"):
        pass


def test_who_comes_beyond_waits_for_a_slot_first() -> None:
    slots, entered = QuerySlots(1, 1, patience_s=20.0), threading.Event()

    def second() -> None:
        with suppress(TooManyRequests), slots.slot("ann"):
            entered.set()

    with slots.slot("ann"):
        thread = threading.Thread(target=second)
        thread.start()
        assert not entered.is_set()
    thread.join(20)
    assert entered.is_set()
