"""What consumption has of its own on a Pinot cluster: lost answers, what versions lack, what we keep beside Pinot.

What it has in common with the embedded cluster: ``tests/services/realtime/test_every_kind.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

import httpx
import pytest

from segments.clusters.pinot import consumption as pinot_realtime
from segments.domain.realtime.force_commit import BatchSettings
from segments.domain.realtime.pause import time_text
from segments.errors import Forbidden, NotFound, StateConflict, Unavailable
from segments.models import Finding
from segments.services.core.context import Actor
from segments.services.realtime import consuming_info, consumption, force_commit, realtime_validation
from segments.services.realtime.consuming_segments import StartFrom
from segments.services.realtime.force_commit import Wanted
from segments.services.upkeep import validation
from segments.store import paths
from tests.pinot_cluster.fake_pinot import Fault, PinotCluster
from tests.pinot_cluster.replacement.test_replacement import LOST
from tests.services.realtime.kinds import realtime_pinot
from tests.services.realtime_world import TABLE, RealtimeWorld
from tests.services.world import ANN

pytestmark = pytest.mark.django_db

SEGMENT = "t__0__0__20231114T2213Z"
MINUTE = 60_000


def made(folder: Path, version: str) -> PinotCluster:
    """A table of two topics, one partition in each: SEGMENT consumes, and another one."""
    return realtime_pinot(folder, version, topics=2)


def inside(pinot: PinotCluster) -> RealtimeWorld:
    return cast(RealtimeWorld, pinot.inside)


@pytest.fixture
def pinot(tmp_path: Path) -> PinotCluster:
    """Pinot 1.5.1."""
    return made(tmp_path, "1.5.1")


@pytest.fixture
def old(tmp_path: Path) -> PinotCluster:
    """The same on Pinot 0.11.0."""
    return made(tmp_path, "0.11.0")


def test_a_comment_and_the_word_lastconsumed_are_sent_where_the_version_takes_them(pinot: PinotCluster) -> None:
    consumption.pause_table(pinot.ctx, TABLE, comment="new schema", actor=ANN)
    assert pinot.rest.params[-1]["comment"] == "new schema"
    consumption.resume_table(pinot.ctx, TABLE, actor=ANN)
    assert pinot.rest.params[-1]["consumeFrom"] == "lastConsumed"


def test_the_batches_of_a_pause_reach_pinot_also_when_it_is_asked_again(pinot: PinotCluster, old: PinotCluster) -> None:
    batch = BatchSettings(4, 7, 30)
    consumption.pause_table(pinot.ctx, TABLE, batch=batch, actor=ANN)
    pinot.inside.now += MINUTE
    realtime_validation.keep_consumption(pinot.ctx)
    wanted = {"batchSize": "4", "batchStatusCheckIntervalSec": "7", "batchStatusCheckTimeoutSec": "30"}
    sent = [params for params in pinot.rest.params if "batchSize" in params]
    assert [{key: params[key] for key in wanted} for params in sent] == [wanted, wanted]
    with pytest.raises(StateConflict, match=r"Pinot 0\.11\.0"):
        consumption.pause_table(old.ctx, TABLE, batch=batch, actor=ANN)
    assert old.rest.changes == []


def test_a_pause_that_was_ended_elsewhere_is_forgotten(pinot: PinotCluster) -> None:
    consumption.pause_table(pinot.ctx, TABLE, resume_at_ms=pinot.inside.now + MINUTE, actor=ANN)
    inside(pinot).commit()
    consumption.resume_table(pinot.inside.ctx, TABLE, actor=ANN)
    assert "resumed elsewhere" in realtime_validation.keep_consumption(pinot.ctx)[0]
    assert pinot_realtime.read_pause(pinot.ctx, TABLE) is None


def test_what_a_version_lacks_is_refused_with_its_number_and_nothing_is_sent(
    pinot: PinotCluster, old: PinotCluster
) -> None:
    with pytest.raises(StateConflict, match=r"Pinot 1\.5\.1 has no pause of single partitions"):
        consumption.pause_partitions(pinot.ctx, TABLE, [0], actor=ANN)
    with pytest.raises(StateConflict, match="lastConsumed, smallest or largest only"):
        consumption.resume_table(pinot.ctx, TABLE, start=StartFrom("lastConsumed", {0: "5"}), actor=ANN)
    with pytest.raises(StateConflict, match=r"Pinot 0\.11\.0 can pause a whole table only"):
        consumption.pause_topics(old.ctx, TABLE, [0], actor=ANN)
    with pytest.raises(StateConflict, match="commits all consuming segments of a table or none"):
        force_commit.force_commit(old.ctx, TABLE, Wanted(partitions=[0]), BatchSettings(), actor=ANN)
    assert (pinot.rest.changes, old.rest.changes) == ([], [])


def test_where_a_version_keeps_no_job_the_segments_are_examined(old: PinotCluster) -> None:
    job = force_commit.force_commit(old.ctx, TABLE, Wanted(), BatchSettings(), actor=ANN)["forceCommitJobId"]
    world = inside(old)
    first, second = world.consuming
    assert force_commit.job_status(old.ctx, job)["segmentsYetToBeCommitted"] == [first, second]
    assert force_commit.job_status(old.ctx, job)["jobId"] == job
    world.done(first, "9")  # Pinot writes the ideal state after it
    assert force_commit.job_status(old.ctx, job)["segmentsYetToBeCommitted"] == [first, second]
    world.commit()
    assert force_commit.job_status(old.ctx, job)["numberOfSegmentsYetToBeCommitted"] == 0
    with pytest.raises(NotFound, match="keeps no job"):
        force_commit.job_status(old.ctx, "somebody-elses")


def test_a_partition_that_stands_still_is_a_finding_and_nothing_is_repaired_from_here(pinot: PinotCluster) -> None:
    assert not any("Partition" in s for s in validation.run(pinot.ctx, TABLE))
    pinot.inside.now += 60 * MINUTE
    inside(pinot).done(SEGMENT, "9").set_row(SEGMENT, "ONLINE")
    found = validation.run(pinot.ctx, TABLE)
    assert any("Partition 0 does not consume" in s and "Pinot's own validation repairs it" in s for s in found)
    assert Finding.objects.get(cluster="prod", code="consumption-next").severity == "error"
    assert pinot.rest.changes == []


def test_an_old_version_has_no_field_for_the_reason_so_it_is_ours(old: PinotCluster) -> None:
    status = consumption.pause_table(old.ctx, TABLE, comment="new schema", actor=ANN)
    assert "comment" not in old.rest.params[-1]
    assert (status["comment"], status["actor"]) == ("new schema", "ann")
    consumption.resume_table(old.ctx, TABLE, actor=ANN)
    assert "consumeFrom" not in old.rest.params[-1]


def test_the_status_of_an_old_version_has_what_newer_ones_report(old: PinotCluster) -> None:
    never = pinot_realtime.pause_status(old.ctx, TABLE)
    assert (never["reasonCode"], never["comment"], never["timestamp"]) == ("ADMINISTRATIVE", "Table is unpaused.", "")
    before = old.inside.now
    paused = consumption.pause_table(old.ctx, TABLE, comment=None, actor=Actor("ann"))
    assert (paused["comment"], paused["timestamp"]) == ("Table is paused.", time_text(before))
    assert never["consumingSegments"] == inside(old).consuming


@pytest.mark.parametrize("fault", LOST)
def test_a_pause_whose_answer_is_lost_or_500_is_verified(pinot: PinotCluster, fault: Fault) -> None:
    pinot.rest.faults[1] = fault
    assert consumption.pause_table(pinot.ctx, TABLE, actor=ANN)["pauseFlag"] is True
    assert len(pinot.rest.changes) == 1 + (fault in (Fault.LOSE_BEFORE, Fault.ERROR_BEFORE))


def test_a_pause_that_a_consumer_did_not_hear_of_is_asked_for_again(pinot: PinotCluster) -> None:
    consumption.pause_table(pinot.ctx, TABLE, actor=ANN)
    assert realtime_validation.keep_consumption(pinot.ctx) == []
    pinot.inside.now += MINUTE
    assert "still consume; Pinot was asked again" in realtime_validation.keep_consumption(pinot.ctx)[0]
    assert realtime_validation.keep_consumption(pinot.ctx) == []
    inside(pinot).commit()
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
    until = pinot.inside.now + MINUTE
    consumption.pause_table(pinot.ctx, TABLE, comment="first", resume_at_ms=until, actor=ANN)
    pinot.rest.refused[path] = denied
    with pytest.raises(Forbidden):
        consumption.pause_table(pinot.ctx, TABLE, comment="second", actor=ANN)
    kept = pinot_realtime.read_pause(pinot.ctx, TABLE)
    assert kept is not None
    assert (kept.comment, kept.resume_at_ms) == ("first", until)


def test_a_pause_that_no_server_hears_of_is_set_and_a_force_commit_that_none_hears_of_is_reported_at_once(
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


def test_topics_are_passed_on_where_the_version_has_them(pinot: PinotCluster) -> None:
    consumption.pause_topics(pinot.ctx, TABLE, [1], actor=ANN)
    assert pinot.rest.changes == ["POST /tables/t/pauseTopicConsumption"]
    assert pinot.rest.params == [{"topicIndices": "1"}]


def test_commits_under_way_are_asked_of_the_controller(pinot: PinotCluster) -> None:
    pinot.rest.pauseless_info = {"committingSegments": [SEGMENT]}
    found = consuming_info.pauseless_debug_info(pinot.ctx, TABLE)
    assert found == {"instanceToErrorSegmentsMap": {}, "committingSegments": [SEGMENT]}


def test_what_consumes_where_is_asked_of_the_controller(pinot: PinotCluster) -> None:
    pinot.rest.consuming_info = {"_segmentToConsumingInfoMap": {SEGMENT: [{"serverName": "Server_a_1"}]}}
    found = consuming_info.consuming_segments_info(pinot.ctx, TABLE)
    assert found["_segmentToConsumingInfoMap"][SEGMENT][0]["serverName"] == "Server_a_1"
    assert found["serversFailingToRespond"] == 0
