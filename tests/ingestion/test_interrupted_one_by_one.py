"""Sessions whose files appear one by one, and the clearing of a table, that die after any write: the next runner
ends them the same, reads nothing twice, and no file's rows are there twice or left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.domain.ingestion.session import FileState, SessionState
from segments.domain.replacement.lineage import State
from segments.errors import StateConflict
from segments.gateways.deep_store.deepstore import STAGING
from segments.services.ingestion import sessions
from segments.services.replacement.checks import check_settings
from segments.services.replacement.lineage_record import observe
from segments.services.segments import deletion
from tests.ingestion.ingesting import APPEND, SYNC, IngestionWorld
from tests.ingestion.test_interruptions import changed_folder, cutting, session_and_run
from tests.push.test_interruptions import Cut, Killed
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

ADDING: dict[str, str] = {}
FOLLOWING = {"ingestionMode": "SYNC"}
ATOMIC = {"ingestionMode": "SYNC", "enableAtomicUpload": "true"}
#: What queries may see on the way: 10 rows become 11, 30 are new, 20 go at the end.
_FOLLOWED = {30, 31, 60, 61, 41}
_WAYS = [(ADDING, {30, 41, 60, 71}, 71), (FOLLOWING, _FOLLOWED, 41), (ATOMIC, _FOLLOWED, 41)]


def carry_on(world: IngestionWorld) -> None:
    """What the pass and the schedule do after the process died."""
    world.now += 30_000
    if sessions.resume_lost(world.ctx):
        world.work(owner="next")
    world.now += 30_000
    session_and_run(world, world.ctx)


def is_settled(world: IngestionWorld) -> None:
    """Nothing is open, staged or left to do."""
    world.now += 600_000
    assert world.trigger().session_id is None
    assert all(e.state is not State.IN_PROGRESS for e in observe(world.ctx, TABLE).lineage.in_order())
    deletion.drain(world.serve().ctx, TABLE)
    assert world.ctx.deep_store.folders(STAGING) == []


@pytest.mark.parametrize(("keys", "between", "after"), _WAYS, ids=["append", "sync", "atomic"])
def test_a_run_cut_after_every_write_ends_the_same(
    tmp_path: Path, keys: dict[str, str], between: set[int], after: int
) -> None:
    world, whole = changed_folder(tmp_path / "whole", keys), Cut(None)
    session_and_run(world, cutting(world, whole))
    assert (world.vis, world.session.state, world.read) == (after, SessionState.DONE, 2)
    for due in range(1, whole.count + 1):
        world = changed_folder(tmp_path / str(due), keys)
        with pytest.raises(Killed):
            session_and_run(world, cutting(world, Cut(due)))
        assert world.vis in between, due
        carry_on(world)
        assert (world.vis, world.session.state, world.read) == (after, SessionState.DONE, 2), due
        assert world.session.error == "", due
        is_settled(world)


@pytest.mark.parametrize(("keys", "between", "after"), _WAYS, ids=["append", "sync", "atomic"])
def test_a_run_that_is_cancelled_after_any_write_keeps_what_is_visible_as_ingested(
    tmp_path: Path, keys: dict[str, str], between: set[int], after: int
) -> None:
    world, whole = changed_folder(tmp_path / "whole", keys), Cut(None)
    session_and_run(world, cutting(world, whole))
    for due in range(1, whole.count + 1):
        world = changed_folder(tmp_path / str(due), keys)
        with pytest.raises(Killed):
            session_and_run(world, cutting(world, Cut(due)))
        world.now += 30_000
        session = sessions.current(world.ctx, TABLE)
        if session is not None and session.is_open:
            sessions.cancel(world.ctx, TABLE, ANN)
        assert world.vis in between, due
        carry_on(world)
        assert (world.vis, world.session.is_open) == (after, False), due
        is_settled(world)


@pytest.mark.parametrize("keys", [APPEND, SYNC, ADDING], ids=["append", "sync", "one by one"])
def test_clearing_cut_after_every_write_leaves_no_record_and_nothing_staged(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    def with_records(folder: Path) -> IngestionWorld:
        world = changed_folder(folder, keys)
        world.put("F4", 1, bad=True)
        world.go()
        return world

    world, whole = with_records(tmp_path / "whole"), Cut(None)
    sessions.clear_state(cutting(world, whole), TABLE, ANN)
    assert whole.count > 3
    for due in range(1, whole.count + 1):
        world = with_records(tmp_path / str(due))
        before = world.vis
        with pytest.raises(Killed):
            sessions.clear_state(cutting(world, Cut(due)), TABLE, ANN)
        world.now += 30_000
        if sessions.resume_lost(world.ctx):
            world.work(owner="next")
        sessions.clear_state(world.ctx, TABLE, ANN)
        assert (sessions.history(world.ctx, TABLE), sessions.current(world.ctx, TABLE)) == ([], None), due
        assert (world.vis, world.ctx.deep_store.folders(STAGING)) == (before, []), due


def test_a_file_that_checks_refuse_fails_alone_and_is_read_again(tmp_path: Path) -> None:
    world = changed_folder(tmp_path, ATOMIC)
    refused = {"kind": "uniqueKey", "columns": ["n"]}  # nothing here can measure it, so it has failed
    check_settings.write_check_document(world.ctx, TABLE, {"checks": [refused]}, actor=ANN)
    session_and_run(world, world.ctx)
    assert world.states == {"F1": FileState.FAILED, "F3": FileState.FAILED}
    assert (world.vis, world.session.state) == (30, SessionState.DONE)
    check_settings.write_check_document(world.ctx, TABLE, {"checks": []}, actor=ANN)
    world.go()
    assert (world.vis, world.session.error) == (41, "")
    is_settled(world)


def test_a_registration_that_is_refused_fails_its_files_and_keeps_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = IngestionWorld(tmp_path, ADDING)
    for name, rows in (("F1", 1), ("F2", 2), ("F3", 4)):
        world.put(name, rows)
    register = type(world.ctx.engine.push).register

    def refusing(engine: Any, load: Any, table: Any, actor: Any, built: Any) -> None:
        if any(b.rows == 2 for b in built):
            raise StateConflict("The table is full.")
        register(engine, load, table, actor, built)

    with monkeypatch.context() as patched:
        patched.setattr(type(world.ctx.engine.push), "register", refusing)
        world.go()
    assert world.states == {"F1": FileState.DONE, "F2": FileState.FAILED, "F3": FileState.DONE}
    assert (world.vis, "The table is full." in world.session.error) == (5, True)
    world.builder.builds.clear()
    world.go()
    assert (world.vis, world.read) == (7, 1)
