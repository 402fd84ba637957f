"""What a real Pinot's controller reports of its tasks and tables, over our API."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.api.cluster import ApiCluster
from tests.api.pinot import RealPinot, real_pinot


@pytest.fixture
def pinot(cluster: ApiCluster) -> Iterator[RealPinot]:
    """Cluster ``prod``."""
    with real_pinot(cluster) as found:
        yield found


def answer(request: httpx.Request) -> httpx.Response:
    found = {
        "/tasks/tasktypes": ["PurgeTask"],
        "/tasks/PurgeTask/taskstates": {"T_1": "COMPLETED"},
        "/tasks/PurgeTask/state": "STOPPED",
        "/periodictask/names": ["RetentionManager"],
    }
    if request.url.path in found:
        return httpx.Response(200, json=found[request.url.path])
    return httpx.Response(404, json={"code": 404, "error": "Task scheduler is disabled"})


def test_tasks_and_schedules_are_reported_as_far_as_the_controller_does(cluster: ApiCluster, pinot: RealPinot) -> None:
    pinot.answer = answer
    body = cluster.http.get("/clusters/prod/api/v1/tasks").json()
    (purge,) = body["types"]
    assert purge == {
        "name": "PurgeTask",
        "queue": "STOPPED",
        "counts": {"COMPLETED": 1},
        "tasks": {"T_1": "COMPLETED"},
        "tables": [],
        "has_queue": True,
    }
    assert (body["scheduler"], body["schedules"]) == ("off", [])
    assert body["periodic"] == ["RetentionManager"]
    assert "switched off" in body["notes"][0]


def test_the_own_cluster_has_periodic_passes_and_no_controller(cluster: ApiCluster) -> None:
    cluster.create("t")
    assert "RetentionManager" in cluster.http.get("/api/v1/tasks").json()["periodic"]
    assert cluster.http.get("/api/v1/tables/t/controllerStatus").status_code == 409
