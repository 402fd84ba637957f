"""The one lock among processes: waited for, taken over when it outlived its time, gone with its holder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Unavailable
from segments.gateways.timer import Timer
from segments.services.core.context import Context
from segments.services.jobs.job_lock import locked, sole_worker
from tests.services.world import World

PATH = "/PINOTADMIN/LOCK"


class PassingTime:
    """A clock that goes on by what is waited."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def timer(self) -> Timer:
        return Timer(lambda: self.now_s, self.pause)

    def pause(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_lock_is_waited_for_as_long_as_the_caller_says(world: World) -> None:
    held = world.memory.another_client()
    held.create(PATH, ZNRecord("other", {"sinceMs": str(world.now)}), ephemeral=True)
    time = PassingTime()
    with locked(replace(world.ctx, timer=time.timer()), PATH, wait_s=10) as is_ours:
        assert not is_ours
    assert 10 <= time.now_s < 10.1


def test_a_lock_that_is_released_meanwhile_is_taken(world: World) -> None:
    held, time = world.memory.another_client(), PassingTime()
    held.create(PATH, ZNRecord("other", {"sinceMs": str(world.now)}), ephemeral=True)

    def pause(seconds: float) -> None:
        time.pause(seconds)
        if time.now_s > 3:
            held.close()

    with locked(replace(world.ctx, timer=Timer(lambda: time.now_s, pause)), PATH, wait_s=10) as is_ours:
        assert is_ours
    assert time.now_s < 4
    assert world.memory.get(PATH) is None


def test_a_lock_that_outlived_its_time_is_taken_over_and_a_younger_one_is_not(world: World) -> None:
    held, ctx = world.memory.another_client(), replace(world.ctx, timer=PassingTime().timer())
    held.create(PATH, ZNRecord("other", {"sinceMs": str(world.now - 601_000)}), ephemeral=True)
    assert [_is_ours(ctx, void_after_s=seconds) for seconds in (None, 700.0, 600.0)] == [False, False, True]


def test_a_holder_that_was_taken_over_does_not_release_its_successors_lock(world: World) -> None:
    successor = world.memory.another_client()
    with locked(world.ctx, PATH) as is_ours:
        assert is_ours
        world.memory.delete(PATH)
        successor.create(PATH, ZNRecord("successor", {"sinceMs": str(world.now)}), ephemeral=True)
    found = world.memory.get(PATH)
    assert found is not None
    assert found.record is not None
    assert found.record.id == "successor"


def test_what_this_session_left_behind_is_removed_and_what_it_holds_is_not(world: World) -> None:
    ctx = replace(world.ctx, timer=PassingTime().timer())
    world.memory.create(PATH, ZNRecord("of a thread whose reply was lost"), ephemeral=True)
    with locked(ctx, PATH, wait_s=1) as first, locked(ctx, PATH, wait_s=1) as second:
        assert (first, second) == (True, False)


def test_without_zookeeper_a_job_is_left_alone_and_a_caller_who_waits_hears_why(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object, **__: object) -> None:
        raise Unavailable("ZooKeeper does not answer.")

    monkeypatch.setattr(world.memory, "create", down)
    with sole_worker(world.ctx, "job") as is_ours:
        assert not is_ours
    with pytest.raises(Unavailable), locked(world.ctx, PATH, wait_s=1):
        pass


def _is_ours(ctx: Context, void_after_s: float | None) -> bool:
    with locked(ctx, PATH, wait_s=1, void_after_s=void_after_s) as found:
        return found
