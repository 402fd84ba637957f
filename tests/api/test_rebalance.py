"""Rebalance over REST, as Pinot's clients send it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.services.rebalance import rebalance
from segments.store import paths
from segments.store.records.instances import join
from segments.store.update import update_record
from tests.api.cluster import TAGS, ApiCluster

NEW = "Server_127.0.0.1_8298"
PATH = "/tables/t/rebalance"


@pytest.fixture
def spread(cluster: ApiCluster) -> ApiCluster:
    """Table t with nine segments on both servers, and a third server."""
    cluster.create(replication=2)
    both = {f"Server_127.0.0.1_{port}": "ONLINE" for port in (8098, 8198)}
    for name in (f"s{number}" for number in range(9)):
        fields = {"segment.crc": "1", "segment.size.in.bytes": "10", "segment.download.url": "file:///x"}
        cluster.memory.create(paths.segment("t_OFFLINE", name), SegmentMetadata(name, fields).to_record())
        update_record(
            cluster.memory,
            paths.ideal_state("t_OFFLINE"),
            lambda node, name=name: _with(node, {name: both}),  # type: ignore[misc]  # bound
        )
    join(cluster.memory, NEW, "127.0.0.1", 8298, TAGS, adminPort="8297")
    return cluster


def _with(node: Any, rows: dict[str, dict[str, str]]) -> Any:
    return replace(node.record, maps={**node.record.maps, **rows})


def test_a_dry_run_answers_as_pinots(spread: ApiCluster) -> None:
    body = spread.http.post(f"{PATH}?type=OFFLINE&dryRun=true&preChecks=true").json()
    assert (body["status"], body["description"]) == ("DONE", "Dry-run mode")
    assert body["jobId"]
    assert sum(NEW in row for row in body["segmentAssignment"].values()) == 6
    assert body["preChecksResult"]["rebalanceConfigOptions"]["preCheckStatus"] == "PASS"
    assert body["rebalanceSummaryResult"]["segmentInfo"]["totalEstimatedDataToBeMovedInBytes"] == 60


def test_a_rebalance_is_begun_followed_and_stopped(spread: ApiCluster) -> None:
    begun = spread.http.post(f"{PATH}?type=OFFLINE").json()
    assert begun["status"] == "IN_PROGRESS"
    assert spread.http.post(f"{PATH}?type=OFFLINE").status_code == 409
    rebalance.keep(spread.ctx)
    status = spread.http.get(f"/rebalanceStatus/{begun['jobId']}").json()
    assert status["tableRebalanceProgressStats"]["status"] == "IN_PROGRESS"
    newest = spread.http.get("/api/v1/tables/t_OFFLINE/rebalance").json()
    assert (newest["jobId"], newest["actor"], newest["waitingFor"]) == (begun["jobId"], "root", 12)
    assert spread.http.delete(f"{PATH}?type=OFFLINE&reason=enough").json() == [begun["jobId"]]
    assert spread.http.delete(f"{PATH}?type=OFFLINE").json() == []
    assert spread.http.delete(f"{PATH}?type=REALTIME").status_code == 404
    assert spread.http.get("/api/v1/tables/t_OFFLINE/rebalance").json()["status"] == "CANCELLED"


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("", 400, "type"),
        ("type=WEEKLY", 400, "WEEKLY"),
        ("type=OFFLINE&minAvailableReplicas=3", 400, "minAvailableReplicas"),
        ("type=OFFLINE&minAvailableReplicas=x", 400, "minAvailableReplicas"),
        ("type=OFFLINE&batchSizePerServer=0", 400, "batchSizePerServer"),
        ("type=OFFLINE&bootstrap=true", 400, "bootstrap"),
        ("type=OFFLINE&preChecks=true", 400, "dryRun"),
        ("type=OFFLINE&downtime=perhaps", 400, "downtime"),
        ("type=OFFLINE&allowPeerDownloadDataLoss=true", 400, "reason"),
        ("type=REALTIME", 404, "t_REALTIME"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(spread: ApiCluster, query: str, status: int, words: str) -> None:
    answer = spread.http.post(f"{PATH}?{query}")
    assert answer.status_code == status, answer.json()
    assert words in answer.json()["error"]


def test_nothing_on_record_is_404(spread: ApiCluster) -> None:
    assert spread.http.get("/rebalanceStatus/nope").status_code == 404
    assert spread.http.get("/api/v1/tables/t_OFFLINE/rebalance").status_code == 404
