"""Use cases that only read work on a Pinot cluster as they do on our own: explanations, differences, replicas, lag,
lists.
"""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from segments.clusters.pinot.tasks.queues import read_tasks, table_status
from segments.errors import Unavailable
from segments.services.realtime import consuming_info
from segments.services.realtime.consumers import read_consumers
from segments.services.realtime.lag import read_lag
from segments.services.replacement.explain import explain_entry
from segments.services.replacement.lineage_record import read_lineage
from segments.services.segments import archive, segments
from segments.services.segments.online import poll_interval_s
from segments.services.segments.replica_report import report_replicas
from segments.store import paths
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.pinot_cluster.replacement.test_replacement import replaced, started
from tests.pinot_cluster.test_realtime import SEGMENT, made
from tests.services.realtime_world import TABLE as REALTIME_TABLE
from tests.services.world import TABLE

pytestmark = pytest.mark.django_db


def test_an_entry_is_explained_with_what_pinot_will_do_to_it(pinot: PinotCluster) -> None:
    entry = replaced(pinot, ["a"], ["b"])
    found = explain_entry(pinot.ctx, TABLE, entry)
    assert (found.state, found.actor) == ("COMPLETED", "ann")
    said = [s.what for s in found.next_steps]
    assert any("Pinot's own retention deletes the old side 24 h after the switch" in s for s in said)
    assert any("Pinot 1.5.1 keeps one earlier snapshot" in s for s in said)
    open_entry = explain_entry(pinot.ctx, TABLE, started(pinot, ["b"], ["c"]))
    assert open_entry.state == "IN_PROGRESS"
    assert open_entry.end.reasons


def test_lists_replicas_and_lineage_come_from_pinots_state(pinot: PinotCluster) -> None:
    replaced(pinot, ["a"], ["b"])
    assert segments.list_segments(pinot.ctx, TABLE, exclude_replaced=True) == ["b"]
    assert report_replicas(pinot.ctx, TABLE, ("b",), None, required=None).online == 1
    lineage = read_lineage(pinot.ctx, TABLE)
    assert lineage is not None
    assert lineage.visible(["a", "b"]) == ["b"]
    assert archive.list_kept(pinot.ctx, TABLE) == ([], 0)


def test_lag_is_what_the_controller_reports_and_nobody_asks_its_servers(tmp_path: Path) -> None:
    pinot = made(tmp_path, "1.5.1")
    info = {"recordsLagMap": {"0": "7"}, "availabilityLagMsMap": {"0": "120"}, "currentOffsetsMap": {"0": "41"}}
    replica = {
        "serverName": "Server_a_1",
        "consumerState": "CONSUMING",
        "lastConsumedTimestamp": 1,
        "partitionOffsetInfo": info,
    }
    pinot.rest.consuming_info = {"_segmentToConsumingInfoMap": {SEGMENT: [replica]}}
    lag = read_lag(pinot.ctx, REALTIME_TABLE)
    assert [(p.partition, p.messages, p.behind_ms, p.offset) for p in lag] == [(0, 7, 120, "41")]
    assert read_consumers(pinot.ctx, REALTIME_TABLE) == []
    assert consuming_info.consumer_watermarks(pinot.ctx, REALTIME_TABLE)[0]["partitionGroupId"] == 0


def test_periodic_tasks_and_status_are_shown_as_far_as_pinot_reports_them(pinot: PinotCluster) -> None:
    pinot.rest.routes[("GET", "/periodictask/names")] = lambda r: httpx.Response(200, json=["RetentionManager"])
    found = read_tasks(pinot.ctx)
    assert (found.types, found.periodic) == ((), ("RetentionManager",))
    assert "switched off" in found.notes[0]
    assert table_status(pinot.ctx, TABLE) == {"size": None, "ingestion": None, "segments": None}


def test_a_controller_that_is_unreachable_is_reported(pinot: PinotCluster) -> None:
    pinot.rest.down.add("controller")
    with pytest.raises(Unavailable):
        read_tasks(pinot.ctx)
    with pytest.raises(Unavailable):
        segments.list_segments(pinot.ctx, TABLE)


def test_waiting_asks_pinot_less_and_less_often(pinot: PinotCluster) -> None:
    pauses = [poll_interval_s(pinot.ctx, n) for n in range(30)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 2.0
    assert poll_interval_s(pinot.inside.ctx, 29) == 0.05


def test_paths_of_ours_lie_in_our_own_zookeeper(pinot: PinotCluster) -> None:
    started(pinot, ["a"], ["b"])
    assert pinot.own.children("/PINOTADMIN/CLUSTERS/prod") == ["ENTRY_NOTES", "STARTS"]
    assert pinot.inside.memory.children(paths.STARTS) == []
