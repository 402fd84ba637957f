"""A rollback can be undone while the files that it deleted are kept: in one switch, and nothing that queries see in
between is wrong.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from segments.clusters.embedded.segments.leaving import remove_hidden
from segments.domain.tables.table_config import DAY_MS, parse_table_config
from segments.errors import NotFound, PinotAdminError, PreconditionFailed, StateConflict
from segments.gateways.deep_store.no_deep_store import NoDeepStore
from segments.models import AuditEvent
from segments.services.replacement import entry_reaper
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.pins import pin_entry
from segments.services.replacement.protocol import end_replace, revert_replace, start_replace
from segments.services.replacement.rollback import preview_rollback, roll_back
from segments.services.replacement.undo.planning import preview_undo
from segments.services.replacement.undo.rollback import undo_rollback
from segments.services.segments import deletion
from segments.services.segments.restore import restore_segments
from segments.services.upkeep import retention
from segments.store import paths
from tests.services.replacement.undo.serving import ServingWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path) -> ServingWorld:
    """a was replaced by b, b by c and d."""
    made = ServingWorld(tmp_path / "store")
    made.upload("a")
    return made.push("e1", ["a"], ["b"]).push("e2", ["b"], ["c", "d"])


def rolled_back(world: ServingWorld, *, cleaned: bool = True) -> ServingWorld:
    revert_replace(world.ctx, TABLE, "e2", actor=ANN)
    assert world.visible == ["b"]
    return world.clean() if cleaned else world


@pytest.mark.parametrize("cleaned", [False, True], ids=["right away", "after retention dropped the entry"])
def test_an_undone_rollback_shows_what_it_removed_in_one_switch(world: ServingWorld, cleaned: bool) -> None:
    rolled_back(world, cleaned=cleaned)
    assert ("e2" in observe(world.ctx, TABLE).lineage.entries) is not cleaned
    world.now += 1000
    world.seen_during()
    done = undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    assert (done.returned, done.hidden, done.undone) == (("c", "d"), ("b",), ("e2",))
    assert world.seen_during() == [("b",), ("c", "d")]
    world.clean()
    assert (world.visible, world.files) == (["c", "d"], ["a", "b", "c", "d"])


def test_three_steps_back_are_undone_in_one_step_by_any_of_their_entries(world: ServingWorld) -> None:
    world.push("e3", ["c"], ["f"])
    roll_back(world.ctx, TABLE, "e1", actor=ANN)
    world.clean()
    assert (world.visible, world.ideal) == (["a"], ["a"])
    world.now += 1000
    world.seen_during()
    done = undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    assert (done.undone, sorted(done.returned), done.hidden) == (("e3", "e2", "e1"), ["d", "f"], ("a",))
    assert world.seen_during() == [("a",), ("d", "f")]


def test_an_undo_can_be_rolled_back_and_that_be_undone_again_and_again(world: ServingWorld) -> None:
    entry = "e2"
    for _ in range(3):
        world.now += 1000
        revert_replace(world.ctx, TABLE, entry, actor=ANN)
        assert world.visible == ["b"]
        world.clean().now += 1000
        entry = undo_rollback(world.ctx, TABLE, entry, actor=ANN).entry
        assert world.clean().visible == ["c", "d"]
    with pytest.raises(NotFound, match="undone already"):
        undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    revert_replace(world.ctx, TABLE, entry, actor=ANN)
    undo_rollback(world.ctx, TABLE, entry, actor=ANN)
    roll_back(world.ctx, TABLE, "e1", actor=ANN)
    assert world.visible == ["a"]


def test_what_was_undone_is_refused_a_second_time_and_what_never_was_seen_too(world: ServingWorld) -> None:
    with pytest.raises(StateConflict, match="only a rollback can be undone"):
        undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    rolled_back(world)
    undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    with pytest.raises(StateConflict, match="undone already"):
        undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    start_replace(world.ctx, TABLE, ["c"], ["x"], actor=ANN, entry_id="e9")
    world.upload("x")
    revert_replace(world.ctx, TABLE, "e9", force=True, actor=ANN)
    with pytest.raises(StateConflict, match="before its end"):
        undo_rollback(world.ctx, TABLE, "e9", actor=ANN)
    with pytest.raises(NotFound):
        undo_rollback(world.ctx, TABLE, "nothing", actor=ANN)
    assert AuditEvent.objects.filter(action="undoRollback", outcome="refused").count() == 4


def test_a_push_that_came_after_the_rollback_is_not_seen_together_with_what_comes_back(world: ServingWorld) -> None:
    rolled_back(world).push("e5", ["b"], ["g"])
    with pytest.raises(StateConflict, match="replaced again by lineage entry 'e5'"):
        undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    world.now += 2 * DAY_MS
    world.clean().clean()
    assert "e5" not in observe(world.ctx, TABLE).lineage.entries
    with pytest.raises(StateConflict, match="replaced again by lineage entry 'e5'"):
        undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    assert world.visible == ["g"]


def test_newer_segments_of_no_replacement_are_counted_and_need_force(world: ServingWorld) -> None:
    rolled_back(world).upload("other")
    node = world.memory.get(paths.segment(TABLE.typed, "other"))
    world.memory.replace(
        paths.segment(TABLE.typed, "other"),
        node.record.with_simple_items({"segment.push.time": str(world.now + 5000)}),
        node.version,
    )
    preview = preview_undo(world.ctx, TABLE, "e2")
    assert (preview.allowed, preview.needs_force, preview.before.rows, preview.after.rows) == (False, True, 20, 30)
    with pytest.raises(StateConflict, match="10 rows came after the rollback"):
        undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    undo_rollback(world.ctx, TABLE, "e2", force=True, actor=ANN)
    assert world.visible == ["c", "d", "other"]


def test_while_a_push_runs_an_undo_is_refused_and_while_an_undo_runs_a_push(world: ServingWorld) -> None:
    rolled_back(world)
    start_replace(world.ctx, TABLE, ["b"], ["x"], actor=ANN, entry_id="e7")
    with pytest.raises(StateConflict, match=r"'e7' \(IN_PROGRESS\)"):
        undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    revert_replace(world.ctx, TABLE, "e7", force=True, actor=ANN)
    world.memory.world = None  # the server loads nothing any more
    seen: list[str] = []

    def meanwhile() -> None:
        for what in (
            lambda: start_replace(world.ctx, TABLE, ["b"], ["y"], actor=ANN),
            lambda: undo_rollback(world.ctx, TABLE, "e2", actor=ANN),
            lambda: roll_back(world.ctx, TABLE, "e1", actor=ANN),
        ):
            with pytest.raises(StateConflict) as refused:
                what()
            seen.append(str(refused.value))
        assert world.visible == ["b"]

    with pytest.MonkeyPatch.context() as patch:
        real = patch.setattr
        from segments.clusters.embedded.replacement import switch_back

        wait = switch_back.wait_until_online
        real(switch_back, "wait_until_online", lambda *a, **k: (meanwhile(), wait(*a, **k)))
        with pytest.raises(PreconditionFailed, match="not online"):
            undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    assert ["already names" in seen[0], "carried out right now" in seen[1], "IN_PROGRESS" in seen[2]] == [True] * 3
    assert world.visible == ["b"]


def test_what_could_not_be_loaded_goes_back_into_the_archive_and_can_be_undone_later(world: ServingWorld) -> None:
    rolled_back(world)
    world.memory.world = None
    with pytest.raises(PreconditionFailed, match="not online"):
        undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    assert (world.visible, world.ideal) == (["b"], ["a", "b"])
    world.memory.world = world
    world.serve().clean()
    undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    assert world.visible == ["c", "d"]


def test_a_process_that_dies_before_the_switch_leaves_it_to_the_reaper_or_to_who_asks_again(
    world: ServingWorld,
) -> None:
    rolled_back(world)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("segments.clusters.embedded.replacement.switch_back.wait_until_online", _dies)
        with pytest.raises(KeyboardInterrupt):
            undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    assert world.visible == ["b"]
    for _ in range(3):
        world.now += 45_000
        entry_reaper.run(world.ctx, TABLE)
    world.clean()
    assert (world.visible, world.ideal) == (["b"], ["a", "b"])
    undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    assert world.visible == ["c", "d"]


def _dies(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_until_when_it_is_possible_is_reported_and_then_it_is_refused(world: ServingWorld) -> None:
    deleted_at = world.now
    rolled_back(world)
    preview = preview_undo(world.ctx, TABLE, "e2")
    assert (preview.allowed, preview.possible_until_ms) == (True, deleted_at + 7 * DAY_MS)
    assert (preview.before.rows, preview.after.rows, preview.returning_segments, preview.hidden_segments) == (
        10,
        20,
        ["c", "d"],
        ["b"],
    )
    world.now += 7 * DAY_MS + 1000
    retention.run(world.ctx, TABLE)
    with pytest.raises(PinotAdminError) as refused:
        undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    assert isinstance(refused.value, NotFound | PreconditionFailed)
    assert world.memory.children(paths.past_entries(TABLE.typed)) == []


def test_a_table_that_keeps_no_files_refuses_and_says_so(tmp_path: Path) -> None:
    world = ServingWorld(tmp_path / "store")
    node = world.memory.get(paths.table_config(TABLE.typed))
    body = {
        "tableName": "t",
        "tableType": "OFFLINE",
        "segmentsConfig": {"replication": "1", "deletedSegmentsRetentionPeriod": "0d"},
    }
    world.memory.replace(paths.table_config(TABLE.typed), parse_table_config(body).to_record(), node.version)
    world.upload("a")
    world.push("e1", ["a"], ["b"])
    revert_replace(world.ctx, TABLE, "e1", actor=ANN)
    deletion.drain(world.ctx, TABLE)
    preview = preview_undo(world.ctx, TABLE, "e1")
    assert (preview.allowed, preview.possible_until_ms) == (False, None)
    with pytest.raises(PreconditionFailed, match="not among the deleted segments"):
        undo_rollback(world.ctx, TABLE, "e1", actor=ANN)


def test_an_installation_without_a_deep_store_promises_no_undo(world: ServingWorld) -> None:
    assert preview_rollback(world.ctx, TABLE, "e2").undo_until_ms == world.now + 7 * DAY_MS
    without = replace(world.ctx, deep_store=NoDeepStore())
    assert preview_rollback(without, TABLE, "e2").undo_until_ms is None


def test_a_pin_holds_through_rollback_and_undo(world: ServingWorld) -> None:
    pin_entry(world.ctx, TABLE, "e2", ANN)
    rolled_back(world)
    assert world.ideal == ["a", "b", "c", "d"]
    done = undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    assert world.visible == ["c", "d"]
    assert observe(world.ctx, TABLE).lineage.entry(done.entry).is_pinned


def test_a_replacement_by_nothing_and_of_nothing_is_undone_too(world: ServingWorld) -> None:
    world.push("drop", ["c", "d"], [])
    assert world.visible == []
    revert_replace(world.ctx, TABLE, "drop", actor=ANN)
    assert world.visible == ["c", "d"]
    undo_rollback(world.ctx, TABLE, "drop", actor=ANN)
    assert world.visible == []
    world.push("add", [], ["n"])
    revert_replace(world.ctx, TABLE, "add", actor=ANN)
    undo_rollback(world.clean().ctx, TABLE, "add", actor=ANN)
    assert world.clean().visible == ["n"]


def test_the_clean_up_of_a_rollback_leaves_what_an_undo_has_taken_over(world: ServingWorld) -> None:
    """Between a rollback's switch and its deletion somebody undoes it: the segments are the undo's then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("segments.clusters.embedded.replacement.switching.leaving.remove_hidden", lambda *_: [])
        revert_replace(world.ctx, TABLE, "e2", actor=ANN)
    removed: list[list[str]] = []
    with pytest.MonkeyPatch.context() as patch:
        from segments.clusters.embedded.replacement import switch_back

        wait = switch_back.wait_until_online

        def late(*args: object, **more: object) -> None:
            removed.append(remove_hidden(world.ctx, TABLE, ["c", "d"]))
            retention.run(world.ctx, TABLE)
            wait(*args, **more)

        patch.setattr(switch_back, "wait_until_online", late)
        undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    assert (removed, world.visible) == ([[]], ["c", "d"])


def test_segments_that_a_rollback_removed_are_not_restored_next_to_the_rest(world: ServingWorld) -> None:
    rolled_back(world)
    outcomes = restore_segments(world.ctx, TABLE, ["c", "d"], actor=ANN)
    assert [o.outcome for o in outcomes] == ["refused", "refused"]
    assert world.visible == ["b"]


def test_an_end_by_somebody_else_while_it_waits_is_the_same_end(world: ServingWorld) -> None:
    rolled_back(world)
    with pytest.MonkeyPatch.context() as patch:
        from segments.clusters.embedded.replacement import switch_back

        def ended(ctx: object, table: object, *_: object, **__: object) -> None:
            (entry,) = [e for e in observe(world.ctx, TABLE).lineage.entries.values() if e.state == "IN_PROGRESS"]
            end_replace(world.ctx, TABLE, entry.id, actor=ANN)

        patch.setattr(switch_back, "wait_until_online", ended)
        undo_rollback(world.ctx, TABLE, "e2", actor=ANN)
    assert world.visible == ["c", "d"]
