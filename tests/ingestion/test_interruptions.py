"""A session that dies after any write is carried on by the next runner: queries see the table before or after it, never
anything else, and no staged file is read twice.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from segments.domain.ingestion.session import SessionState
from segments.gateways.deep_store.deepstore import STAGING
from segments.services.core.context import Context
from segments.services.ingestion import sessions
from segments.services.segments import deletion
from tests.ingestion.ingesting import APPEND, SWAP, SYNC, IngestionWorld
from tests.push.test_interruptions import Cut, Killed
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db

_STORE_WRITES = ("create", "replace", "delete", "transaction")
_FILE_WRITES = ("move", "copy", "delete", "delete_folder", "put", "write")


def cutting(world: IngestionWorld, cut: Cut) -> Context:
    """The world's context, in which the process dies right after the write that is due."""
    return Context(
        **{
            **world.ctx.__dict__,
            "store": cut.wrap(world.ctx.store, _STORE_WRITES),
            "deep_store": cut.wrap(world.ctx.deep_store, _FILE_WRITES),
        }
    )


def changed_folder(folder: Path, keys: dict[str, str]) -> IngestionWorld:
    """F1 and F2 are visible; F1 was rewritten since, F2 deleted, F3 added."""
    world = IngestionWorld(folder, keys)
    world.put("F1", 10)
    world.put("F2", 20)
    world.go()
    world.put("F1", 11)
    (world.folder / "F2").unlink()
    world.put("F3", 30)
    world.builder.builds.clear()
    world.now += 600_000
    return world


def session_and_run(world: IngestionWorld, ctx: Context) -> None:
    if world.trigger(ctx).session_id is not None:
        world.work(ctx, owner=f"runner {id(ctx)}")


def carry_on(world: IngestionWorld) -> None:
    """What the pass, a worker and the next trigger do after the process died."""
    world.now += 30_000
    if sessions.resume_lost(world.ctx):
        world.work(owner="next")
    if world.vis == world.before:
        world.now += 30_000
        session_and_run(world, world.ctx)


def is_cut_everywhere(
    folder: Path, make: Callable[[Path], IngestionWorld], act: Callable[[IngestionWorld, Context], None], after: int
) -> None:
    world = make(folder / "whole")
    before = world.vis
    whole = Cut(None)
    act(world, cutting(world, whole))
    reads = world.read
    assert (world.vis, world.session.state) == (after, SessionState.DONE)
    assert whole.count > 10
    for due in range(1, whole.count + 1):
        world = make(folder / str(due))
        world.before = before
        with pytest.raises(Killed):
            act(world, cutting(world, Cut(due)))
        assert world.vis in (before, after), due
        carry_on(world)
        assert (world.vis, world.session.state, world.session.error) == (after, SessionState.DONE, ""), due
        assert world.read == reads, due
        world.now += 600_000
        assert world.trigger().session_id is None, due
        deletion.drain(world.serve().ctx, TABLE)
        assert world.ctx.deep_store.folders(STAGING) == [], due


@pytest.mark.parametrize(("keys", "after"), [(SYNC, 41), (SWAP, 41), (APPEND, 71)], ids=["sync", "swap", "append"])
def test_a_session_cut_after_every_write_ends_the_same(tmp_path: Path, keys: dict[str, str], after: int) -> None:
    is_cut_everywhere(tmp_path, lambda folder: changed_folder(folder, keys), session_and_run, after)


def test_a_retry_cut_after_every_write_reads_failed_files_only(tmp_path: Path) -> None:
    def failed_once(folder: Path) -> IngestionWorld:
        world = IngestionWorld(folder, SYNC)
        world.put("F1", 10)
        world.put("F2", 20, bad=True)
        world.go()
        world.put("F2", 20)
        world.builder.builds.clear()
        world.now += 600_000
        return world

    is_cut_everywhere(tmp_path, failed_once, session_and_run, 30)


def test_a_discarded_session_cut_after_every_write_is_gone_and_the_next_one_whole(tmp_path: Path) -> None:
    def blocked(folder: Path) -> IngestionWorld:
        world = IngestionWorld(folder, {**APPEND, "consistentPushMaxRetries": "0"})
        world.put("F1", 10)
        world.put("F2", 20, bad=True)
        world.go()
        world.put("F2", 20)
        world.builder.builds.clear()
        world.now += 600_000
        return world

    is_cut_everywhere(tmp_path, blocked, session_and_run, 30)


def test_a_cancelled_session_cut_after_every_write_leaves_nothing(tmp_path: Path) -> None:
    def open_session(folder: Path) -> IngestionWorld:
        world = IngestionWorld(folder, SYNC)
        world.put("F1", 10)
        world.put("F2", 20, bad=True)
        world.go()
        return world

    world, whole = open_session(tmp_path / "whole"), Cut(None)
    sessions.cancel(cutting(world, whole), TABLE, ANN)
    for due in range(1, whole.count + 1):
        world = open_session(tmp_path / str(due))
        with pytest.raises(Killed):
            sessions.cancel(cutting(world, Cut(due)), TABLE, ANN)
        world.now += 30_000
        if sessions.resume_lost(world.ctx):
            world.work(owner="next")
        assert (world.session.end_reason, world.session.task, world.vis) == ("CANCELLED", "", 0), due
        assert world.ctx.deep_store.folders(STAGING) == [], due
