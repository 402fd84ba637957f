"""What a replacement ever removed never comes back beside what stands for it now: it is a switch, or refused with the
counts.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.domain.tables.table_config import DAY_MS
from segments.errors import StateConflict
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.protocol import revert_replace, start_replace
from segments.services.replacement.undo.restore_switch import preview_switch, restore_switch
from segments.services.segments import deletion, restore
from segments.services.segments.restore import restore_segments
from segments.services.tables.tables import delete_table
from segments.store import paths
from tests.services.replacement.undo.serving import ServingWorld
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db


@pytest.fixture(params=["REFRESH", "APPEND"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> ServingWorld:
    made = ServingWorld(tmp_path / "store", kind=request.param)
    made.upload("a")
    return made


def refusals(world: World, *segments: str, **more: bool) -> list[str]:
    """Messages of a restore that must be refused whole."""
    before = world.visible
    outcomes = restore_segments(world.ctx, TABLE, segments, actor=ANN, **more)
    assert [o.outcome for o in outcomes] == ["refused"] * len(segments)
    assert world.visible == before
    return [f"{o.message} {o.remedy}" for o in outcomes]


def test_what_a_rollback_removed_is_refused_with_the_counts_after_its_entry_is_dropped(world: ServingWorld) -> None:
    world.push("e1", ["a"], ["b", "c"])
    revert_replace(world.ctx, TABLE, "e1", actor=ANN)
    world.clean()
    assert "e1" not in observe(world.ctx, TABLE).lineage.entries
    said = refusals(world, "b", "c")[0]
    assert ("rollback of lineage entry 'e1'" in said, "Queries see 10 rows in 1 segment now" in said) == (True, True)
    assert "switch=true" in said
    assert refusals(world, "b", include_hidden=True)


def test_an_old_snapshot_whose_entry_is_dropped_comes_back_as_a_switch_only(world: ServingWorld) -> None:
    world.push("e1", ["a"], ["b", "c"])
    world.now += 40 * DAY_MS
    world.clean()
    world.now += 1000
    world.clean()
    assert (world.ideal, dict(observe(world.ctx, TABLE).lineage.entries)) == (["b", "c"], {})
    assert "'e1' replaced it" in refusals(world, "a")[0]
    told = preview_switch(world.ctx, TABLE, ["a"])
    assert (told.before.rows, told.after.rows, told.hidden_segments) == (20, 10, ["b", "c"])
    world.seen_during()
    done = restore_switch(world.ctx, TABLE, ["a"], actor=ANN)
    assert world.seen_during() == [("b", "c"), ("a",)]
    revert_replace(world.ctx, TABLE, done.entry_id, actor=ANN)
    assert world.visible == ["b", "c"]


def test_a_deletion_that_waits_is_not_cancelled_into_doubled_rows(world: ServingWorld) -> None:
    world.push("e1", ["a"], ["b"])
    revert_replace(world.ctx, TABLE, "e1", actor=ANN)
    (lambda ids: world.memory.replace(paths.lineage(TABLE.typed), *ids))(_without_entries(world))
    with pytest.raises(StateConflict, match="seen together with"):
        restore.cancel_deletion(world.ctx, TABLE, "b", actor=ANN)
    assert world.visible == ["a"]


def _without_entries(world: ServingWorld) -> tuple[object, int]:
    """What retention writes when it drops the only entry, before the queue is drained."""
    from segments.domain.replacement.lineage import to_record
    from segments.services.replacement.undo.kept_entries import keep_entries

    seen = observe(world.ctx, TABLE)
    keep_entries(world.ctx, TABLE, seen.lineage.entries.values())
    assert seen.lineage_node is not None
    return to_record(seen.lineage.having(without=["e1"])), seen.lineage_node.version


def test_what_was_deleted_by_hand_before_its_snapshot_was_replaced_is_refused_unless_it_is_other_data(
    world: ServingWorld,
) -> None:
    world.push("e1", ["a"], ["b", "c"])
    deletion.remove_segments(world.ctx, TABLE, ["c"], actor=ANN)
    deletion.drain(world.ctx, TABLE)
    world.push("e2", ["b"], ["d"])
    assert "after it was deleted" in refusals(world, "c")[0]
    assert restore_segments(world.ctx, TABLE, ["c"], force=True, actor=ANN)[0].outcome == "done"
    assert world.visible == ["c", "d"]


def test_what_was_deleted_by_hand_comes_back_next_to_its_company_as_ever(world: ServingWorld) -> None:
    world.push("e1", ["a"], ["b", "c"])
    deletion.remove_segments(world.ctx, TABLE, ["c"], actor=ANN)
    deletion.drain(world.ctx, TABLE)
    assert restore_segments(world.ctx, TABLE, ["c"], actor=ANN)[0].outcome == "done"
    assert world.visible == ["b", "c"]


def test_a_segment_of_a_push_that_never_ended_is_refused(world: ServingWorld) -> None:
    start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN, entry_id="e1")
    world.upload("b")
    revert_replace(world.ctx, TABLE, "e1", force=True, actor=ANN)
    world.clean()
    assert refusals(world, "b")


def test_of_a_refresh_table_what_was_pushed_after_the_deletion_counts_without_any_replacement(tmp_path: Path) -> None:
    world = ServingWorld(tmp_path / "store")
    world.upload("a")
    deletion.remove_segments(world.ctx, TABLE, ["a"], actor=ANN)
    deletion.drain(world.ctx, TABLE)
    world.upload("b")
    path = paths.segment(TABLE.typed, "b")
    node = world.memory.get(path)
    world.memory.replace(path, node.record.with_simple_items({"segment.push.time": str(world.now + 1)}), node.version)
    assert "10 rows in 1 segment" in refusals(world, "a")[0]
    restore_switch(world.ctx, TABLE, ["a"], actor=ANN)
    assert world.visible == ["a"]


def test_a_table_that_was_dropped_and_made_again_does_not_show_two_snapshots(tmp_path: Path) -> None:
    world = ServingWorld(tmp_path / "store")
    world.upload("a")
    world.push("e1", ["a"], ["b"])
    config, empty = world.memory.get(paths.table_config(TABLE.typed)), world.memory.get(paths.ideal_state(TABLE.typed))
    world.memory.world = None
    world.memory.delete(paths.live_instance("Server_a_1"))
    delete_table(world.ctx, TABLE, actor=ANN)
    world.memory.create(paths.table_config(TABLE.typed), config.record)
    from segments.domain.segments.ideal_state import new_ideal_state

    assert empty is not None
    world.memory.create(paths.ideal_state(TABLE.typed), new_ideal_state(TABLE.typed, 1))
    outcomes = restore_segments(world.ctx, TABLE, ["a", "b"], dry_run=True, actor=ANN)
    assert [o.outcome for o in outcomes] == ["refused", "done"]


def test_the_switch_refuses_what_it_does_not_know(world: ServingWorld) -> None:
    world.push("e1", ["a"], ["b"])
    for names, why in ((["b"], "exists in table"), (["nothing"], "not among the deleted|No replacement says")):
        with pytest.raises(Exception, match=why):
            restore_switch(world.ctx, TABLE, names, actor=ANN)
    deletion.remove_segments(world.ctx, TABLE, ["a"], actor=ANN, guard=False)
    deletion.drain(world.ctx, TABLE)
    with pytest.raises(StateConflict, match="includeHidden"):
        restore_switch(world.ctx, TABLE, ["a"], actor=ANN)
    assert world.visible == ["b"]
