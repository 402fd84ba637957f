"""Start, end and revert as use cases: one transaction each, acknowledged, then deletion; and what a refusal leaves
behind.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.ideal_state import SEGMENT_CRC
from segments.errors import NotFound, PreconditionFailed, StateConflict
from segments.models import AuditEvent
from segments.names import TableName
from segments.services.core.context import Limits
from segments.services.replacement.protocol import end_replace, preview_revert, revert_replace, start_replace
from segments.services.segments import deletion
from segments.services.upkeep import retention
from segments.store import paths
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "store")


def replace(world: World, old: list[str], new: list[str], *, force: bool = False) -> str:
    entry = start_replace(world.ctx, TABLE, old, new, force_cleanup=force, actor=ANN)
    world.upload(*new)
    end_replace(world.ctx, TABLE, entry, actor=ANN)
    return entry


def test_a_push_is_hidden_until_its_end_and_taken_back_by_a_revert(world: World) -> None:
    world.upload("a")
    entry = start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN)
    world.upload("b")
    assert world.visible == ["a"]
    end_replace(world.ctx, TABLE, entry, actor=ANN)
    assert world.visible == ["b"]
    revert_replace(world.ctx, TABLE, entry, actor=ANN)
    assert (world.visible, world.ideal, world.state(entry)) == (["a"], ["a"], "REVERTED")


def test_every_step_and_every_refusal_is_audited_with_actor_and_reason(world: World) -> None:
    world.upload("a")
    replace(world, ["a"], ["b"])
    with pytest.raises(NotFound):
        end_replace(world.ctx, TABLE, "nope", actor=ANN)
    events = list(AuditEvent.objects.order_by("id").values_list("action", "outcome", "actor", "reason", "target"))
    assert [e[:2] for e in events] == [
        ("startReplaceSegments", "done"),
        ("endReplaceSegments", "done"),
        ("endReplaceSegments", "refused"),
    ]
    assert {e[2:] for e in events} == {("ann", "because", "t_OFFLINE")}


def test_a_start_with_a_known_id_is_done_once(world: World) -> None:
    world.upload("a")
    for _ in range(2):
        assert start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN, entry_id="mine") == "mine"
    assert AuditEvent.objects.count() == 2
    node = world.memory.get(paths.lineage(TABLE.typed))
    assert node is not None
    assert node.version == 0


def test_an_unknown_table_is_named(world: World) -> None:
    with pytest.raises(NotFound, match="nope_OFFLINE"):
        start_replace(world.ctx, TableName("nope", "OFFLINE"), [], ["b"], actor=ANN)


def test_end_waits_for_replicas_and_says_which_is_missing(world: World) -> None:
    world.upload("a")
    entry = start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN)
    world.upload("b", online=False)
    with pytest.raises(PreconditionFailed, match="'b'"):
        end_replace(world.ctx, TABLE, entry, actor=ANN)
    assert world.state(entry) == "IN_PROGRESS"


def test_end_waits_for_a_replica_that_still_serves_the_older_file_of_that_name(world: World) -> None:
    world.upload("a")
    entry = start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN)
    world.upload("b")
    live = paths.live_instance("Server_a_1")
    world.memory.replace(live, ZNRecord("Server_a_1", {"SESSION_ID": "5"}), 0)
    state = paths.current_state("Server_a_1", "5", TABLE.typed)
    world.memory.create(state, ZNRecord(TABLE.typed, maps={"b": {"CURRENT_STATE": "ONLINE", SEGMENT_CRC: "7"}}))
    with pytest.raises(PreconditionFailed, match="'b'"):
        end_replace(world.ctx, TABLE, entry, actor=ANN)
    world.memory.replace(state, ZNRecord(TABLE.typed, maps={"b": {"CURRENT_STATE": "ONLINE", SEGMENT_CRC: "1"}}), 0)
    end_replace(world.ctx, TABLE, entry, actor=ANN)
    assert world.visible == ["b"]


def test_the_third_forced_push_deletes_the_first_snapshot_at_its_end(world: World) -> None:
    replace(world, [], ["p1"], force=True)
    replace(world, ["p1"], ["p2"], force=True)
    third = start_replace(world.ctx, TABLE, ["p2"], ["p3"], force_cleanup=True, actor=ANN)
    assert world.ideal == ["p1", "p2"]
    world.upload("p3")
    end_replace(world.ctx, TABLE, third, actor=ANN)
    assert world.ideal == ["p2", "p3"]


def test_nothing_is_deleted_while_a_broker_has_not_acknowledged(world: World) -> None:
    world.upload("a")
    entry = replace(world, ["a"], ["b"])
    world.memory.create(paths.live_instance("Broker_x_1"), ZNRecord("Broker_x_1"))
    revert_replace(world.ctx, TABLE, entry, actor=ANN)
    assert (world.visible, world.ideal) == (["a"], ["a", "b"])
    world.memory.delete(paths.live_instance("Broker_x_1"))
    retention.run(world.ctx, TABLE)
    assert world.ideal == ["a"]


def test_a_revert_waits_for_an_old_side_that_is_just_being_loaded(tmp_path: Path) -> None:
    world = World(tmp_path / "slow", limits=Limits(replicas_online_s=10.0, broker_ack_s=0.2)).upload("a", online=False)
    entry = start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN)
    world.upload("b", online=False)
    serve_only(world, "b")
    end_replace(world.ctx, TABLE, entry, actor=ANN)
    loaded = threading.Timer(0.3, world.serve)
    loaded.start()
    revert_replace(world.ctx, TABLE, entry, actor=ANN)
    loaded.join()
    assert (world.visible, world.state(entry)) == (["a"], "REVERTED")


def test_a_revert_waits_for_nothing_that_no_live_server_loads(tmp_path: Path) -> None:
    world = World(tmp_path / "dead", limits=Limits(replicas_online_s=10.0, broker_ack_s=0.2)).upload("a", online=False)
    entry = start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN)
    world.upload("b", online=False)
    serve_only(world, "b")
    end_replace(world.ctx, TABLE, entry, actor=ANN)
    world.memory.delete(paths.live_instance("Server_a_1"))
    began = time.monotonic()
    with pytest.raises(PreconditionFailed, match="'a' of the old side"):
        revert_replace(world.ctx, TABLE, entry, actor=ANN)
    assert time.monotonic() - began < 5


def serve_only(world: World, segment: str) -> None:
    """The server has loaded this one and nothing else."""
    record = ZNRecord(TABLE.typed, maps={segment: {"Server_a_1": "ONLINE"}})
    world.memory.create(paths.external_view(TABLE.typed), record)


def test_the_preview_tells_rows_before_and_after_and_changes_nothing(world: World) -> None:
    world.upload("a")
    entry = replace(world, ["a"], ["b", "c"])
    before = world.memory.get(paths.lineage(TABLE.typed))
    preview = preview_revert(world.ctx, TABLE, entry)
    assert (preview.allowed, preview.before.rows, preview.after.rows, preview.deleted_segments) == (
        True,
        20,
        10,
        ["b", "c"],
    )
    assert world.memory.get(paths.lineage(TABLE.typed)) == before


def test_the_preview_names_what_stands_in_the_way(world: World) -> None:
    world.upload("a")
    first = replace(world, ["a"], ["b"])
    replace(world, ["b"], ["c"])
    preview = preview_revert(world.ctx, TABLE, first)
    assert not preview.allowed
    assert "Revert the newest entry first" in preview.blockers[0]


def test_a_locked_segment_can_not_be_deleted_by_hand(world: World) -> None:
    world.upload("a", "z")
    replace(world, ["a"], ["b"])
    with pytest.raises(StateConflict, match=r"Blocking segments: \[a\]"):
        deletion.remove_segments(world.ctx, TABLE, ["a", "z"], actor=ANN)
    assert world.ideal == ["a", "b", "z"]


def test_a_deleted_segment_keeps_its_file_for_a_while_and_loses_its_record(world: World) -> None:
    world.upload("a")
    deletion.remove_segments(world.ctx, TABLE, ["a"], actor=ANN)
    assert deletion.drain(world.ctx, TABLE) == []  # a server still holds it
    world.serve()
    assert len(deletion.drain(world.ctx, TABLE)) == 1
    assert world.files == []
    assert [f.name for f in world.ctx.deep_store.files("Deleted_Segments/t")] == ["a"]
    assert world.memory.children(paths.segments(TABLE.typed)) == []


def test_a_name_that_is_uploaded_again_leaves_the_queue(world: World) -> None:
    world.upload("a")
    deletion.remove_segments(world.ctx, TABLE, ["a"], actor=ANN)
    deletion.release_name(world.ctx, TABLE, "a")
    world.upload("a")
    assert deletion.drain(world.ctx, TABLE) == []
    assert world.files == ["a"]


def test_a_refused_retention_text_deletes_nothing(world: World) -> None:
    world.upload("a")
    with pytest.raises(Exception, match="soon"):
        deletion.remove_segments(world.ctx, TABLE, ["a"], retention="soon", actor=ANN)
    assert world.ideal == ["a"]
