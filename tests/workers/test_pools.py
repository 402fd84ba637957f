"""The table of pools and tasks, and the problem of a pool that does not work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from celery import current_app
from django_celery_beat.models import PeriodicTask

from segments import tasks
from segments.domain.jobs.workers.pools import LONG_SLOTS, ON_DEMAND, PASSES, POOLS, PUSHES, REPAIRS
from segments.domain.jobs.workers.state import Running, Seen, judge
from segments.services.upkeep import passes
from segments.services.upkeep.periodic_passes import CONSUMPTION, DECLARED, rules
from segments.services.upkeep.schedules import ensure_schedules

NOW = 1_000_000_000
RULES = rules()
BACKEND_CLEANUP = "celery.backend_cleanup"
UNITS = {"hours": "h", "minutes": "min", "seconds": "s"}
RUN_PUSH = (
    "a push, stage by stage; an attempt that takes longer is given up and the push resumed, or reverted after four"
    " attempts"
)
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "operations.md"


def test_every_task_has_its_pool_and_its_longest_time() -> None:
    ours = {name for name in current_app.tasks if name.startswith("segments.")}
    assert ours == set(RULES)
    for name, rule in RULES.items():
        assert current_app.tasks[name].time_limit == rule.limit_s
        assert current_app.tasks[name].pool is rule.pool
        assert current_app.amqp.router.route({}, name)["queue"].name == rule.pool.queue


def test_what_is_declared_is_a_task_a_schedule_and_where_it_has_one_a_name_of_pinots() -> None:
    for one in DECLARED:
        assert tasks.SCHEDULED[one.task].name == f"segments.tasks.{one.task}" in RULES
    assert len({one.task for one in DECLARED}) == len({one.every.title for one in DECLARED}) == len(DECLARED)
    assert set(passes.PASSES) >= {
        "EndJobs", "LineageReaper", "RealtimeConsumerMonitor", "RealtimeSegmentValidationManager", "RetentionManager",
        "SegmentStatusChecker",
    }  # fmt: skip
    assert [one.name for one in passes.PASSES[CONSUMPTION]] == ["consumption", "DeepStoreCopies"]


@pytest.mark.django_db
def test_the_schedules_are_made_from_the_declarations_and_keep_what_an_operator_changed() -> None:
    ensure_schedules(DECLARED)
    rows = {row.name: row for row in PeriodicTask.objects.select_related("interval") if row.name != BACKEND_CLEANUP}
    assert {(r.name, r.task, r.interval.every, r.interval.period, r.description) for r in rows.values()} == {
        (one.every.title, f"segments.tasks.{one.task}", one.every.number, one.every.unit, one.does) for one in DECLARED
    }
    PeriodicTask.objects.filter(name="Lag").update(enabled=False, expire_seconds=5)
    ensure_schedules(DECLARED)
    assert PeriodicTask.objects.filter(name="Lag", enabled=False, expire_seconds=5).count() == 1


def test_tasks_end_before_the_queue_hands_them_out_again() -> None:
    again_s = current_app.conf.broker_transport_options["visibility_timeout"]
    assert all(rule.limit_s < again_s for rule in RULES.values() if rule.pool is not PUSHES)


def test_long_tasks_leave_slots_of_their_pool_to_others() -> None:
    assert PASSES.slots - 2 >= LONG_SLOTS
    for name in ("keep_consumption", "reap_entries", "resume_lost_pushes"):
        assert RULES[f"segments.tasks.{name}"].pool is PASSES
        assert not RULES[f"segments.tasks.{name}"].is_long


def test_the_document_for_operators_has_the_same_table() -> None:
    text = DOCUMENT.read_text()
    assert re.findall(r"^\| `\w+` \| `(?:worker|repairs|passes|validation)` \|.*$", text, flags=re.M) == document_rows()
    for pool in POOLS:
        assert f"| `{pool.name}` | {pool.slots} " in text


def document_rows() -> list[str]:
    """The table of tasks in docs/operations.md."""
    does = {"run_push": RUN_PUSH, "run_periodic": "a pass that somebody started"} | {
        "ingestion_session": "one run of a file ingestion session: reads files, switches",
        "follow_end": "one background end, right after it was requested",
        "on_cluster": "one of these on a Pinot cluster",
        "fire_schedule": "what a table's schedule says is due",
    }
    rows = [(task, rule, "on demand", "", does[task]) for task, rule in ON_DEMAND.items()] + [
        (one.task, one.rule, f"{one.every.number} {UNITS[one.every.unit]}", "yes" if one.on_pinot else "", one.does)
        for one in DECLARED
    ]
    return [
        f"| `{task}` | `{rule.pool.name}` | {every} | {rule.limit_s // 60} min | {pinot or '-'} | {does} |"
        for task, rule, every, pinot, does in rows
    ]


@pytest.mark.parametrize(
    ("pool", "seen", "problem"),
    [
        (PASSES, Seen(NOW, NOW - 9_000_000, NOW - 59_000), ""),
        (PASSES, Seen(), "has never been up"),
        (PASSES, Seen(NOW), ""),
        (PASSES, Seen(NOW - 31_000, NOW - 90_000, NOW - 31_000), "has given no sign of life for 31 s"),
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
