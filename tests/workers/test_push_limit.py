"""A push that takes too long gives its slot to others; what its thread does later counts for nothing, and the push is carried on."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from segments import tasks, wiring
from segments.domain.workers.pools import PUSHES, TaskRule
from segments.models import Push
from tests.push.pushing import PushWorld
from tests.waiting import poll

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_attempt_that_hangs_is_given_up_and_the_next_one_finishes_the_push(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = PushWorld(tmp_path)
    world.upload("old")
    world.file("a.csv", "rome,1,19000")
    push = world.create()
    leave = threading.Event()
    world.builder.before = lambda part: leave.wait(60)  # type: ignore[assignment]  # the answer is of no interest
    monkeypatch.setitem(tasks.TASKS, tasks.run_push.name, TaskRule(PUSHES, 1))
    monkeypatch.setattr(wiring, "push_builder", lambda: world.builder)
    with wiring.use_cluster(world.ctx):
        assert "took longer" in tasks.run_push(str(push.pk))
    push.refresh_from_db()
    assert (push.state, push.stage, push.lease_owner) == (Push.State.RUNNING, Push.Stage.BUILD, "")
    leave.set()
    poll(lambda: not [t for t in threading.enumerate() if t.name == f"push-{push.pk}"], 30, "the thread that was left behind ends")
    push.refresh_from_db()
    assert (push.state, push.stage) == (Push.State.RUNNING, Push.Stage.BUILD)
    world.builder.before = lambda part: None
    world.run(push, "next")
    push.refresh_from_db()
    assert push.state == Push.State.DONE
