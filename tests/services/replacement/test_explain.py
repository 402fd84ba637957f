"""What the explanation of an entry says in every situation that makes people ask, on every kind of cluster; leases,
background ends and clean-up are the embedded cluster's.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django_celery_beat.models import PeriodicTask

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.ideal_state import with_rows
from segments.domain.tables.table_config import DAY_MS
from segments.errors import NotFound
from segments.models import Push
from segments.services.replacement.ends.end_job_status import job_status
from segments.services.replacement.ends.end_jobs import request_end
from segments.services.replacement.entry_lease import heartbeat
from segments.services.replacement.explain import Explanation, explain_entry
from segments.services.replacement.pins import pin_entry
from segments.services.replacement.protocol import end_replace, revert_replace, start_replace
from segments.services.segments.deletion import delete_segments
from segments.services.upkeep.periodic_passes import DECLARED
from segments.services.upkeep.schedules import ensure_schedules
from segments.store import paths
from tests.services.replacement.either_cluster import EitherCluster, SimulatedCluster
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db


@pytest.fixture
def one(cluster: EitherCluster) -> EitherCluster:
    """Segment a is online."""
    return cluster.upload("a")


@pytest.fixture
def held(simulated: SimulatedCluster) -> SimulatedCluster:
    """The same for tests that do what servers do."""
    return simulated.upload("a")


def explain(cluster: EitherCluster, entry: str) -> Explanation:
    return explain_entry(cluster.ctx, cluster.table, entry)


def test_an_open_entry_says_what_blocks_its_end_and_what_to_do(held: SimulatedCluster) -> None:
    entry = held.start(["a"], ["b", "c"])
    held.upload("b", online=False)
    found = explain(held, entry)
    assert (found.state, found.actor, found.since_ms) == ("IN_PROGRESS", "ann", held.world.now)
    assert (found.locks, found.hides) == (("a", "b"), ("b",))
    assert "Segment 'c' is not uploaded." in found.end.reasons
    assert "Segment 'b' on Server_a_1: the server has not loaded it yet." in found.end.reasons
    assert any("Wait until the servers" in r for r in found.end.remedies)
    assert [(e.action, e.outcome, e.actor) for e in found.events] == [("startReplaceSegments", "done", "ann")]


def test_an_open_entry_that_can_be_ended_says_so(one: EitherCluster) -> None:
    entry = one.start(["a"], ["b"])
    one.upload("b")
    found = explain(one, entry)
    assert (found.end.reasons, found.hides, found.replicas.online) == ((), ("b",), 1)


def test_a_server_that_is_down_is_named(held: SimulatedCluster) -> None:
    entry = held.start(["a"], ["b"])
    held.upload("b").world.memory.delete(paths.live_instance("Server_a_1"))
    found = explain(held, entry)
    gap = found.gaps[0]
    assert (gap.instance, gap.why, gap.is_waited_for) == ("Server_a_1", "the server is not running", False)
    assert "Start the servers." in found.end.remedies


def test_a_completed_entry_can_be_taken_back_until_it_was_built_on(one: EitherCluster) -> None:
    first = one.replace(["a"], ["b"])
    found = explain(one, first)
    assert (found.revert.reasons, found.hides, found.locks) == ((), ("a",), ("a",))
    assert found.end.reasons == ("It is ended already.",)
    assert "queries see the new side" in found.summary
    second = one.replace(["b"], ["c"])
    found = explain(one, first)
    assert found.later_entries == (second,)
    assert (second in found.revert.reasons[0], found.revert.remedies[0]) == (True, "Revert the newest entry first.")


def test_a_pinned_entry_says_who_pinned_it_and_that_nothing_goes(one: EitherCluster) -> None:
    entry = one.replace(["a"], ["b"])
    pin_entry(one.ctx, one.table, entry, ANN)
    found = explain(one, entry)
    assert (found.is_pinned, found.pin_actor, found.pin_reason) == (True, "ann", "because")
    assert [s.what for s in found.next_steps] == ["Its segments stay until it is unpinned."]


def test_a_reverted_entry_says_who_took_it_back(one: EitherCluster) -> None:
    entry = one.replace(["a"], ["b"])
    revert_replace(one.ctx, one.table, entry, actor=ANN)
    found = explain(one, entry)
    assert (found.state, found.locks, found.revert.reasons) == ("REVERTED", (), ("It is reverted already.",))
    assert "by ann: because" in found.summary


def test_a_new_side_that_was_deleted_since_is_not_reported_to_be_seen(one: EitherCluster) -> None:
    entry = one.start(["a"], ["b", "c"])
    one.upload("b", "c")
    end_replace(one.ctx, one.table, entry, actor=ANN)
    for gone, sentence in (
        ("b", "1 of the 2 segments of the new side, the others were replaced or deleted"),
        ("c", "its new side was deleted later"),
    ):
        delete_segments(one.ctx, one.table, [gone], actor=ANN)
        assert sentence in explain(one, entry).summary


def test_the_document_is_plain_json_and_an_unknown_entry_is_named(one: EitherCluster) -> None:
    body = json.loads(json.dumps(explain(one, one.replace(["a"], ["b", "c"])).to_json()))
    assert (body["segmentsTo"], body["revert"]["possible"], body["end"]["possible"]) == (
        {"count": 2, "names": ["b", "c"]},
        True,
        False,
    )
    with pytest.raises(NotFound, match="nope"):
        explain(one, "nope")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """An embedded cluster in which b and c are to replace a."""
    made = World(tmp_path / "store").upload("a")
    start_replace(made.ctx, TABLE, ["a"], ["b", "c"], actor=ANN, entry_id="e1")
    return made


def test_an_open_entry_that_can_be_ended_says_so_and_when_it_is_given_up(world: World) -> None:
    world.upload("b", "c")
    found = explain_entry(world.ctx, TABLE, "e1")
    assert found.end.reasons == ()
    assert found.lease is not None
    assert (found.lease.is_leased, found.lease.given_up_at_ms) == (False, world.now + DAY_MS)
    assert [(s.at_ms, "no heartbeats" in s.what) for s in found.next_steps] == [(world.now + DAY_MS, True)]
    heartbeat(world.ctx, TABLE, "e1", ANN)
    leased = explain_entry(world.ctx, TABLE, "e1")
    assert [(s.at_ms, "reverted unless" in s.what) for s in leased.next_steps] == [(world.now + 60_000, True)]


def test_a_replica_that_the_table_does_not_require_blocks_nothing(world: World) -> None:
    world.upload("b", "c")
    second_server_lacks(world, "b")
    found = explain_entry(world.ctx, TABLE, "e1")
    assert found.end.reasons == ("Segment 'b' on Server_b_1: the server has not loaded it yet.",)
    node = world.memory.get(paths.table_config(TABLE.typed))
    assert node is not None
    assert node.record is not None
    custom = json.dumps({"customConfigs": {"pinotadmin.replacement.replicasRequired": "1"}})
    world.memory.replace(paths.table_config(TABLE.typed), node.record.with_simple(metadata=custom), node.version)
    found = explain_entry(world.ctx, TABLE, "e1")
    assert (found.end.reasons, found.replicas.online, found.replicas.wanted) == ((), 2, 3)
    assert [(g.instance, g.is_waited_for) for g in found.gaps] == [("Server_b_1", False)]
    job = request_end(world.ctx, TABLE, "e1", actor=ANN)
    assert [g["is_waited_for"] for g in job_status(world.ctx, job.id).to_json()["missing"]] == [False]
    end_replace(world.ctx, TABLE, "e1", actor=ANN)


def second_server_lacks(world: World, segment: str) -> None:
    """A second live server is to hold the segment and has not loaded it."""
    world.memory.create(paths.live_instance("Server_b_1"), ZNRecord("Server_b_1"))
    node = world.memory.get(paths.ideal_state(TABLE.typed))
    assert node is not None
    assert node.record is not None
    row = {**node.record.maps[segment], "Server_b_1": "ONLINE"}
    world.memory.replace(paths.ideal_state(TABLE.typed), with_rows(node.record, {segment: row}), node.version)


def test_a_background_end_and_a_push_are_named(world: World) -> None:
    world.upload("b", "c", online=False)
    job = request_end(world.ctx, TABLE, "e1", actor=ANN)
    found = explain_entry(world.ctx, TABLE, "e1")
    assert found.job_id == job.id
    assert "switches as soon as" in found.next_steps[0].what
    push = Push.objects.create(cluster="test", table_name="t", entry_id="e1")
    assert explain_entry(world.ctx, TABLE, "e1").push_id == str(push.pk)


def completed(world: World) -> World:
    world.upload("b", "c")
    end_replace(world.ctx, TABLE, "e1", actor=ANN)
    return world


def test_a_completed_entry_says_until_when_it_can_be_taken_back_and_when_clean_up_comes(world: World) -> None:
    completed(world)
    ensure_schedules(DECLARED)
    PeriodicTask.objects.filter(name="Retention").update(last_run_at=datetime.fromtimestamp(world.now / 1000, UTC))
    found = explain_entry(world.ctx, TABLE, "e1")
    assert (found.revert.reasons, found.hides, found.locks) == ((), ("a",), ("a",))
    assert found.end.reasons == ("It is ended already.",)
    kept_until = world.now + DAY_MS
    assert [s.at_ms for s in found.next_steps] == [kept_until, kept_until + 1]
    assert "removes 1 segment," in found.next_steps[1].what


def test_a_reverted_entry_says_who_took_it_back_and_what_is_still_to_go(world: World) -> None:
    completed(world)
    world.memory.create(paths.live_instance("Broker_x_1"), ZNRecord("Broker_x_1"))
    revert_replace(world.ctx, TABLE, "e1", actor=ANN)
    found = explain_entry(world.ctx, TABLE, "e1")
    assert (found.state, found.locks, found.hides) == ("REVERTED", (), ("b", "c"))
    assert "by ann: because" in found.summary
    assert "removes 2 segments" in found.next_steps[0].what
    assert found.revert.reasons == ("It is reverted already.",)
