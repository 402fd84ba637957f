"""Runs of sessions as tasks of Pinot: state, outcome, numbers and sub-tasks of the last run and of those before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from segments.domain.ingestion.session import (
    FileCounts,
    FileRecord,
    FileState,
    Fingerprint,
    IngestionSession,
    Run,
    SessionState,
)
from segments.domain.ingestion.task_runs import (
    Outcome,
    TaskRun,
    counts,
    debug_info,
    runs_of,
    subtask_progress,
    worker_of,
    worker_state,
)

BEGAN = 1_760_000_000_000
EARLIER = Run(0, "task-0", BEGAN, ok=1, failed=2)
LAST = Run(1, "task-1", BEGAN + 60_000, ok=2, failed=1)


def runs(*, last: Run = LAST, **fields: Any) -> tuple[TaskRun, TaskRun]:
    """The first and the last run of a session that waits for a trigger; one file of three failed."""
    session = IngestionSession(
        "cp_1_a", SessionState.IN_PROGRESS, "APPEND", False, True, BEGAN, "hash", "/in", "ann",
        counts=FileCounts(3, done=2, failed=1), updated_ms=BEGAN + 90_000, runs=(EARLIER, last),
    )  # fmt: skip
    session = replace(session, **fields)
    first, second = runs_of("t_OFFLINE", [session])
    return first, second


def file(uri: str, state: FileState, **more: Any) -> FileRecord:
    return FileRecord(uri, Fingerprint(1, 10), state, **more)


def test_only_the_run_whose_task_is_under_way_is_running() -> None:
    before, now = runs(task="task-1", owner="host:7:abc")
    assert (before.is_running, now.is_running) == (False, True)
    assert (before.state, now.state) == ("COMPLETED", "IN_PROGRESS")
    assert (worker_of(before), worker_of(now)) == ("", "host:7")
    assert not runs(task="task-1", end_reason="CANCELLED")[1].is_running


@pytest.mark.parametrize(
    ("fields", "states", "outcomes"),
    [
        ({}, ("COMPLETED", "COMPLETED"), ("PARTIALLY_FAILED", "PARTIALLY_FAILED")),
        ({"end_reason": "CANCELLED"}, ("COMPLETED", "ABORTED"), ("PARTIALLY_FAILED", "ABORTED")),
        ({"task": "task-1"}, ("COMPLETED", "IN_PROGRESS"), ("PARTIALLY_FAILED", "RUNNING")),
        # Not a file but the run itself went wrong: the last one only, while the session is open.
        (
            {"error": "Spark is gone.", "counts": FileCounts(3, done=2, pending=1)},
            ("COMPLETED", "FAILED"),
            ("PARTIALLY_FAILED", "FAILED"),
        ),
        ({"error": "3 rows are bad.", "counts": FileCounts(3, done=2, failed=1)}, ("COMPLETED", "COMPLETED"), None),
        (
            {"error": "A note.", "counts": FileCounts(3, done=3), "state": SessionState.DONE},
            ("COMPLETED", "COMPLETED"),
            None,
        ),
    ],
)
def test_states_and_outcomes_of_the_last_run_are_the_sessions_and_of_earlier_ones_their_own(
    fields: dict[str, Any], states: tuple[str, str], outcomes: tuple[str, str] | None
) -> None:
    first, last = runs(**fields)
    assert (first.state, last.state) == states
    if outcomes is not None:
        assert (first.outcome.value, last.outcome.value) == outcomes


@pytest.mark.parametrize(
    ("ok", "failed", "outcome"),
    [(3, 0, Outcome.SUCCEEDED), (2, 1, Outcome.PARTIALLY_FAILED), (0, 1, Outcome.FAILED), (0, 0, Outcome.SUCCEEDED)],
)
def test_a_run_failed_when_nothing_of_it_is_ready(ok: int, failed: int, outcome: Outcome) -> None:
    assert runs(last=Run(1, "task-1", BEGAN, ok, failed))[1].outcome is outcome


def test_when_a_run_ended_is_known_of_the_last_one_only() -> None:
    first, last = runs()
    assert (first.finished_ms, last.finished_ms) == (None, BEGAN + 90_000)
    assert runs(end_ms=BEGAN + 99_000)[1].finished_ms == BEGAN + 99_000
    assert runs(task="task-1")[1].finished_ms is None
    assert runs(updated_ms=0)[1].finished_ms is None


def test_numbers_of_the_last_run_are_those_of_the_files_and_of_earlier_runs_what_they_left() -> None:
    first, last = runs(counts=FileCounts(9, done=4, failed=1, pending=2, dropped=1, deferred=1))
    assert {k: n for k, n in counts(first).items() if n} == {"total": 3, "completed": 1, "error": 2}
    expected = {"total": 9, "completed": 4, "error": 1, "waiting": 3, "dropped": 1}
    assert {k: n for k, n in counts(last).items() if n} == expected
    listed = [file("a", FileState.RUNNING), file("b", FileState.SKIPPED), file("c", FileState.DEFERRED)]
    found = counts(last, listed)
    assert {k: n for k, n in found.items() if n} == {"total": 3, "running": 1, "completed": 1, "waiting": 1}
    assert not any(counts(last, []).values())


def test_sub_tasks_and_error_of_a_session_are_its_last_runs() -> None:
    files = [file("a", FileState.DONE, rows=3), file("b", FileState.FAILED, error="No.", line=7, attempts=2)]
    first, last = runs(error="1 of 2 files failed.")
    before, now = (debug_info(run, files, {}, shows_all=False) for run in (first, last))
    assert (before["subtaskInfos"], "error" in before, before["subtaskCount"]["total"]) == ([], False, 3)
    assert [t["taskId"] for t in now["subtaskInfos"]] == ["task-1_1"]
    assert now["error"] == "1 of 2 files failed."
    assert now["subtaskInfos"][0]["info"] == "Failed after 2 attempts, line 7: No."
    assert len(debug_info(last, files, {}, shows_all=True)["subtaskInfos"]) == 2


def test_a_sub_task_that_has_not_begun_has_no_state_and_no_words() -> None:
    (waiting,) = debug_info(runs()[1], [file("a", FileState.PENDING)], {}, shows_all=False)["subtaskInfos"]
    assert not {"state", "info"} & waiting.keys()


def test_times_that_are_not_known_are_left_out() -> None:
    info = debug_info(runs(last=Run(1, "task-1", 0), updated_ms=0)[1], [], {}, shows_all=True)
    assert not {"startTime", "finishTime"} & info.keys()


@pytest.mark.parametrize(
    ("record", "words", "state"),
    [
        (file("a", FileState.PENDING), "No worker has run this subtask", None),
        (file("a", FileState.DEFERRED), "No worker has run this subtask", None),
        (file("a", FileState.RUNNING), "RUNNING: 0 rows, 0 bytes", "IN_PROGRESS"),
        (file("a", FileState.BUILT, rows=1, bytes=20), "BUILT: 1 row, 20 bytes", "SUCCEEDED"),
        (file("a", FileState.DONE, bad_rows=2), "DONE: 0 rows, 0 bytes; 2 rows do not fit", "SUCCEEDED"),
        (file("a", FileState.FAILED, error="No.", attempts=1), "Failed after 1 attempt: No.", "ERROR"),
        (file("a", FileState.DROPPED), "DROPPED: 0 rows, 0 bytes", "CANCELLED"),
    ],
)
def test_a_file_says_how_far_it_is(record: FileRecord, words: str, state: str | None) -> None:
    assert (subtask_progress(record), worker_state(record)) == (words, state)
