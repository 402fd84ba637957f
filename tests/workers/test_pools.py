"""The table of pools and tasks, and what is said of a pool that does not work."""

from __future__ import annotations

from pathlib import Path

import pytest
from celery import current_app

from segments import tasks
from segments.domain.jobs.workers.pools import LONG_SLOTS, PASSES, POOLS, PUSHES, REPAIRS, TASKS
from segments.domain.jobs.workers.state import Running, Seen, judge
from segments.services.upkeep.schedules import DEFAULTS

NOW = 1_000_000_000
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "operations.md"


def test_every_task_has_its_pool_and_its_longest_time() -> None:
    ours = {name for name in current_app.tasks if name.startswith("segments.")}
    assert ours == set(TASKS)
    assert {task for task, *_ in DEFAULTS.values()} <= ours
    for name, rule in TASKS.items():
        assert current_app.tasks[name].time_limit == rule.limit_s
        assert current_app.conf.task_routes[name] == {"queue": rule.pool.queue}
    assert tasks.run_push.name in TASKS


def test_scheduled_tasks_end_before_the_queue_hands_them_out_again() -> None:
    again_s = current_app.conf.broker_transport_options["visibility_timeout"]
    assert all(rule.limit_s < again_s for rule in TASKS.values() if rule.pool is not PUSHES)


def test_long_tasks_leave_slots_of_their_pool_to_others() -> None:
    assert PASSES.slots - 2 >= LONG_SLOTS
    for name in ("keep_consumption", "reap_entries", "resume_lost_pushes"):
        assert TASKS[f"segments.tasks.{name}"].pool is PASSES
        assert not TASKS[f"segments.tasks.{name}"].is_long


def test_the_document_for_operators_has_the_same_table() -> None:
    text = DOCUMENT.read_text()
    for name, rule in TASKS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{name.rpartition('.')[2]}` |"))
        assert f"| `{rule.pool.name}` |" in row
        assert f"| {rule.limit_s // 60} min |" in row
    for pool in POOLS:
        assert f"| `{pool.name}` | {pool.slots} " in text


@pytest.mark.parametrize(
    ("pool", "seen", "problem"),
    [
        (PASSES, Seen(NOW, NOW - 9_000_000, NOW - 59_000), ""),
        (PASSES, Seen(), "has never been up"),
        (PASSES, Seen(NOW), ""),
        (PASSES, Seen(NOW - 31_000, NOW - 90_000, NOW - 31_000), "gives no sign of life since 31 s"),
        (REPAIRS, Seen(NOW, NOW - 601_000, None), "was given nothing to do for 601 s"),
        (
            REPAIRS,
            Seen(NOW, NOW - 999_000, NOW - 625_000, (Running("run_retention", NOW - 624_000, "t_OFFLINE"),)),
            "finished nothing for 625 s; it is at run_retention (t_OFFLINE) for 624 s",
        ),
        (PUSHES, Seen(NOW, NOW - 9_000_000, None, (Running("run_push", NOW - 8_000_000),)), ""),
    ],
)
def test_a_pool_that_does_not_work_is_named_with_what_it_is_at(pool: object, seen: Seen, problem: str) -> None:
    state = judge(pool, seen, NOW)  # type: ignore[arg-type]  # one of the pools
    assert problem in state.problem
    assert state.ok == (problem == "")
    assert state.to_json(NOW)["name"] == state.pool.name
