"""A push of ours whose worker died: what the schedules make of it, with the default limits, on a clock of the test
(rule `entry-lease`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from segments.errors import NotFound
from segments.models import Push
from segments.services.core.context import Limits
from segments.services.push.pushes import resume_lost
from segments.services.replacement import entry_reaper
from segments.services.upkeep.periodic_passes import DECLARED
from tests.faults.faulty import Cut
from tests.push.pushing import PushWorld
from tests.services.world import TABLE
from tests.task_queue import FakeQueue

pytestmark = pytest.mark.django_db

WITHIN_S = 90


@pytest.fixture
def world(tmp_path: Path) -> PushWorld:
    """Two files; the table shows an older segment. All limits are the defaults."""
    made = PushWorld(tmp_path)
    made.ctx = made.ctx.__class__(**{**made.ctx.__dict__, "limits": Limits()})
    made.upload("old")
    made.file("a.csv", "rome,1,19000")
    made.file("b.csv", "oslo,2,19001")
    return made


def died(world: PushWorld, while_at: Push.Stage) -> Push:
    """A push whose worker died in the middle of a stage and gave nothing back."""
    push = world.create()

    def die(*_: object, **__: object) -> None:
        raise Cut

    if while_at is Push.Stage.BUILD:
        world.builder.before = die
        with pytest.raises(Cut):
            world.run(push, "dead")
    else:
        with pytest.MonkeyPatch.context() as patched, pytest.raises(Cut):
            patched.setattr("segments.services.push.push_run.end_replace", die)
            world.run(push, "dead")
    world.builder.before = lambda part: None
    push.refresh_from_db()
    assert (push.state, push.stage, push.lease_owner) == (Push.State.RUNNING, while_at, "dead")
    return push


def wait_as_the_schedules_do(world: PushWorld, push: Push) -> int:
    """Seconds until the push is over; a worker is free all the time."""
    every = {one.task: one.every.number for one in DECLARED if one.every.unit == "seconds"}
    ctx = replace(world.ctx, queue=FakeQueue(work=lambda _: world.run(push, "other")))
    for second in range(1, WITHIN_S + 1):
        world.now += 1000
        if second % every["resume_lost_pushes"] == 0:
            resume_lost(ctx)
        if second % every["reap_entries"] == 0:
            entry_reaper.run(world.ctx, TABLE)
        push.refresh_from_db()
        if push.state in Push.TERMINAL:
            return second
    return WITHIN_S + 1


@pytest.mark.parametrize("while_at", [Push.Stage.BUILD, Push.Stage.END])
def test_pinot_leaves_the_push_of_a_dead_driver_unfinished_until_somebody_pushes_again(
    world: PushWorld, while_at: Push.Stage
) -> None:
    push = died(world, while_at)
    assert world.visible == ["old"]
    assert wait_as_the_schedules_do(world, push) <= WITHIN_S
    assert (push.state, world.state(push.entry_id), "old" in world.visible, len(world.visible)) == (
        "DONE",
        "COMPLETED",
        False,
        2,
    )


def test_pinot_keeps_the_entry_of_a_push_that_cannot_go_on_for_a_day(world: PushWorld) -> None:
    """The worker died after it started the replacement, and what it built is lost."""
    push = died(world, Push.Stage.END)
    assert world.state(push.entry_id) == "IN_PROGRESS"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("segments.services.push.push_run.end_replace", refuse)
        assert wait_as_the_schedules_do(world, push) <= WITHIN_S
    assert (push.state, world.state(push.entry_id), world.visible) == ("FAILED", "REVERTED", ["old"])


def refuse(*_: object, **__: object) -> None:
    raise NotFound("A segment of it is gone.")
