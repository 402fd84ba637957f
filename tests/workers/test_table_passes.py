"""No task and no pass over a table overlaps itself, and what holds others off goes with its process."""

from __future__ import annotations

import itertools
import threading
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from segments import tasks, wiring
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.jobs.workers.pools import LONG_SLOTS
from segments.models import PassRun
from segments.names import REALTIME, TableName
from segments.request_ids import current_request, request_of_its_own
from segments.services.core.context import SYSTEM, Context
from segments.services.jobs.table_passes import one_of, pass_lock, task_lock
from segments.services.jobs.time_limit import TimeIsUp, within
from segments.services.upkeep import passes
from segments.services.upkeep.pass_declaration import TablePass
from segments.services.upkeep.periodic_passes import rules
from segments.store import paths
from tests.services.world import TABLE, World

RULES = rules()
REAP, VALIDATE = "segments.tasks.reap_entries", "segments.tasks.run_validation"


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    """One table in memory."""
    return replace(World(tmp_path).ctx, new_id=lambda: str(uuid.uuid4()))


@pytest.mark.django_db
def test_a_pass_does_not_go_over_a_table_on_which_it_is_at_work(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = itertools.count()

    def run(_: Context, table: TableName) -> list[str]:
        next(runs)
        return passes.run_pass(ctx, "SegmentStatusChecker", table, SYSTEM)

    monkeypatch.setitem(passes.PASSES, "SegmentStatusChecker", (TablePass("SegmentStatusChecker", run),))
    assert passes.run_pass(ctx, "SegmentStatusChecker", TABLE, SYSTEM) == [
        f"SegmentStatusChecker is at work on {TABLE} already."
    ]
    assert next(runs) == 1
    done = TablePass("SegmentStatusChecker", lambda _ctx, _table: ["done"])
    monkeypatch.setitem(passes.PASSES, "SegmentStatusChecker", (done,))
    assert passes.run_pass(ctx, "SegmentStatusChecker", TABLE, SYSTEM) == ["done"]
    assert PassRun.objects.count() == 3


def test_other_tables_and_other_passes_go_on_meanwhile(ctx: Context) -> None:
    other = TableName("other", REALTIME)
    with (
        pass_lock(ctx, "a", TABLE) as first,
        pass_lock(ctx, "a", other) as second,
        pass_lock(ctx, "b", TABLE) as third,
    ):
        assert (first, second, third) == (True, True, True)


@pytest.mark.django_db
def test_a_scheduled_task_that_finds_itself_at_work_leaves_it_at_that(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segments.tasks._elsewhere", lambda work: None)
    monkeypatch.setitem(tasks._WORK, "reap_entries", lambda ctx: ["reaped"])
    with wiring.use(ctx):
        with task_lock(ctx, REAP, RULES[REAP]) as is_free:
            assert is_free
            assert tasks.SCHEDULED["reap_entries"]() == []
        assert tasks.SCHEDULED["reap_entries"]() == ["reaped"]


def test_long_tasks_never_hold_all_slots(ctx: Context) -> None:
    taken = [one_of(ctx, "long", LONG_SLOTS) for _ in range(LONG_SLOTS)]
    assert all(turn.__enter__() for turn in taken)
    with task_lock(ctx, VALIDATE, RULES[VALIDATE]) as long, task_lock(ctx, REAP, RULES[REAP]) as short:
        assert (long, short) == (False, True)
    taken[0].__exit__(None, None, None)
    with task_lock(ctx, VALIDATE, RULES[VALIDATE]) as long:
        assert long


def test_the_lock_of_a_process_that_was_ended_goes_with_its_session(tmp_path: Path) -> None:
    world = World(tmp_path)
    path = paths.job_lock(f"task {REAP}")
    gone = world.memory.another_client()
    gone.create(path, ZNRecord("of a process that is gone"), ephemeral=True)
    with task_lock(world.ctx, REAP, RULES[REAP]) as is_free:
        assert not is_free
    gone.close()
    with task_lock(world.ctx, REAP, RULES[REAP]) as is_free:
        assert is_free


def test_a_thread_that_takes_too_long_is_left_behind() -> None:
    leave = threading.Event()
    with pytest.raises(TimeIsUp):
        within(0.05, lambda: leave.wait(60), "slow")
    leave.set()
    assert within(60, lambda: "done", "quick") == "done"
    with pytest.raises(KeyError):
        within(60, lambda: {}["x"], "failing")


def test_what_has_a_limit_of_time_is_done_for_the_request_that_asked_for_it() -> None:
    with request_of_its_own() as request:
        assert within(10, current_request, name="push-1") == request
