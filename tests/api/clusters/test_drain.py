"""The drain of a server over REST."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from segments.domain.segments.ideal_state import external_view
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.models import Grant
from segments.services.rebalance import drain, rebalance
from segments.store import paths
from segments.store.records.instances import instance_configs, join
from segments.store.update import update_record
from tests.api.cluster import TAGS, ApiCluster

OLD, NEW = "Server_127.0.0.1_8098", "Server_127.0.0.1_8298"
PATH = f"/api/v1/instances/{OLD}/drain"
T = "t_OFFLINE"


@pytest.fixture
def spread(cluster: ApiCluster) -> ApiCluster:
    """Table t with nine segments on both servers, and a third server."""
    cluster.create(replication=2)
    both = {f"Server_127.0.0.1_{port}": "ONLINE" for port in (8098, 8198)}
    names = [f"s{number}" for number in range(9)]
    for name in names:
        fields = {"segment.crc": "1", "segment.size.in.bytes": "10", "segment.download.url": "file:///x"}
        cluster.memory.create(paths.segment(T, name), SegmentMetadata(name, fields).to_record())
    rows = dict.fromkeys(names, both)
    update_record(cluster.memory, paths.ideal_state(T), lambda node: _with(node, rows))
    join(cluster.memory, NEW, "127.0.0.1", 8298, TAGS, adminPort="8297")
    return cluster


def _with(node: Any, rows: dict[str, dict[str, str]]) -> Any:
    return replace(node.record, maps={**node.record.maps, **rows})


def turn(spread: ApiCluster) -> None:
    """The pass, and servers that do what they should."""
    drain.keep(spread.ctx)
    rebalance.keep(spread.ctx)
    ideal = spread.memory.get(paths.ideal_state(T))
    assert ideal is not None
    assert ideal.record is not None
    view = external_view(ideal.record, ideal.record.maps)
    update_record(spread.memory, paths.external_view(T), lambda _: view)


def test_a_server_is_drained_followed_and_given_back(spread: ApiCluster) -> None:
    before = spread.http.get(PATH).json()
    assert (before["state"], before["segmentsLeft"], before["refusals"]) == ("IN_SERVICE", 9, {})
    assert spread.http.post(f"{PATH}?dryRun=true").json() == before
    begun = spread.http.post(f"{PATH}?reason=disks").json()
    assert (begun["state"], begun["actor"], begun["reason"]) == ("DRAINING", "root", "disks")
    assert spread.http.get(f"/instances/{OLD}").json()["tags"] == ["server_untagged"]
    for _ in range(5):
        turn(spread)
    done = spread.http.get(PATH).json()
    assert (done["state"], done["percent"], done["tables"]) == ("DRAINED", 100, {})
    assert spread.http.delete(f"{PATH}?reason=back").json() == {"instance": OLD, "stoppedRebalances": []}
    assert tuple(spread.http.get(f"/instances/{OLD}").json()["tags"]) == tuple(TAGS)


def test_what_cannot_be_drained_is_refused_with_the_table(spread: ApiCluster) -> None:
    spread.memory.delete(paths.live_instance(NEW))
    answer = spread.http.post(PATH)
    assert answer.status_code == 409
    assert "Table 't_OFFLINE' keeps 2 replicas" in answer.json()["error"]
    assert spread.http.post("/api/v1/instances/Server_nobody_1/drain").status_code == 404
    assert spread.http.delete(PATH).status_code == 404


def test_who_operates_one_table_drains_no_server(spread: ApiCluster) -> None:
    tom = spread.as_user("tom")
    Grant.objects.create(user=User.objects.get(username="tom"), tables="t_OFFLINE", right="operate")
    assert tom.post(PATH).status_code == tom.delete(PATH).status_code == 403
    assert tom.get(PATH).json()["segmentsLeft"] == 9
    assert instance_configs(spread.memory)[OLD].tags == TAGS
