"""Consumption on a Pinot cluster: pause, resume, force commit by its REST; who, why and planned ends by us; gaps told
with the reason.
"""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from segments.clusters.pinot import consumption as pinot_realtime
from segments.domain.realtime.force_commit import BatchSettings
from segments.domain.realtime.pause import time_text
from segments.domain.segments.ideal_state import new_ideal_state, with_rows
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.errors import Forbidden, InvalidInput, NotFound, StateConflict, Unavailable
from segments.models import AuditEvent, Finding
from segments.names import REALTIME, TableName
from segments.services.core.context import Actor
from segments.services.realtime import consuming_info, consumption, force_commit, realtime_validation
from segments.services.realtime.consuming_segments import StartFrom
from segments.services.realtime.force_commit import Wanted
from segments.services.upkeep import validation
from segments.store import paths
from segments.store.update import update_record
from tests.pinot_cluster.fake_pinot import Fault, PinotCluster
from tests.pinot_cluster.replacement.test_replacement import LOST
from tests.services.realtime_world import config_of
from tests.services.world import ANN

pytestmark = pytest.mark.django_db

TABLE = TableName("t", REALTIME)
SEGMENT = "t__0__3__20260101T0000Z"
MINUTE = 60_000


def made(folder: Path, version: str) -> PinotCluster:
    from segments.domain.tables.table_config import parse_table_config

    cluster = PinotCluster(folder, version=version)
    memory = cluster.inside.memory
    memory.create(paths.table_config(TABLE.typed), parse_table_config(config_of(topics=2)).to_record())
    ideal = with_rows(new_ideal_state(TABLE.typed, 1), {SEGMENT: {"Server_a_1": "CONSUMING"}})
    memory.create(paths.ideal_state(TABLE.typed), ideal)
    fields = {"segment.realtime.status": "IN_PROGRESS"}
    memory.create(paths.segment(TABLE.typed, SEGMENT), SegmentMetadata(SEGMENT, fields).to_record())
    return cluster


@pytest.fixture
def pinot(tmp_path: Path) -> PinotCluster:
    """A REALTIME table with one consuming segment; Pinot 1.5.1."""
    return made(tmp_path, "1.5.1")


@pytest.fixture
def old(tmp_path: Path) -> PinotCluster:
    """The same on Pinot 0.11.0."""
    return made(tmp_path, "0.11.0")


def committed(pinot: PinotCluster) -> None:
    done = with_rows(new_ideal_state(TABLE.typed, 1), {SEGMENT: {"Server_a_1": "ONLINE"}})

    def decide(node: object) -> object:
        return done.with_simple_items(pinot.inside.memory.get(paths.ideal_state(TABLE.typed)).record.simple)

    update_record(pinot.inside.memory, paths.ideal_state(TABLE.typed), decide)


def test_a_pause_keeps_who_and_why_and_a_resume_ends_it(pinot: PinotCluster) -> None:
    status = consumption.pause_table(pinot.ctx, TABLE, comment="new schema", actor=ANN)
    assert (status["pauseFlag"], status["comment"], status["actor"]) == (True, "new schema", "ann")
    assert pinot.rest.params[-1]["comment"] == "new schema"
    assert AuditEvent.objects.get(action="pauseConsumption", cluster="prod").reason == "because"
    assert consumption.resume_table(pinot.ctx, TABLE, actor=ANN)["pauseFlag"] is False
    assert pinot.rest.params[-1]["consumeFrom"] == "lastConsumed"


def test_an_old_version_has_no_field_for_the_reason_so_it_is_ours(old: PinotCluster) -> None:
    status = consumption.pause_table(old.ctx, TABLE, comment="new schema", actor=ANN)
    assert "comment" not in old.rest.params[-1]
    assert (status["comment"], status["actor"]) == ("new schema", "ann")
    consumption.resume_table(old.ctx, TABLE, actor=ANN)
    assert "consumeFrom" not in old.rest.params[-1]


def test_the_status_of_an_old_version_has_what_newer_ones_tell(old: PinotCluster) -> None:
    never = pinot_realtime.pause_status(old.ctx, TABLE)
    assert (never["reasonCode"], never["comment"], never["timestamp"]) == ("ADMINISTRATIVE", "Table is unpaused.", "")
    paused = consumption.pause_table(old.ctx, TABLE, comment=None, actor=Actor("ann"))
    assert (paused["comment"], paused["timestamp"]) == ("Table is paused.", time_text(old.inside.now))
    assert never["consumingSegments"] == [SEGMENT]


@pytest.mark.parametrize("fault", LOST)
def test_a_pause_whose_answer_is_lost_or_500_is_looked_for(pinot: PinotCluster, fault: Fault) -> None:
    pinot.rest.faults[1] = fault
    assert consumption.pause_table(pinot.ctx, TABLE, actor=ANN)["pauseFlag"] is True
    assert len(pinot.rest.changes) == 1 + (fault in (Fault.LOSE_BEFORE, Fault.ERROR_BEFORE))


def test_a_planned_end_comes_and_is_void_when_somebody_resumed_before(pinot: PinotCluster) -> None:
    consumption.pause_table(pinot.ctx, TABLE, resume_at_ms=pinot.inside.now + MINUTE, actor=ANN)
    committed(pinot)
    assert realtime_validation.keep_consumption(pinot.ctx) == []
    pinot.inside.now += MINUTE
    assert "planned end of its pause has come" in realtime_validation.keep_consumption(pinot.ctx)[0]
    assert consumption.pause_status(pinot.ctx, TABLE)["pauseFlag"] is False
    consumption.pause_table(pinot.ctx, TABLE, resume_at_ms=pinot.inside.now + MINUTE, actor=ANN)
    assert pinot.ctx.pinot is not None
    pinot.ctx.pinot.send("POST", "/tables/t/resumeConsumption")
    assert "resumed elsewhere" in realtime_validation.keep_consumption(pinot.ctx)[0]
    assert pinot_realtime.read_pause(pinot.ctx, TABLE) is None


def test_a_pause_that_a_consumer_did_not_hear_of_is_asked_for_again(pinot: PinotCluster) -> None:
    consumption.pause_table(pinot.ctx, TABLE, actor=ANN)
    assert realtime_validation.keep_consumption(pinot.ctx) == []
    pinot.inside.now += MINUTE
    assert "still consume; Pinot was asked again" in realtime_validation.keep_consumption(pinot.ctx)[0]
    assert realtime_validation.keep_consumption(pinot.ctx) == []
    committed(pinot)
    pinot.inside.now += MINUTE
    assert realtime_validation.keep_consumption(pinot.ctx) == []


def test_a_pause_that_pinot_refuses_leaves_what_was_on_record(pinot: PinotCluster) -> None:
    denied = httpx.Response(403, json={"code": 403, "error": "Permission is denied"})
    path = ("POST", "/tables/t/pauseConsumption")
    pinot.rest.refused[path] = denied
    with pytest.raises(Forbidden):
        consumption.pause_table(pinot.ctx, TABLE, comment="x", actor=ANN)
    assert pinot_realtime.read_pause(pinot.ctx, TABLE) is None
    del pinot.rest.refused[path]
    consumption.pause_table(pinot.ctx, TABLE, comment="first", resume_at_ms=pinot.inside.now + MINUTE, actor=ANN)
    pinot.rest.refused[path] = denied
    with pytest.raises(Forbidden):
        consumption.pause_table(pinot.ctx, TABLE, comment="second", actor=ANN)
    kept = pinot_realtime.read_pause(pinot.ctx, TABLE)
    assert kept is not None
    assert (kept.comment, kept.resume_at_ms) == ("first", pinot.inside.now + MINUTE)


def test_a_pause_that_no_server_hears_of_is_set_and_a_force_commit_that_none_hears_of_is_told_at_once(
    pinot: PinotCluster,
) -> None:
    unheard = httpx.Response(500, json={"code": 500, "error": "No force commit message sent for table: t_REALTIME"})
    pinot.rest.answered_with["POST", "/tables/t/pauseConsumption"] = unheard
    assert consumption.pause_table(pinot.ctx, TABLE, actor=ANN)["pauseFlag"] is True
    pinot.rest.refused["POST", "/tables/t/forceCommit"] = unheard
    before = len(pinot.rest.changes)
    with pytest.raises(Unavailable, match="No force commit message"):
        force_commit.force_commit(pinot.ctx, TABLE, Wanted(), BatchSettings(), actor=ANN)
    assert len(pinot.rest.changes) == before + 1


def test_a_pause_of_a_dropped_table_is_forgotten(pinot: PinotCluster) -> None:
    consumption.pause_table(pinot.ctx, TABLE, actor=ANN)
    pinot.inside.memory.delete(paths.ideal_state(TABLE.typed))
    assert realtime_validation.keep_consumption(pinot.ctx) == []
    assert pinot.ctx.store.children(paths.PAUSES) == []


def test_what_no_version_can_is_refused_with_the_reason_and_nothing_is_sent(pinot: PinotCluster) -> None:
    with pytest.raises(StateConflict, match=r"Pinot 1\.5\.1 has no pause of single partitions"):
        consumption.pause_partitions(pinot.ctx, TABLE, [0], actor=ANN)
    with pytest.raises(StateConflict, match="lastConsumed, smallest or largest only"):
        consumption.resume_table(pinot.ctx, TABLE, start=StartFrom("lastConsumed", {0: "5"}), actor=ANN)
    with pytest.raises(InvalidInput, match="past"):
        consumption.pause_table(pinot.ctx, TABLE, resume_at_ms=1, actor=ANN)
    assert pinot.rest.changes == []


def test_what_only_newer_versions_can_is_refused_on_an_old_one(old: PinotCluster, pinot: PinotCluster) -> None:
    with pytest.raises(StateConflict, match=r"Pinot 0\.11\.0 can pause a whole table only"):
        consumption.pause_topics(old.ctx, TABLE, [0], actor=ANN)
    with pytest.raises(StateConflict, match="commits all consuming segments of a table or none"):
        force_commit.force_commit(old.ctx, TABLE, Wanted(partitions=[0]), BatchSettings(), actor=ANN)
    assert old.rest.changes == []


def test_topics_are_passed_on_where_the_version_has_them(pinot: PinotCluster) -> None:
    consumption.pause_topics(pinot.ctx, TABLE, [1], actor=ANN)
    assert pinot.rest.changes == ["POST /tables/t/pauseTopicConsumption"]
    assert pinot.rest.params == [{"topicIndices": "1"}]
    with pytest.raises(InvalidInput):
        consumption.pause_topics(pinot.ctx, TABLE, [7], actor=ANN)


def test_a_force_commit_has_pinots_job_or_ours(pinot: PinotCluster, old: PinotCluster) -> None:
    answer = force_commit.force_commit(pinot.ctx, TABLE, Wanted(), BatchSettings(), actor=ANN)
    assert answer["forceCommitJobId"] == "job-1"
    assert force_commit.job_status(pinot.ctx, "job-1")["numberOfSegmentsYetToBeCommitted"] == 0


def test_where_a_version_keeps_no_job_the_segments_are_looked_at(old: PinotCluster) -> None:
    old.rest.has_jobs = False
    job = force_commit.force_commit(old.ctx, TABLE, Wanted(), BatchSettings(), actor=ANN)["forceCommitJobId"]
    assert force_commit.job_status(old.ctx, job)["segmentsYetToBeCommitted"] == [SEGMENT]
    assert force_commit.job_status(old.ctx, job)["jobId"] == job
    fields = SegmentMetadata(SEGMENT, {"segment.realtime.status": "DONE"}).to_record()
    update_record(old.inside.memory, paths.segment(TABLE.typed, SEGMENT), lambda _: fields)
    assert force_commit.job_status(old.ctx, job)["segmentsYetToBeCommitted"] == [
        SEGMENT
    ]  # Pinot writes the ideal state after it
    committed(old)
    assert force_commit.job_status(old.ctx, job)["numberOfSegmentsYetToBeCommitted"] == 0
    with pytest.raises(NotFound, match="keeps no job"):
        force_commit.job_status(old.ctx, "somebody-elses")


def test_what_consumes_where_is_asked_of_the_controller(pinot: PinotCluster) -> None:
    pinot.rest.consuming_info = {"_segmentToConsumingInfoMap": {SEGMENT: [{"serverName": "Server_a_1"}]}}
    found = consuming_info.consuming_segments_info(pinot.ctx, TABLE)
    assert found["_segmentToConsumingInfoMap"][SEGMENT][0]["serverName"] == "Server_a_1"
    assert found["serversFailingToRespond"] == 0


def test_a_table_that_is_not_there_is_not_found(pinot: PinotCluster) -> None:
    with pytest.raises(NotFound):
        consumption.pause_status(pinot.ctx, TableName("nothing", REALTIME))


def test_a_partition_that_stands_still_is_a_finding_and_nothing_is_repaired_from_here(pinot: PinotCluster) -> None:
    memory = pinot.inside.memory
    assert not any("Partition" in s for s in validation.run(pinot.ctx, TABLE))
    pinot.inside.now += 60 * MINUTE
    fields = SegmentMetadata(
        SEGMENT, {"segment.realtime.status": "DONE", "segment.realtime.endOffset": "9"}
    ).to_record()
    update_record(memory, paths.segment(TABLE.typed, SEGMENT), lambda _: fields)
    committed(pinot)
    said = validation.run(pinot.ctx, TABLE)
    assert any("Partition 0 does not consume" in s and "Pinot's own validation repairs it" in s for s in said)
    assert Finding.objects.get(cluster="prod", code="consumption-next").severity == "error"
    assert pinot.rest.changes == []
