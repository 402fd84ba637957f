"""Start, end and revert as use cases, over both kinds of cluster; when we delete, and what becomes of deleted files,
is the embedded cluster's.
"""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path

import pytest

from segments.clusters.embedded.segments.deletion_queue import release_name
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement.lineage import ACTOR
from segments.domain.segments.ideal_state import SEGMENT_CRC
from segments.errors import InvalidInput, NotFound, PreconditionFailed, StateConflict
from segments.names import TableName
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.protocol import end_replace, preview_revert, revert_replace, start_replace
from segments.services.segments import deletion
from segments.services.upkeep import retention
from segments.store import paths
from tests.services.replacement.either_cluster import EitherCluster, SimulatedCluster
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


def test_a_push_is_hidden_until_its_end_and_taken_back_by_a_revert(cluster: EitherCluster) -> None:
    entry = cluster.upload("a").start(["a"], ["b"])
    cluster.upload("b")
    assert cluster.visible == ["a"]
    end_replace(cluster.ctx, cluster.table, entry, actor=ANN)
    assert cluster.visible == ["b"]
    revert_replace(cluster.ctx, cluster.table, entry, actor=ANN)
    assert (cluster.visible, cluster.ideal, cluster.state(entry)) == (["a"], ["a"], "REVERTED")


def test_who_started_it_is_a_note_of_the_entry(cluster: EitherCluster) -> None:
    entry = cluster.upload("a").start(["a"], ["b"])
    assert observe(cluster.ctx, cluster.table).lineage.entry(entry).notes[ACTOR] == "ann"


def test_every_step_and_every_refusal_is_audited_with_actor_and_reason(cluster: EitherCluster) -> None:
    entry = cluster.upload("a").replace(["a"], ["b"])
    for refused in (
        lambda: end_replace(cluster.ctx, cluster.table, "nope", actor=ANN),
        lambda: cluster.start(["x"], ["c"]),
    ):
        with pytest.raises(NotFound):
            refused()
    revert_replace(cluster.ctx, cluster.table, entry, actor=ANN)
    with pytest.raises(StateConflict, match="already REVERTED"):
        revert_replace(cluster.ctx, cluster.table, entry, actor=ANN)
    assert [(e.action, e.outcome, e.detail["entry"] == entry) for e in cluster.events] == [
        ("startReplaceSegments", "done", True),
        ("endReplaceSegments", "done", True),
        ("endReplaceSegments", "refused", False),
        ("startReplaceSegments", "refused", False),
        ("revertReplaceSegments", "done", True),
        ("revertReplaceSegments", "refused", True),
    ]
    assert {(e.actor, e.reason, e.target) for e in cluster.events} == {("ann", "because", cluster.table.typed)}
    reverted = cluster.events[-2].detail
    assert (reverted["deleted"], reverted["countDeleted"], reverted["forceRevert"]) == (["b"], 1, False)


def test_a_request_that_is_none_is_refused_and_on_record(cluster: EitherCluster) -> None:
    wrong = ([], [], "both be empty"), (["a"], ["b", "b"], "more than once"), (["a"], ["a"], "by the same name")
    for old, new, why in wrong:
        with pytest.raises(InvalidInput, match=why):
            cluster.start(old, new)
    assert [(e.action, e.outcome) for e in cluster.events] == [("startReplaceSegments", "refused")] * 3


def test_a_start_with_a_known_id_is_done_once(cluster: EitherCluster) -> None:
    cluster.upload("a")
    first, second = (cluster.start(["a"], ["b"], entry_id="mine") for _ in range(2))
    assert first == second
    assert len(cluster.events) == 2
    assert list(observe(cluster.ctx, cluster.table).lineage.entries) == [first]


def test_an_end_that_is_repeated_changes_nothing_and_is_on_record(cluster: EitherCluster) -> None:
    entry = cluster.upload("a").replace(["a"], ["b"])
    end_replace(cluster.ctx, cluster.table, entry, actor=ANN)
    assert (cluster.visible, [e.detail.get("changed") for e in cluster.events]) == (["b"], [None, True, False])


def test_an_unknown_table_is_named(cluster: EitherCluster) -> None:
    with pytest.raises(NotFound, match="nope_OFFLINE"):
        start_replace(cluster.ctx, TableName("nope", "OFFLINE"), [], ["b"], actor=ANN)


def test_end_waits_for_replicas_and_says_which_is_missing(simulated: SimulatedCluster) -> None:
    entry = simulated.upload("a").start(["a"], ["b"])
    simulated.upload("b", online=False)
    with pytest.raises(PreconditionFailed, match="'b'"):
        end_replace(simulated.ctx, TABLE, entry, actor=ANN)
    assert simulated.state(entry) == "IN_PROGRESS"


def test_end_waits_for_a_replica_that_still_serves_the_older_file_of_that_name(simulated: SimulatedCluster) -> None:
    entry, memory = simulated.upload("a").start(["a"], ["b"]), simulated.world.memory
    simulated.upload("b")
    memory.replace(paths.live_instance("Server_a_1"), ZNRecord("Server_a_1", {"SESSION_ID": "5"}), 0)
    state = paths.current_state("Server_a_1", "5", TABLE.typed)
    memory.create(state, ZNRecord(TABLE.typed, maps={"b": {"CURRENT_STATE": "ONLINE", SEGMENT_CRC: "7"}}))
    with pytest.raises(PreconditionFailed, match="'b'"):
        end_replace(simulated.ctx, TABLE, entry, actor=ANN)
    memory.replace(state, ZNRecord(TABLE.typed, maps={"b": {"CURRENT_STATE": "ONLINE", SEGMENT_CRC: "1"}}), 0)
    end_replace(simulated.ctx, TABLE, entry, actor=ANN)
    assert simulated.visible == ["b"]


def test_the_end_of_a_part_takes_out_what_it_leaves(cluster: EitherCluster) -> None:
    entry = cluster.upload("a").start(["a"], ["b", "c"])
    cluster.upload("b", "c")
    if why := cluster.ctx.engine.lacks(cluster.ctx, "endOfAPart"):
        with pytest.raises(StateConflict, match=re.escape(why)):
            end_replace(cluster.ctx, cluster.table, entry, segments_to=["b"], actor=ANN)
        assert (cluster.visible, cluster.ideal) == (["a"], ["a", "b", "c"])
        return
    end_replace(cluster.ctx, cluster.table, entry, segments_to=["b"], actor=ANN)
    assert (cluster.visible, cluster.ideal) == (["b"], ["a", "b"])
    assert cluster.events[-1].detail["deleted"] == ["c"]


def test_a_revert_waits_for_an_old_side_that_is_just_being_loaded(simulated: SimulatedCluster) -> None:
    entry = simulated.waiting(10.0).upload("a", online=False).start(["a"], ["b"])
    simulated.upload("b", online=False)
    serve_only(simulated.world, "b")
    end_replace(simulated.ctx, TABLE, entry, actor=ANN)
    loaded = threading.Timer(0.3, simulated.world.serve)
    loaded.start()
    revert_replace(simulated.ctx, TABLE, entry, actor=ANN)
    loaded.join()
    assert (simulated.visible, simulated.state(entry)) == (["a"], "REVERTED")


def test_a_revert_waits_for_nothing_that_no_live_server_loads(simulated: SimulatedCluster) -> None:
    entry = simulated.waiting(10.0).upload("a", online=False).start(["a"], ["b"])
    simulated.upload("b", online=False)
    serve_only(simulated.world, "b")
    end_replace(simulated.ctx, TABLE, entry, actor=ANN)
    simulated.world.memory.delete(paths.live_instance("Server_a_1"))
    began = time.monotonic()
    with pytest.raises(PreconditionFailed, match="'a' of the old side"):
        revert_replace(simulated.ctx, TABLE, entry, actor=ANN)
    assert time.monotonic() - began < 5


def serve_only(world: World, segment: str) -> None:
    """The server has loaded this one and nothing else."""
    record = ZNRecord(TABLE.typed, maps={segment: {"Server_a_1": "ONLINE"}})
    world.memory.create(paths.external_view(TABLE.typed), record)


def test_the_preview_reports_rows_before_and_after_and_changes_nothing(cluster: EitherCluster) -> None:
    entry = cluster.upload("a").replace(["a"], ["b", "c"])
    before = cluster.ctx.store.get(paths.lineage(cluster.table.typed))
    preview = preview_revert(cluster.ctx, cluster.table, entry)
    assert (preview.allowed, preview.before.rows, preview.after.rows, preview.deleted_segments) == (
        True,
        20,
        10,
        ["b", "c"],
    )
    assert cluster.ctx.store.get(paths.lineage(cluster.table.typed)) == before


def test_the_preview_names_what_stands_in_the_way(cluster: EitherCluster) -> None:
    first = cluster.upload("a").replace(["a"], ["b"])
    cluster.replace(["b"], ["c"])
    preview = preview_revert(cluster.ctx, cluster.table, first)
    assert not preview.allowed
    assert "Revert the newest entry first" in preview.blockers[0]


def test_a_locked_segment_cannot_be_deleted_by_hand(cluster: EitherCluster) -> None:
    cluster.upload("a", "z").replace(["a"], ["b"])
    with pytest.raises(StateConflict, match=r"Blocking segments: \[a\]"):
        deletion.remove_segments(cluster.ctx, cluster.table, ["a", "z"], actor=ANN)
    assert cluster.ideal == ["a", "b", "z"]


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
    release_name(world.ctx, TABLE, "a")
    world.upload("a")
    assert deletion.drain(world.ctx, TABLE) == []
    assert world.files == ["a"]


def test_a_refused_retention_text_deletes_nothing(world: World) -> None:
    world.upload("a")
    with pytest.raises(Exception, match="soon"):
        deletion.remove_segments(world.ctx, TABLE, ["a"], retention="soon", actor=ANN)
    assert world.ideal == ["a"]
