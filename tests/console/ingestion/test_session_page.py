"""The page of a session: where it stands in plain words, files by state, runs; it renews itself and stays quick."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from segments.console.presenters.ingestion.bar_chart import bar_charts
from segments.models import IngestionFile, IngestionSession, Table
from tests.console.test_tables import FRAME
from tests.factories import make_entry, make_files, make_session, make_table

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("world")]
BASE = "/console/tables/flights_OFFLINE/ingestion/"
PAGE = f"{BASE}sessions/cp_1_0a0b0c0d/"


@pytest.fixture
def table() -> Table:
    return make_table()


def text(client: Client, address: str = PAGE) -> str:
    return client.get(address).content.decode()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {},
            ["2 files of 5 failed", "Queries still see the old rows", "reads only 2 files again", "3 retries are left"],
        ),
        ({"retry_count": 2}, ["the last retry"]),
        ({"retry_count": 3}, ["begins again with all files: all retries are used up"]),
        ({"max_retries": 0}, ["begins again with all files: no retry is allowed"]),
        ({"task": "run-1", "files_failed": 0, "files_running": 2}, ["3 of 5 files built", "every 1s"]),
        ({"state": "INIT", "task": "run-1", "files_total": 0}, ["The folder is being listed"]),
        ({"state": "SWITCH", "task": "run-1"}, ["Queries are being switched to them, all at once"]),
        (
            {"state": "SWITCH", "files_failed": 0, "is_blocked": True, "error": "measured 3 rows"},
            [
                "the table&#x27;s checks refuse the switch",
                "tries the switch again and reads no file",
                "measured 3 rows",
            ],
        ),
        ({"state": "SWITCH", "files_failed": 0, "retry_count": 3}, ["begins again with all files", "every 2s"]),
        ({"rows_may_duplicate": 2}, ["2 of its files were ingested before they changed"]),
        ({"state": "DONE", "files_failed": 0}, ["Done: queries see the rows of 5 files"]),
        ({"state": "DONE", "end_reason": "UNDONE"}, ["undone", "Undone: its rows are not visible any more."]),
        ({"end_reason": "RETRIES_EXHAUSTED"}, ["Its retries were used up"]),
        ({"end_reason": "CLEARED", "is_kept": False}, ["Its state was cleared", "This session is history"]),
    ],
)
def test_the_page_says_in_plain_words_where_a_session_stands(
    viewer: Client, table: Table, values: dict[str, Any], words: list[str]
) -> None:
    make_session(table, **values)
    shown = text(viewer)
    for word in words:
        assert word in shown


def test_the_new_side_of_a_blocked_session_is_queried_and_compared_before_one_decides(
    viewer: Client, table: Table
) -> None:
    session = make_session(table, state="SWITCH", files_failed=0, is_blocked=True, entry_id="entry-7")
    assert "Query its new side" not in text(viewer), "its replacement is not there"
    make_entry(table, "entry-7", "IN_PROGRESS")
    shown = text(viewer)
    for words in (
        "SET%20snapshot%3D%27entry-7%3Ato%27",
        f"/console/tables/{table.name}/diff/?from=current&amp;to=entry-7",
    ):
        assert words in shown
    IngestionSession.objects.filter(pk=session.pk).update(state="DONE", is_blocked=False)
    assert "Query its new side" not in text(viewer)


def test_files_that_failed_come_first_with_line_and_error(viewer: Client, table: Table) -> None:
    session = make_session(table)
    make_files(session, "BUILT", "/in/a.csv", "/in/b.csv", rows=1_000)
    make_files(session, "FAILED", "/in/z.csv", error="'<x>' is not an INT.", line=1_204)
    shown = text(viewer)
    assert shown.index("/in/z.csv") < shown.index("/in/a.csv")
    assert "Line 1,204: &#x27;&lt;x&gt;&#x27; is not an INT." in shown


def test_files_are_chosen_by_state_and_address(viewer: Client, table: Table) -> None:
    session = make_session(table)
    make_files(session, "BUILT", "/in/a.csv", "/in/b.csv")
    make_files(session, "SKIPPED", "/in/c.csv")
    assert "/in/a.csv" not in text(viewer, f"{PAGE}?state=SKIPPED")
    assert "/in/c.csv" in text(viewer, f"{PAGE}?state=SKIPPED")
    assert "/in/b.csv" not in text(viewer, f"{PAGE}?q=a.csv")
    assert "/in/a.csv" in text(viewer, f"{PAGE}?state=NONSENSE")


def test_rows_that_do_not_fit_are_listed_below_their_file_and_their_files_can_be_chosen(
    viewer: Client, table: Table
) -> None:
    session = make_session(table, bad_rows=1_204)
    rows = [[1_204, None, "n", "'<x>'", "is not an INT."], [None, 9, "", "", "has no columns."]]
    make_files(session, "DONE", "/in/a.csv", bad_rows=1_204, bad=rows)
    make_files(session, "FAILED", "/in/b.csv")
    shown = text(viewer, f"{PAGE}?state=BAD_ROWS")
    for words in ("1,204 that do not fit", "Line 1,204: ", "&#x27;&lt;x&gt;&#x27;", "Row 9: ", "The first 2 of them"):
        assert words in shown
    assert "/in/b.csv" not in shown
    assert "/in/b.csv" in text(viewer)


def test_the_time_left_follows_from_what_this_run_has_done(viewer: Client, table: Table) -> None:
    session = make_session(table, task="run-2", retry_count=1, files_total=100, files_built=40, files_failed=0,
        files_pending=60)  # fmt: skip
    session.attempts.update(files_ok=20)
    session.attempts.create(number=1, started_at=timezone.now() - timedelta(seconds=20))
    # 20 of this run in 20 s: 60 s for the 60 that are left.
    assert "about 1 min left" in text(viewer) or "about 1 min 0 s left" in text(viewer)


def test_the_live_part_loads_the_page_again_when_the_session_ends(viewer: Client, table: Table) -> None:
    session = make_session(table, task="run-1")
    shown = viewer.get(f"{PAGE}live/?seen=IN_PROGRESS-1-live")
    assert "HX-Refresh" not in shown
    assert 'every 1s"' in shown.content.decode()
    IngestionSession.objects.filter(pk=session.pk).update(state="DONE", task="")
    over = viewer.get(f"{PAGE}live/?seen=IN_PROGRESS-1-live")
    assert over["HX-Refresh"] == "true"
    assert "hx-trigger" not in over.content.decode()


def test_the_table_page_lists_sessions_and_draws_bars(viewer: Client, table: Table) -> None:
    make_session(table, "cp_1_a", state="DONE", files_failed=0, seconds=30.0, started_at="2026-01-01T00:00:00Z")
    make_session(table, "cp_2_a", started_at="2026-01-02T00:00:00Z")
    shown = text(viewer, BASE)
    assert shown.count('<rect class="bar-consumed"') == 2
    assert shown.count('<rect class="bar-failed"') == 2
    for words in ("Seconds per session", "Rows per session", "12 s", "cp_1_a", "Current session"):
        assert words in shown


@pytest.mark.parametrize(("count", "labels"), [(1, 1), (2, 1), (5, 1), (6, 2), (30, 2)])
def test_the_newest_bar_is_labelled_where_that_does_not_cover_the_label_of_the_oldest(count: int, labels: int) -> None:
    rows = [IngestionSession(started_at=timezone.now(), seconds=1.0, rows=1) for _ in range(count)]
    for chart in bar_charts(rows):
        assert (len(chart.bars), len(chart.columns)) == (count, labels)
        assert [tick.text for tick in chart.columns] == [f"{rows[0].started_at:%m-%d %H:%M}"] * labels


def test_a_session_of_another_table_is_not_shown(viewer: Client, table: Table) -> None:
    make_session(make_table("other_OFFLINE"))
    assert viewer.get(PAGE).status_code == 404


def test_a_page_of_ten_thousand_files_is_quick(
    viewer: Client, table: Table, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    session = make_session(table, files_total=10_000, files_built=9_990, files_failed=10)
    IngestionFile.objects.bulk_create(
        [
            IngestionFile(
                session=session, key=f"{n:05}", uri=f"/in/part-{n:05}.csv", state="BUILT" if n % 1_000 else "FAILED"
            )
            for n in range(10_000)
        ]
    )
    with django_assert_max_num_queries(FRAME + 7):
        assert "1 to 50 of 10000" in text(viewer)
    # Meant to be 0.3 s at most on a quiet machine.
    assert min(_seconds(viewer) for _ in range(3)) < 1.5


def _seconds(client: Client) -> float:
    began = time.perf_counter()
    assert client.get(PAGE).status_code == 200
    return time.perf_counter() - began
