"""A push that takes too long gives its slot to others and is carried on later; one whose deep store
hangs waits for it.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from segments import tasks, wiring
from segments.domain.jobs.workers.pools import PUSHES, TaskRule
from segments.gateways.deep_store.bounded_calls import NoAnswer
from segments.models import Push
from tests.push.pushing import PushWorld
from tests.waiting import poll

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_attempt_that_hangs_is_given_up_and_the_next_one_finishes_the_push(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = PushWorld(tmp_path)
    world.upload("old")
    world.file("a.csv", "rome,1,19000")
    push = world.create()
    leave = threading.Event()
    world.builder.before = lambda part: leave.wait(60)  # type: ignore[assignment]  # the answer is of no interest
    monkeypatch.setitem(tasks.ON_DEMAND, "run_push", TaskRule(PUSHES, 1))
    monkeypatch.setattr(wiring, "push_builder", lambda: world.builder)
    with wiring.use_cluster(world.ctx):
        assert "took longer" in tasks.run_push(str(push.pk))
    push.refresh_from_db()
    assert (push.state, push.stage, push.lease_owner) == (Push.State.RUNNING, Push.Stage.BUILD, "")
    leave.set()
    poll(
        lambda: not [t for t in threading.enumerate() if t.name == f"push-{push.pk}"],
        30,
        "the thread that was left behind ends",
    )
    push.refresh_from_db()
    assert (push.state, push.stage) == (Push.State.RUNNING, Push.Stage.BUILD)
    world.builder.before = lambda part: None
    world.run(push, "next")
    push.refresh_from_db()
    assert push.state == Push.State.DONE


def test_a_push_outlasts_a_deep_store_that_hangs_for_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = PushWorld(tmp_path)
    world.upload("old")
    world.file("a.csv", "rome,1,19000")
    push = world.create()

    def hang(*_: object) -> None:
        raise NoAnswer("The deep store has not answered for 30 s.")

    with monkeypatch.context() as patched:
        patched.setattr("segments.services.push.push_run.read_notes", hang)
        for _ in range(40):
            world.run(push, "one")
            world.now += 16_000
    push.refresh_from_db()
    assert (push.state, push.attempts) == (Push.State.RUNNING, 0)
    assert "has not answered" in push.error
    world.run(push, "next")
    push.refresh_from_db()
    assert push.state == Push.State.DONE
