"""Who may give a session up and when, and what a trigger does while the one before is still being closed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segments.domain.ingestion.session import SessionState
from segments.domain.ingestion.transitions import EndReason
from segments.errors import Conflict, NotFound, StateConflict, Unavailable
from segments.services.ingestion import sessions, switch
from segments.services.ingestion.discard import discard
from segments.services.ingestion.held_session import acquire
from segments.services.ingestion.session_store import remove_sessions
from segments.services.replacement.protocol import end_replace
from tests.ingestion.ingesting import APPEND, IngestionWorld
from tests.ingestion.slices.test_split_segments import corrected
from tests.ingestion.test_guards import in_its_switch, of_two_files, raising
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


def refuses_to_give_up(world: IngestionWorld) -> None:
    for give_up in (sessions.cancel, sessions.clear_state):
        with pytest.raises(StateConflict, match="is switching and cannot be given up"):
            give_up(world.ctx, TABLE, ANN)


def left_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> IngestionWorld:
    """A cancelled session whose lineage entry could not be reverted yet."""
    world = in_its_switch(folder, monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr("segments.services.ingestion.discard.revert_replace", raising(Unavailable("It is down.")))
        sessions.cancel(world.ctx, TABLE, ANN)
    assert world.session.has_leftovers
    world.now += 600_000
    return world


def test_a_session_is_not_given_up_in_the_middle_of_its_switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = of_two_files(tmp_path)

    def end(*args: Any, **named: Any) -> None:
        refuses_to_give_up(world)
        end_replace(*args, **named)

    monkeypatch.setattr(switch, "end_replace", end)
    world.go()
    assert (world.session.state, world.vis) == (SessionState.DONE, 20)


def test_a_session_whose_switch_queries_see_is_not_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = in_its_switch(tmp_path, monkeypatch)
    end_replace(world.ctx, TABLE, world.session.entry_id, actor=ANN)
    refuses_to_give_up(world)
    world.go()
    assert (world.session.state, world.vis, world.read) == (SessionState.DONE, 20, 2)


def test_where_there_never_was_a_session_none_is_cancelled_or_retried(tmp_path: Path) -> None:
    world = IngestionWorld(tmp_path, APPEND)
    for use in (sessions.cancel, sessions.retry_now):
        with pytest.raises(NotFound, match="no open file ingestion session"):
            use(world.ctx, TABLE, ANN)


@pytest.mark.parametrize("is_gone", [False, True])
def test_what_could_not_even_begin_to_be_given_up_is_not_reported_as_cancelled(
    tmp_path: Path, is_gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = of_two_files(tmp_path)
    world.put("F3", 1, bad=True)
    world.go()

    def refuse(*_: Any) -> None:
        if is_gone:
            remove_sessions(world.ctx, TABLE)
        raise Unavailable("It is down.")

    monkeypatch.setattr(sessions, "discard", refuse)
    with pytest.raises(Unavailable, match="It is down"):
        sessions.cancel(world.ctx, TABLE, ANN)
    assert [s.is_open for s in sessions.history(world.ctx, TABLE)] == ([] if is_gone else [True])


def test_a_trigger_waits_while_somebody_closes_the_session_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = left_behind(tmp_path, monkeypatch)
    acquire(world.ctx, TABLE, world.session.id, "somebody")
    result = world.trigger()
    assert (result.session_id, result.is_busy, result.why) == (None, True, "The last session is being closed.")
    world.now += 600_000
    world.go()
    assert (world.session.state, world.vis) == (SessionState.DONE, 20)


def test_a_trigger_closes_the_session_before_unless_somebody_just_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = left_behind(tmp_path, monkeypatch)
    seen, before = [world.session], world.session.id
    sessions.resume_lost(world.ctx)
    world.work()
    current = sessions.current
    monkeypatch.setattr(sessions, "current", lambda *at: seen.pop() if seen else current(*at))
    world.go()
    assert (seen, world.session.id != before, world.vis) == ([], True, 20)


def test_clearing_with_nothing_to_read_removes_the_records_and_begins_no_session(tmp_path: Path) -> None:
    world = of_two_files(tmp_path)
    world.go()
    for name in ("F1", "F2"):
        (world.folder / name).unlink()
    world.configure(clearConsistentPushState="true")
    result = world.go()
    assert (result.session_id, result.why) == (None, "Nothing changed in the input folder.")
    assert (sessions.history(world.ctx, TABLE), world.vis) == ([], 20)
    again = world.go()
    assert len(again.notes) == 1, "the flag was honoured for this version of the config"


def switching(world: IngestionWorld, monkeypatch: pytest.MonkeyPatch, during: Callable[[], Any]) -> list[Any]:
    """A session of two files; what came of ``during`` when its runner was about to end its lineage entry."""
    end, found = switch.end_replace, list[Any]()

    def interrupted(*args: Any, **named: Any) -> Any:
        found.append(during())
        return end(*args, **named)

    monkeypatch.setattr(switch, "end_replace", interrupted)
    world.go()
    return found


def test_a_trigger_with_the_clear_flag_leaves_a_session_that_switches_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = of_two_files(tmp_path)

    def clear() -> Any:
        world.configure(clearConsistentPushState="true")
        return world.trigger()

    (result,) = switching(world, monkeypatch, clear)
    assert (result.session_id, result.is_busy) == (None, True)
    assert "is running" in result.why
    assert (world.session.state, world.vis) == (SessionState.DONE, 20)
    assert world.go().why == "Nothing changed in the input folder.", "what is visible is known as ingested"
    assert world.vis == 20


def test_a_session_that_began_to_switch_meanwhile_is_not_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = of_two_files(tmp_path)

    def throw_away() -> str:
        before = replace(world.session, state=SessionState.IN_PROGRESS)
        with pytest.raises(Conflict, match="has begun to switch"):
            discard(world.ctx, TABLE, before, EndReason.CLEARED, ANN)
        return "refused"

    assert switching(world, monkeypatch, throw_away) == ["refused"]
    assert (world.session.state, world.vis) == (SessionState.DONE, 20)


def test_a_dry_run_says_where_segments_cannot_be_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = corrected(tmp_path)
    read = sessions.read_situation

    def without_splits(*args: Any, **named: Any) -> Any:
        found = read(*args, **named)
        visible = replace(found.situation.visible, no_split="Not split here.")
        return replace(found, situation=replace(found.situation, visible=visible))

    monkeypatch.setattr(sessions, "read_situation", without_splits)
    preview = sessions.preview(world.ctx, TABLE)
    assert preview.what.startswith("Refused: segments cross the edge of the replaced time range. Not split here.")
    assert (len(preview.crossing), preview.splits) == (2, ())
