"""What keeps a session from doing what it should not: races of triggers and runners, a config that changed under a
run, a full quota, a system that is down for too long.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segments.domain.ingestion.session import FileState, SessionState
from segments.errors import Conflict, StateConflict, Unavailable
from segments.gateways.deep_store.deepstore import STAGING
from segments.services.ingestion import sessions
from segments.services.ingestion.held_session import acquire
from segments.services.ingestion.session_store import remove_sessions
from tests.ingestion.ingesting import APPEND, IngestionWorld
from tests.ingestion.test_scenes import other_schema, scene_1
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


def of_two_files(folder: Path, **keys: str) -> IngestionWorld:
    world = IngestionWorld(folder, {**APPEND, **keys})
    for name in ("F1", "F2"):
        world.put(name, 10)
    return world


def raising(error: Exception) -> Any:
    def build(*_: Any, **__: Any) -> None:
        raise error

    return build


@pytest.mark.parametrize("is_retry", [False, True])
def test_of_two_triggers_that_saw_the_same_one_begins_a_run(
    tmp_path: Path, is_retry: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = scene_1(tmp_path, "append") if is_retry else of_two_files(tmp_path)
    read = sessions.read_situation
    stale = [read(world.ctx, TABLE)]
    assert world.trigger().session_id is not None
    monkeypatch.setattr(sessions, "read_situation", lambda *a, **k: stale.pop() if stale else read(*a, **k))
    second = world.trigger()
    assert (second.session_id, second.is_busy, stale) == (None, True, [])
    assert world.session.retry_count == is_retry
    assert len(world.session.runs) == 1 + is_retry


def test_a_run_whose_lease_was_taken_meanwhile_is_not_queued_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = of_two_files(tmp_path)
    world.trigger()
    before = world.session
    world.now += 30_000
    acquire(world.ctx, TABLE, before.id, "a worker")
    monkeypatch.setattr(sessions, "current", lambda *_: replace(before))
    sessions.resume_lost(world.ctx)
    monkeypatch.undo()
    assert world.session.owner == "a worker"


def test_records_are_not_removed_under_a_run(tmp_path: Path) -> None:
    world = of_two_files(tmp_path)
    world.trigger()
    with pytest.raises(Conflict, match="began meanwhile"):
        remove_sessions(world.ctx, TABLE)
    world.work()
    assert world.vis == 20


def test_a_schema_that_changed_before_the_run_began_stops_it_before_anything_is_read(tmp_path: Path) -> None:
    world = of_two_files(tmp_path)
    world.trigger()
    other_schema(world)
    world.work()
    assert (world.read, world.session.task) == (0, "")
    assert "changed since the session began" in world.session.error
    world.go()
    assert (world.vis, world.session.state) == (20, SessionState.DONE)


def test_a_run_that_stops_for_good_leaves_no_file_as_being_read(tmp_path: Path) -> None:
    world = of_two_files(tmp_path)
    world.trigger()
    world.builder.build = raising(StateConflict("Not like this."))  # type: ignore[method-assign]
    world.work()
    assert set(world.states.values()) == {FileState.PENDING}
    assert (world.session.task, world.session.error) == ("", "Not like this.")


def test_a_system_that_is_down_is_waited_for_an_hour_and_then_until_the_next_trigger(tmp_path: Path) -> None:
    world = of_two_files(tmp_path)
    world.trigger()
    build, world.builder.build = world.builder.build, raising(Unavailable("Spark is down."))  # type: ignore[method-assign]
    world.work()
    assert world.session.is_running
    world.now += 3_600_001
    world.work()
    assert (world.session.is_running, world.session.error) == (False, "Spark is down.")
    world.builder.build = build  # type: ignore[method-assign]
    world.go()
    assert (world.session.retry_count, world.vis) == (1, 20)


def test_a_session_that_would_exceed_the_quota_does_not_begin_its_switch(tmp_path: Path) -> None:
    world = of_two_files(tmp_path)
    world.configure_table(quota={"storage": "100B"})
    world.go()
    assert (world.session.state, world.vis) == (SessionState.SWITCH, 0)
    assert "quota" in world.session.error
    world.configure_table(quota={"storage": "1G"})
    world.go()
    assert (world.session.state, world.vis, world.read) == (SessionState.DONE, 20, 2)


def test_only_an_open_session_is_cancelled(tmp_path: Path) -> None:
    world = of_two_files(tmp_path)
    world.go()
    with pytest.raises(Exception, match="no open file ingestion session"):
        sessions.cancel(world.ctx, TABLE, ANN)
    assert (world.session.state, world.session.end_reason, world.vis) == (SessionState.DONE, "", 20)


def test_a_staged_file_that_went_before_the_switch_is_built_again_in_the_same_run(tmp_path: Path) -> None:
    world = of_two_files(tmp_path)
    world.configure_table(quota={"storage": "100B"})
    world.go()
    assert (world.session.state, world.read) == (SessionState.SWITCH, 2)
    for ending in ("tar.gz", "json"):
        assert world.ctx.deep_store.delete(f"{STAGING}/{world.session.id}/part-00001.{ending}")
    world.configure_table(quota={"storage": "1G"})
    world.go()
    assert (world.session.state, world.session.task, world.vis, world.read) == (SessionState.DONE, "", 20, 3)


def in_its_switch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> IngestionWorld:
    """A session that waits in SWITCH with its lineage entry open: what ends entries was down for too long."""
    world = of_two_files(folder)
    with monkeypatch.context() as patched:
        patched.setattr("segments.services.ingestion.switch.end_replace", raising(StateConflict("Not now.")))
        world.go()
    assert (world.session.state, world.session.task) == (SessionState.SWITCH, "")
    return world


def test_a_session_whose_entry_cannot_be_reverted_now_is_given_up_and_reverted_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = in_its_switch(tmp_path, monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr("segments.services.ingestion.discard.revert_replace", raising(Unavailable("It is down.")))
        sessions.cancel(world.ctx, TABLE, ANN)
    assert (world.session.end_reason, world.session.has_leftovers) == ("CANCELLED", True)
    assert world.state(world.session.entry_id) == "IN_PROGRESS"
    world.now += 600_000
    assert sessions.resume_lost(world.ctx)
    world.work()
    assert (world.session.has_leftovers, world.state(world.session.entry_id), world.vis) == (False, "REVERTED", 0)


def test_a_session_whose_entry_may_not_be_reverted_is_given_up_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = in_its_switch(tmp_path, monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr("segments.services.ingestion.discard.revert_replace", raising(StateConflict("Somebody did.")))
        sessions.cancel(world.ctx, TABLE, ANN)
    assert (world.session.end_reason, world.session.has_leftovers) == ("CANCELLED", False)
    assert world.ctx.deep_store.folders(STAGING) == []
