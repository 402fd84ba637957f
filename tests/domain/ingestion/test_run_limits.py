"""Limits of one run: a trigger reads a run's worth, leaves the rest to the next ones, and none of these is a retry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from segments.domain.ingestion.run_limits import left_sentence, limited
from segments.domain.ingestion.session import FileRecord, FileState, Fingerprint, SessionState
from tests.domain.ingestion.model_table import ModelTable, task

MODES = {
    "APP": {"consistentPushEnabled": "true"},
    "SYN": {"consistentPushEnabled": "true", "ingestionMode": "SYNC"},
    "SWP": {"consistentPushSwapEnabled": "true"},
}
PENDING, DEFERRED = FileState.PENDING, FileState.DEFERRED


def of(*sizes: int, **attempts: int) -> list[FileRecord]:
    """Files a, b, c... of these sizes."""
    names = "abcdefgh"[: len(sizes)]
    return [
        FileRecord(n, Fingerprint(1, size), attempts=attempts.get(n, 0)) for n, size in zip(names, sizes, strict=True)
    ]


def read(files: list[FileRecord], **keys: Any) -> str:
    """Which of them a run reads."""
    after = limited(task(**MODES["SWP"], **keys), files)
    assert [f.uri for f in after] == [f.uri for f in files]
    assert {f.state for f in after} <= {PENDING, DEFERRED}
    return "".join(f.uri for f in after if f.state is PENDING)


def test_a_task_without_limits_reads_everything() -> None:
    assert read(of(1, 2, 3)) == "abc"
    assert read(of(1, 2, 3), runMaxNumFiles=-1, runMaxNumTasks=-1) == "abc"


@pytest.mark.parametrize(("most", "names"), [(1, "a"), (2, "ab"), (3, "abc"), (9, "abc")])
def test_a_run_reads_as_many_files_as_it_may(most: int, names: str) -> None:
    assert read(of(1, 1, 1), runMaxNumFiles=most) == names


@pytest.mark.parametrize(("most", "names"), [(1, "a"), (10, "a"), (14, "a"), (15, "ab"), (16, "abc")])
def test_a_run_reads_as_many_bytes_as_it_may_but_one_file_at_least(most: int, names: str) -> None:
    assert read(of(10, 5, 1), runMaxDataSize=most) == names


@pytest.mark.parametrize(
    ("sizes", "keys", "names"),
    [
        ((1, 1, 1), {"runMaxNumTasks": 2}, "ab"),
        ((1, 1, 1, 1, 1), {"runMaxNumTasks": 2, "taskMaxNumFiles": 2}, "abcd"),
        ((9, 9, 9, 1), {"runMaxNumTasks": 2, "taskMaxNumFiles": 4, "taskMaxDataSize": "10"}, "ab"),
        ((9, 1, 9, 1, 1), {"runMaxNumTasks": 2, "taskMaxNumFiles": 4, "taskMaxDataSize": "10"}, "abcd"),
        ((30, 1), {"runMaxNumTasks": 3, "taskMaxDataSize": "10"}, "a"),
        ((30, 1), {"runMaxNumTasks": 4, "taskMaxDataSize": "10"}, "ab"),
        ((31, 1), {"runMaxNumTasks": 4, "taskMaxDataSize": "10"}, "a"),
        ((5, 1), {"runMaxNumTasks": 1, "taskMaxNumFiles": 2, "taskMaxDataSize": "1"}, "a"),
    ],
)
def test_a_run_has_as_many_tasks_as_it_may(sizes: tuple[int, ...], keys: dict[str, Any], names: str) -> None:
    assert read(of(*sizes), **keys) == names


def test_compressed_files_count_as_the_tasks_that_their_rows_need() -> None:
    packed = [replace(f, uri=f"{f.uri}.gz") for f in of(10, 10)]
    assert read(packed, runMaxNumTasks=11, taskMaxDataSize="10") == "a.gz"
    assert read(packed, runMaxNumTasks=12, taskMaxDataSize="10") == "a.gzb.gz"


def test_files_that_were_tried_before_come_first() -> None:
    assert read(of(1, 1, 1, c=2), runMaxNumFiles=2) == "ac"


def test_what_is_built_failed_or_gone_takes_no_room() -> None:
    states = (FileState.BUILT, FileState.FAILED, FileState.DROPPED, PENDING, PENDING)
    files = [replace(f, state=state) for f, state in zip(of(1, 1, 1, 1, 1), states, strict=True)]
    after = limited(task(**MODES["SWP"], runMaxNumFiles=1), files)
    assert [f.state for f in after] == [*states[:4], DEFERRED]


def test_a_sentence_says_what_is_left() -> None:
    assert left_sentence(1, 0) == ""
    assert left_sentence(1, 1200).startswith("This run reads 1 file and leaves 1,200 to the next triggers")


def of_five(mode: str, **keys: Any) -> ModelTable:
    table = ModelTable(task(**MODES[mode], runMaxNumFiles=2, **keys))
    for number in range(1, 6):
        table.put(f"F{number}", number * 10)
    return table


@pytest.mark.parametrize("mode", MODES)
def test_a_session_extends_over_triggers_and_switches_once(mode: str) -> None:
    table = of_five(mode)
    assert [table.trigger() for _ in range(3)] == ["begin", "goes on", "goes on"]
    assert table.read == [["F1", "F2"], ["F3", "F4"], ["F5"]]
    assert table.session is not None
    assert (table.session.state, table.session.retry_count, table.session.id) == (SessionState.DONE, 0, "cp_1")
    assert (table.vis, len(table.switches)) == (150, 1)
    assert table.trigger() == "idle"


def test_nothing_is_visible_before_the_last_run() -> None:
    table = of_five("APP")
    table.trigger()
    table.trigger()
    assert (table.vis, table.switches) == (0, [])


def test_between_runs_the_folder_may_change() -> None:
    table = of_five("SYN")
    table.trigger()
    table.put("F1", 11)  # built: stays as it was read
    table.put("F3", 33)
    del table.folder["F4"]
    table.put("F6", 60)
    table.trigger()
    assert table.read[1] == ["F3", "F5"]
    table.trigger()
    assert (table.read[2], table.vis) == (["F6"], 10 + 20 + 33 + 50 + 60)
    table.trigger()
    assert (table.read[3], table.vis) == (["F1"], 11 + 20 + 33 + 50 + 60)


def test_a_run_of_which_a_file_fails_is_followed_by_a_retry_that_reads_it_first() -> None:
    table = of_five("APP", consistentPushMaxRetries=1)
    table.bad = {"F2"}
    table.trigger()
    table.bad = set()
    assert table.trigger() == "retry"
    assert table.read[1] == ["F2", "F3"]
    assert [table.trigger(), table.vis] == ["goes on", 150]
    assert table.session is not None
    assert table.session.retry_count == 1


def test_without_retries_a_failed_file_begins_the_session_again() -> None:
    table = of_five("APP")
    table.bad = {"F3"}
    table.trigger()
    assert table.trigger() == "goes on"
    assert table.trigger() == "begin after RETRIES_EXHAUSTED"


def test_a_run_that_stopped_before_its_files_were_read_is_followed_by_a_retry() -> None:
    table = of_five("APP", consistentPushMaxRetries=1)
    table.trigger(run=False)
    assert table.session is not None
    table.session = table.session.changed(table.now_ms, task="", error="The store gave nothing.")
    assert table.trigger() == "retry"
    assert table.read[1] == ["F1", "F2"]
