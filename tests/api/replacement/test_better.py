"""What Pinot does wrong in replacements, and how clients see it done right here. The others are in the tests of
services.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from segments.clusters.embedded.segments.deletion_queue import read_queue
from segments.services.core.context import Limits
from segments.services.replacement import entry_reaper
from segments.services.segments import deletion
from segments.services.upkeep import retention
from segments.services.upkeep.periodic_passes import DECLARED
from segments.store import paths
from tests.api.cluster import TABLE, ApiCluster
from tests.api.replacement.test_lineage import end, replaced, start

JSON = "application/json"
HOUR = 3_600_000


@pytest.fixture
def table(cluster: ApiCluster, tasks: list[Any]) -> ApiCluster:
    """Segment a is served; there is no broker that could acknowledge; limits are the defaults."""
    cluster.memory.delete("/LIVEINSTANCES/Broker_127.0.0.1_9000")
    return cluster.create().push("a")


def visible(cluster: ApiCluster) -> list[str]:
    return list(cluster.http.get("/segments/t?type=OFFLINE&excludeReplacedSegments=true").json()[0]["OFFLINE"])


def states(cluster: ApiCluster) -> dict[str, str]:
    entries = cluster.http.get("/segments/t/lineage?type=OFFLINE").json()["lineageEntries"]
    return {e: body["state"] for e, body in entries.items()}


def test_pinot_drops_a_push_that_takes_longer_than_a_day_while_its_client_uploads(table: ApiCluster) -> None:
    new = [f"n{i}" for i in range(4)]
    entry = start(table, ["a"], new)
    for segment in new:
        table.now += 20 * HOUR
        table.push(segment)
        retention.run(table.ctx, TABLE)
    assert (states(table), visible(table)) == ({entry: "IN_PROGRESS"}, ["a"])
    assert end(table, entry).status_code == 200
    assert visible(table) == new


def test_pinot_keeps_what_a_dead_client_began_for_a_day(table: ApiCluster) -> None:
    """A client that sent heartbeats and fell silent, with the default lease and the default schedule."""
    ctx = replace(table.ctx, limits=Limits())
    entry = start(table, ["a"], ["b"])
    table.push("b")
    assert table.http.post(f"/api/v1/lineage/t/{entry}/heartbeat", "", JSON).status_code == 200
    every = next(one.every.number for one in DECLARED if one.task == "reap_entries")
    died = table.now
    while states(table)[entry] == "IN_PROGRESS" and table.now - died <= 90_000:
        table.now += every * 1000
        entry_reaper.run(ctx, TABLE)
    assert (states(table)[entry], visible(table)) == ("REVERTED", ["a"])
    assert 40_000 < table.now - died <= 90_000


def test_pinot_reverts_without_saying_what_queries_see_then_and_what_goes(table: ApiCluster) -> None:
    entry = replaced(table, ["a"], ["b", "c"])
    address = f"/segments/t/revertReplaceSegments?type=OFFLINE&segmentLineageEntryId={entry}"
    told = table.http.post(f"{address}&dryRun=true").json()
    assert (states(table), visible(table)) == ({entry: "COMPLETED"}, ["b", "c"])
    assert (told["allowed"], told["before"]["rows"], told["after"]["rows"], told["deleted_segments"]) == (
        True,
        6,
        3,
        ["b", "c"],
    )
    assert table.http.post(address).status_code == 200
    assert (visible(table), sorted(table.ideal)) == (["a"], ["a"])


def test_pinot_takes_a_late_upload_for_new_data_once_the_reverted_entry_is_gone(table: ApiCluster) -> None:
    """The upload names its replacement; it is refused before and after the entry was cleaned up."""
    entry = start(table, ["a"], ["b"])
    assert (
        table.http.post(
            f"/segments/t/revertReplaceSegments?type=OFFLINE&segmentLineageEntryId={entry}&forceRevert=true"
        ).status_code
        == 200
    )
    table.now += 1
    tar = table.build("b")
    assert table.post_tar(tar, "b", segmentLineageEntryId=entry).status_code == 409
    for _ in range(2):
        retention.run(table.ctx, TABLE)
    assert states(table) == {}
    gone = table.post_tar(tar, "b", segmentLineageEntryId=entry)
    assert (gone.status_code, gone.json()["entry"]) == (404, entry)
    assert (visible(table), table.files) == (["a"], ["a"])


def test_pinot_forgets_pending_deletions_when_its_controller_restarts(table: ApiCluster) -> None:
    table.push("b")
    assert table.http.delete("/segments/t_OFFLINE/b?retention=0d").status_code == 200
    assert (sorted(table.ideal), list(read_queue(table.ctx, TABLE).items), table.files) == (["a"], ["b"], ["a", "b"])
    other = replace(table.serve().ctx, new_id=lambda: "another process")
    deletion.drain_all(other)
    assert (table.record(paths.segment("t_OFFLINE", "b")), table.files, dict(read_queue(other, TABLE).items)) == (
        None,
        ["a"],
        {},
    )


def test_pinot_finds_out_half_way_through_a_push_that_its_quota_is_used_up(cluster: ApiCluster) -> None:
    cluster.create(quota={"storage": "1M"}).push("a")
    body = {"segmentsFrom": ["a"], "segmentsTo": ["b", "c"], "customMap": {"pinotadmin.declaredBytes": str(1 << 20)}}
    refused = cluster.http.post("/segments/t/startReplaceSegments?type=OFFLINE", body, JSON)
    assert (refused.status_code, refused.json()["allowedBytes"]) == (403, 1 << 20)
    assert "Nothing was started" in refused.json()["remedy"]
    assert (cluster.http.get("/segments/t/lineage?type=OFFLINE").content, list(cluster.ideal)) == (b"", ["a"])
