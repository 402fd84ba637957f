"""The history of snapshots over REST: listed, previewed, gone back to, and refused where that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster
from tests.api.cluster import ApiCluster
from tests.api.replacement.test_lineage import JSON, replaced
from tests.api.replacement.test_lineage import table as table
from tests.api.replacement.test_undo import served as served
from tests.api.replacement.test_undo import visible

HISTORY = "/api/v1/tables/t/snapshots"


@pytest.fixture
def follower(table: ApiCluster) -> ClusterFollower:
    cluster, _ = Cluster.objects.get_or_create(name=table.ctx.cluster)
    return ClusterFollower(table.ctx.store, cluster)


@pytest.fixture
def history(table: ApiCluster, follower: ClusterFollower) -> ApiCluster:
    """Snapshot 1 is a, 2 is b and c."""
    follower.sync_all()
    replaced(table, ["a"], ["b", "c"])
    follower.sync_all()
    return table


def restore(cluster: ApiCluster, number: int, method: str = "POST", **more: str) -> Any:
    return cluster.http.generic(method, f"{HISTORY}/{number}/restore", "", JSON, query_params=more)


def test_snapshots_are_listed_newest_first_with_what_is_left_of_them(history: ApiCluster) -> None:
    body = history.http.get(HISTORY).json()
    assert [(s["number"], s["madeBy"], s["rows"], s["state"]) for s in body["snapshots"]] == [
        (2, "switch", 6, "present"),
        (1, "first", 3, "served"),
    ]
    page = history.http.get(HISTORY, {"limit": "1", "before": "2"}).json()
    assert ([s["number"] for s in page["snapshots"]], page["more"]) == ([1], False)
    assert history.http.get(HISTORY, {"limit": "0"}).status_code == 400


def test_a_snapshot_is_previewed_and_gone_back_to_and_the_answer_says_how_to_undo_it(
    history: ApiCluster, follower: ClusterFollower
) -> None:
    preview = restore(history, 1, "GET").json()
    assert (preview["allowed"], preview["before"]["rows"], preview["after"]["rows"]) == (True, 6, 3)
    assert restore(history, 1, dryRun="true").json() == preview
    assert visible(history) == ["b", "c"]
    done = restore(history, 1, reason="wrong data").json()
    assert (done["number"], done["undo"], visible(history)) == (1, 2, ["a"])
    follower.sync_all()
    listed = history.http.get(HISTORY).json()["snapshots"]
    assert (listed[0]["number"], listed[0]["madeBy"], listed[0]["reason"]) == (3, "rollback", "wrong data")
    assert restore(history, done["undo"]).status_code == 200
    assert visible(history) == ["b", "c"]


@pytest.mark.parametrize(("number", "status"), [(2, 409), (7, 404), (2**40, 404)])
def test_what_cannot_be_gone_to_is_refused(history: ApiCluster, number: int, status: int) -> None:
    answer = restore(history, number)
    assert (answer.status_code, visible(history)) == (status, ["b", "c"]), answer.content
