"""Rollback over several entries, over both kinds of cluster: previewed, resumable, on record. On the embedded cluster
it is one switch, and pins keep what clean-up would remove.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.tables.table_config import DAY_MS
from segments.errors import InvalidInput, NotFound, PinotAdminError, PreconditionFailed, StateConflict
from segments.services.replacement.pins import pin_entry, unpin_entry
from segments.services.replacement.protocol import end_replace, revert_replace, start_replace
from segments.services.replacement.rollback import preview_rollback, roll_back
from segments.services.segments import deletion
from segments.services.segments.segments import read_records
from segments.services.upkeep import retention
from segments.store import paths
from segments.store.base import Versioned
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan
from tests.services.replacement.either_cluster import EitherCluster
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db


def chain(folder: Path) -> World:
    """a was replaced by b, b by c, c by d and e; all are still there."""
    world = World(folder / "store").upload("a")
    for entry, old, new in (("e1", ["a"], ["b"]), ("e2", ["b"], ["c"]), ("e3", ["c"], ["d", "e"])):
        replace(world, entry, old, new)
    return world


def replace(world: World, entry: str, old: list[str], new: list[str], *, force: bool = False) -> None:
    world.now += 1000
    start_replace(world.ctx, TABLE, old, new, force_cleanup=force, actor=ANN, entry_id=entry)
    world.upload(*new)
    end_replace(world.ctx, TABLE, entry, actor=ANN)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return chain(tmp_path)


def versions(world: World) -> int:
    found = world.memory.exists(paths.lineage(TABLE.typed))
    assert found is not None
    return found


def written(cluster: EitherCluster) -> tuple[Versioned | None, list[str]]:
    """What a preview or a refusal must leave as it is."""
    return cluster.ctx.store.get(paths.lineage(cluster.table.typed)), cluster.ideal


@pytest.fixture
def steps(cluster: EitherCluster) -> list[str]:
    """Entries, oldest first: a was replaced by b, b by c, c by d and e; all are still there."""
    cluster.upload("a")
    return [cluster.replace(old, new) for old, new in ((["a"], ["b"]), (["b"], ["c"]), (["c"], ["d", "e"]))]


def test_three_steps_back_take_back_all_that_was_built_on_it(cluster: EitherCluster, steps: list[str]) -> None:
    done = roll_back(cluster.ctx, cluster.table, steps[0], actor=ANN)
    assert (done.reverted, sorted(done.deleted)) == (tuple(reversed(steps)), ["b", "c", "d", "e"])
    assert (cluster.visible, cluster.ideal) == (["a"], ["a"])


def test_the_preview_reports_everything_and_changes_nothing(cluster: EitherCluster, steps: list[str]) -> None:
    before = written(cluster)
    preview = preview_rollback(cluster.ctx, cluster.table, steps[1])
    assert written(cluster) == before
    assert [s.entry_id for s in preview.steps] == [steps[2], steps[1]]
    assert (preview.allowed, preview.before.rows, preview.before.segments, preview.after.rows, preview.after.bytes) == (
        True,
        20,
        2,
        10,
        read_records(cluster.ctx, cluster.table, ["b"])["b"].size_bytes,
    )
    assert (preview.deleted_segments, preview.blockers, preview.needs_force) == (["c", "d", "e"], [], False)
    done = roll_back(cluster.ctx, cluster.table, steps[1], actor=ANN)
    assert sorted(done.deleted) == preview.deleted_segments
    assert cluster.visible == ["b"]


def test_a_snapshot_that_is_gone_is_named_and_nothing_is_written(cluster: EitherCluster, steps: list[str]) -> None:
    deletion.remove_segments(cluster.ctx, cluster.table, ["a"], actor=ANN, guard=False)
    before, preview = written(cluster), preview_rollback(cluster.ctx, cluster.table, steps[0])
    assert not preview.allowed
    assert "'a'" in preview.blockers[0]
    with pytest.raises(PreconditionFailed, match="'a'"):
        roll_back(cluster.ctx, cluster.table, steps[0], actor=ANN)
    assert (written(cluster), cluster.visible) == (before, ["d", "e"])
    assert [e.outcome for e in cluster.events if e.action == "rollback"] == ["refused"]


def test_a_push_under_way_is_taken_back_only_by_force(cluster: EitherCluster, steps: list[str]) -> None:
    under_way = cluster.start(["d", "e"], ["f"])
    cluster.upload("f")
    preview = preview_rollback(cluster.ctx, cluster.table, steps[2])
    assert (preview.allowed, preview.needs_force) == (False, True)
    with pytest.raises(StateConflict, match="IN_PROGRESS"):
        roll_back(cluster.ctx, cluster.table, steps[2], actor=ANN)
    assert preview_rollback(cluster.ctx, cluster.table, steps[2], force=True).allowed
    roll_back(cluster.ctx, cluster.table, steps[2], force=True, actor=ANN)
    assert (cluster.visible, cluster.state(under_way)) == (["c"], "REVERTED")


def test_doing_it_again_says_that_nothing_is_left_to_do_and_an_unknown_entry_is_named(
    cluster: EitherCluster, steps: list[str]
) -> None:
    roll_back(cluster.ctx, cluster.table, steps[0], actor=ANN)
    with pytest.raises(StateConflict, match="already REVERTED"):
        roll_back(cluster.ctx, cluster.table, steps[0], actor=ANN)
    with pytest.raises(NotFound, match="nope"):
        preview_rollback(cluster.ctx, cluster.table, "nope")


def test_every_reverted_entry_has_one_audit_record(cluster: EitherCluster, steps: list[str]) -> None:
    roll_back(cluster.ctx, cluster.table, steps[0], actor=ANN)
    events = [e for e in cluster.events if e.action == "rollback"]
    assert sorted(e.detail["entry"] for e in events) == sorted(steps)
    assert {(e.outcome, e.actor, e.reason) for e in events} == {("done", "ann", "because")}
    assert {e.detail["entry"]: e.detail.get("to") for e in events} == {
        steps[0]: None,
        steps[1]: steps[0],
        steps[2]: steps[0],
    }
    assert events[-1].detail["entries"] == list(reversed(steps))


def test_a_pin_needs_a_reason_and_says_what_was_gone_before(cluster: EitherCluster, steps: list[str]) -> None:
    with pytest.raises(InvalidInput, match="reason"):
        pin_entry(cluster.ctx, cluster.table, steps[0], type(ANN)("ann"))
    deletion.remove_segments(cluster.ctx, cluster.table, ["b"], actor=ANN, guard=False)
    pin = pin_entry(cluster.ctx, cluster.table, steps[0], ANN)
    assert (pin.is_pinned, pin.reason, pin.actor, pin.missing) == (True, "because", "ann", ("b",))
    with pytest.raises(NotFound, match="nope"):
        pin_entry(cluster.ctx, cluster.table, "nope", ANN)


def test_three_steps_back_are_one_write_and_one_switch(world: World) -> None:
    before = versions(world)
    roll_back(world.ctx, TABLE, "e1", actor=ANN)
    assert versions(world) == before + 1
    assert world.visible == ["a"]


def test_nothing_is_deleted_before_brokers_serve_the_older_snapshot(world: World) -> None:
    world.memory.create(paths.live_instance("Broker_x_1"), ZNRecord("Broker_x_1"))
    roll_back(world.ctx, TABLE, "e1", actor=ANN)
    assert (world.visible, world.ideal) == (["a"], ["a", "b", "c", "d", "e"])
    world.memory.delete(paths.live_instance("Broker_x_1"))
    retention.run(world.ctx, TABLE)
    assert world.ideal == ["a"]


def test_an_end_right_before_the_write_is_seen(world: World) -> None:
    """While the rollback is decided a fourth push switches: its entry is taken back too, never left on top of a
    reverted one.
    """
    start_replace(world.ctx, TABLE, ["d", "e"], ["f"], actor=ANN, entry_id="e4")
    world.upload("f")
    racing = FaultyStore(world.memory, Plan(before={1: lambda: end_replace(world.ctx, TABLE, "e4", actor=ANN)}))
    roll_back(world.with_store(racing), TABLE, "e2", force=True, actor=ANN)
    assert (world.visible, world.state("e4")) == (["b"], "REVERTED")


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("jump_ms", [0, -DAY_MS, DAY_MS])
def test_cut_anywhere_and_done_again_the_end_is_the_same_whatever_the_clock_does(
    tmp_path: Path, fault: Fault, jump_ms: int
) -> None:
    counting = FaultyStore((probe := chain(tmp_path / "probe")).memory)
    roll_back(probe.with_store(counting), TABLE, "e1", actor=ANN)
    for k in range(1, len(counting.writes) + 1):
        world = chain(tmp_path / f"cut{k}")
        try:
            roll_back(world.with_store(FaultyStore(world.memory, Plan({k: fault}))), TABLE, "e1", actor=ANN)
        except (Cut, PinotAdminError):
            assert world.visible in (["a"], ["d", "e"]), f"write {k}: {world.visible}"
        world.now += jump_ms
        if world.state("e1") == "COMPLETED":
            roll_back(world.ctx, TABLE, "e1", actor=ANN)
        for _ in range(2):
            world.serve()
            retention.run(world.ctx, TABLE)
        assert (world.visible, world.ideal) == (["a"], ["a"]), f"write {k}"


def clean_up(world: World) -> None:
    world.now += 30 * DAY_MS
    for _ in range(3):
        world.serve()
        retention.run(world.ctx, TABLE)


def test_retention_leaves_pinned_snapshots_and_takes_them_when_they_are_unpinned(world: World) -> None:
    pin_entry(world.ctx, TABLE, "e1", ANN)
    clean_up(world)
    assert (world.visible, world.ideal) == (["d", "e"], ["a", "b", "d", "e"])
    roll_back(world.ctx, TABLE, "e1", actor=ANN)
    assert (world.visible, "b" in world.ideal) == (["a"], True), "the pinned side is hidden, not deleted"
    unpin_entry(world.ctx, TABLE, "e1", ANN)
    clean_up(world)
    assert (world.visible, world.ideal) == (["a"], ["a"])


def test_a_forced_push_leaves_the_pinned_snapshot(world: World) -> None:
    pin_entry(world.ctx, TABLE, "e1", ANN)
    replace(world, "e4", ["d", "e"], ["f"], force=True)
    replace(world, "e5", ["f"], ["g"], force=True)
    assert {"a", "b"} <= set(world.ideal)
    assert world.visible == ["g"]


def test_pinned_segments_cannot_be_deleted_by_hand_and_a_pin_survives_a_revert(world: World) -> None:
    pin_entry(world.ctx, TABLE, "e3", ANN)
    with pytest.raises(StateConflict, match="d"):
        deletion.remove_segments(world.ctx, TABLE, ["d"], actor=ANN)
    revert_replace(world.ctx, TABLE, "e3", actor=ANN)
    clean_up(world)
    assert (world.visible, {"d", "e"} <= set(world.ideal)) == (["c"], True)


def test_pinning_never_changes_pinots_own_items(world: World) -> None:
    def items() -> Any:
        node = world.memory.get(paths.lineage(TABLE.typed))
        assert node is not None
        assert node.record is not None
        return node.record.lists

    before = items()
    pin_entry(world.ctx, TABLE, "e1", ANN)
    assert items() == before
    unpin_entry(world.ctx, TABLE, "e1", ANN)
    assert items() == before
