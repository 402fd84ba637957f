"""Minion tasks from what controllers say of them."""

from __future__ import annotations

from typing import Any

import pytest

from segments.domain.pinot.minion_tasks import (
    NOT_REPORTED,
    ReportedTime,
    asked_for,
    count_states,
    newest_first,
    reported_time,
    task_of,
    task_of_states,
)

DEBUG: dict[str, Any] = {
    "taskState": "COMPLETED",
    "subtaskCount": {"total": 3, "completed": 1, "running": 0, "waiting": 0, "error": 1, "unknown": 0, "aborted": 1},
    "startTime": "2026-11-21 21:24:59 UTC",
    "executionStartTime": "2026-11-21 21:25:00 UTC",
    "subtaskInfos": [
        {
            "taskId": "T_0",
            "state": "COMPLETED",
            "finishTime": "2026-11-21 21:26:00 UTC",
            "participant": "Minion_a_9514",
        },
        {
            "taskId": "T_1",
            "state": "TASK_ERROR",
            "finishTime": "2026-11-21 21:27:00 UTC",
            "info": "disk full",
            "taskConfig": {"taskType": "MergeRollupTask", "configs": {"tableName": "t_OFFLINE"}},
        },
        {"taskId": "T_2", "state": "TASK_ABORTED", "info": "disk full"},
    ],
}


def test_a_task_with_failed_sub_tasks_reports_their_errors_although_pinot_calls_it_completed() -> None:
    task = task_of("T", "IN_PROGRESS", DEBUG)
    assert (task.state, task.total, task.completed, task.failed) == ("COMPLETED", 3, 1, 2)
    assert (task.errors, task.tables) == (("disk full",), ("t_OFFLINE",))
    assert task.is_final


def test_when_it_finished_is_taken_from_the_last_sub_task_where_the_task_does_not_report() -> None:
    assert task_of("T", "", DEBUG).finished.text == "2026-11-21 21:27:00 UTC"
    assert (
        task_of("T", "", {**DEBUG, "finishTime": "2026-11-21 21:30:00 UTC"}).finished.text == "2026-11-21 21:30:00 UTC"
    )
    assert not task_of("T", "", {**DEBUG, "taskState": "IN_PROGRESS"}).finished


@pytest.mark.parametrize("odd", [None, [], "nonsense", {"subtaskCount": 5, "subtaskInfos": [1, None]}])
def test_an_answer_that_is_none_is_a_task_without_details(odd: Any) -> None:
    task = task_of("T", "FAILED", odd)
    assert (task.state, task.total, task.subtasks) == ("FAILED", None, ())


def test_states_of_sub_tasks_are_counted_where_nothing_else_is_reported() -> None:
    task = task_of_states(
        "T", "IN_PROGRESS", {"T_10": "RUNNING", "T_2": "TASK_ERROR", "T_1": "COMPLETED", "T_3": "INIT"}, "why"
    )
    assert [s.name for s in task.subtasks] == ["T_1", "T_2", "T_3", "T_10"]
    assert (task.total, task.completed, task.running, task.failed, task.waiting, task.note) == (4, 1, 1, 1, 1, "why")
    assert task_of_states("T", "FAILED", "odd", "").total is None


def test_tasks_are_listed_by_the_time_in_their_names() -> None:
    names = ["Task_X_ad-hoc", "Task_X_9f_1795296299225", "Task_X_0a_1795296299999_suffix", "Task_X_1_1695296299225"]
    assert newest_first(names) == [names[2], names[1], names[3], names[0]]
    assert count_states({"a": "FAILED", "b": "COMPLETED", "c": "FAILED"}) == {"COMPLETED": 1, "FAILED": 2}


def test_what_a_table_asks_for_stands_in_its_config() -> None:
    config = {"task": {"taskTypeConfigsMap": {"PurgeTask": {}, "MergeRollupTask": {"schedule": "0 */5 * * * ?"}}}}
    assert asked_for(config) == {"MergeRollupTask": "0 */5 * * * ?", "PurgeTask": ""}
    for odd in (
        None,
        {},
        {"task": None},
        {"task": {"taskTypeConfigsMap": []}},
        {"task": {"taskTypeConfigsMap": {"A": 1}}},
    ):
        assert asked_for(odd) in ({}, {"A": ""})


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("2026-11-21 21:24:59 UTC", ReportedTime(1_795_296_299_000, "2026-11-21 21:24:59 UTC")),
        ("2026-11-21T21:24:59.208Z", ReportedTime(1_795_296_299_208, "2026-11-21T21:24:59.208Z")),
        ("2026-11-21 21:24:59 PST", ReportedTime(None, "2026-11-21 21:24:59 PST")),
        ("2026-11-21 21:24:59", ReportedTime(None, "2026-11-21 21:24:59")),
        (1_795_296_299_208, ReportedTime(1_795_296_299_208)),
        ("", NOT_REPORTED), (None, NOT_REPORTED), (True, NOT_REPORTED),
    ],
)  # fmt: skip
def test_only_a_time_whose_zone_is_certain_is_a_moment(value: Any, told: ReportedTime) -> None:
    assert reported_time(value) == told
