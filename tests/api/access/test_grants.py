"""Rights for tables by pattern: what a grant opens and what it does not, by user and by group, on every
kind of path.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from segments.models import Grant
from segments.services.access.rights import covers, has_right, has_right_somewhere
from tests.api.cluster import ApiCluster, config_of, schema_of

JSON = "application/json"
OWN = "pinotadmin"


def grant(name: str, tables: str, right: str = "operate", cluster: str = OWN) -> None:
    Grant.objects.create(user=User.objects.get(username=name), tables=tables, right=right, cluster=cluster)


@pytest.mark.parametrize(
    ("pattern", "table", "is_covered"),
    [
        ("sales_*", "sales_eu", True),
        ("sales_*", "sales_eu_OFFLINE", True),
        ("sales_*", "presales_eu", False),
        ("sales_eu", "sales_eu_REALTIME", True),
        ("sales_eu_OFFLINE", "sales_eu_OFFLINE", True),
        ("sales_eu_OFFLINE", "sales_eu_REALTIME", False),
        ("sales_eu_OFFLINE", "sales_eu", False),
        ("Sales*", "sales_eu", False),
        ("*", "anything", True),
        ("*", None, True),
        ("sales_*", None, False),
        ("**", None, False),
    ],
)
def test_a_pattern_covers_raw_and_typed_names(pattern: str, table: str | None, is_covered: bool) -> None:
    assert covers(pattern, table) is is_covered


@pytest.mark.django_db
def test_rights_come_by_user_or_group_for_one_cluster_or_all_and_nothing_else() -> None:
    ann, ben = (User.objects.create_user(n) for n in ("ann", "ben"))
    team = Group.objects.create(name="sales")
    team.user_set.add(ben)
    Grant.objects.create(user=ann, cluster="prod", tables="a*", right="administer")
    Grant.objects.create(group=team, cluster="*", tables="b*", right="operate")
    asked = [
        (ann, "operate", "prod", "apples"), (ann, "administer", "prod", "apples"), (ann, "operate", "test", "apples"),
        (ann, "operate", "prod", "bread"), (ben, "operate", "test", "bread"), (ben, "administer", "test", "bread"),
        (ben, "operate", "test", None), (ben, "read", "test", "anything"),
    ]  # fmt: skip
    assert [has_right(u, r, c, t) for u, r, c, t in asked] == [True, True, False, False, True, False, False, True]  # type: ignore[arg-type]
    assert has_right_somewhere(ben, "operate", "test")
    assert not has_right_somewhere(ben, "administer", "test")
    ben.is_active = False
    assert not has_right(ben, "operate", "test", "bread")
    assert not has_right(ben, "read", "test")


@pytest.mark.django_db
def test_a_grant_is_for_exactly_one_of_user_and_group() -> None:
    from django.db import IntegrityError, transaction

    user, group = User.objects.create_user("ann"), Group.objects.create(name="g")
    for both in ({}, {"user": user, "group": group}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Grant.objects.create(tables="*", **both)


@pytest.fixture
def ann(cluster: ApiCluster) -> Client:
    """May operate on ``t`` and administer ``mine_*`` in the own cluster."""
    cluster.create("t").create("u")
    client = cluster.as_user("ann")
    grant("ann", "t")
    grant("ann", "mine_*", "administer")
    return client


def start(client: Client, table: str) -> int:
    return int(
        client.post(f"/segments/{table}/startReplaceSegments?type=OFFLINE", {"segmentsTo": ["new"]}, JSON).status_code
    )


def test_a_path_that_names_a_table_asks_for_that_table(cluster: ApiCluster, ann: Client) -> None:
    assert (start(ann, "t"), start(ann, "u"), start(ann, "t_OFFLINE")) == (200, 403, 409)
    assert start(cluster.as_user("nobody"), "t") == 403
    assert ann.delete("/tables/t").status_code == 403
    assert ann.get("/tables/u").status_code == 200
    assert ann.put("/instances/Server_127.0.0.1_8098/state?state=disable").status_code == 403
    assert (
        ann.post(
            "/clusters/pinotadmin/segments/u/startReplaceSegments?type=OFFLINE", {"segmentsTo": ["x"]}, JSON
        ).status_code
        == 403
    )


def test_a_table_in_the_body_is_the_table(cluster: ApiCluster, ann: Client) -> None:
    assert ann.post("/schemas", schema_of("mine_a"), JSON).status_code == 200
    assert ann.post("/tables", config_of("mine_a"), JSON).status_code == 200
    assert ann.post("/tables?tableName=mine_b", config_of("yours"), JSON).status_code == 403
    assert ann.post("/schemas", schema_of("yours"), JSON).status_code == 403
    assert ann.post("/tables", "no json", JSON).status_code == 403
    assert ann.delete("/tables/mine_a").status_code == 200
    assert ann.delete("/schemas/mine_a").status_code == 200


def test_a_table_in_a_parameter_is_the_table(cluster: ApiCluster, ann: Client, tasks: list[Any]) -> None:
    tar = cluster.build("s")
    assert cluster.post_tar(tar, client=ann).status_code == 200
    assert cluster.post_tar(cluster.build("s", table="u"), client=ann, tableName="u").status_code == 403
    assert cluster.post_tar(tar, client=ann, tableName=None).status_code == 403
    assert ann.post("/periodictask/run?taskname=RetentionManager&tableName=t&type=OFFLINE").status_code == 200
    assert ann.post("/periodictask/run?taskname=RetentionManager&tableName=u&type=OFFLINE").status_code == 403
    assert ann.post("/periodictask/run?taskname=RetentionManager").status_code == 403


def test_a_push_asks_for_the_table_of_its_specification(cluster: ApiCluster, ann: Client) -> None:
    spec = {
        "jobType": "SegmentCreationAndMetadataPush",
        "inputDirURI": "/nowhere",
        "tableSpec": {"tableName": "u"},
        "recordReaderSpec": {"dataFormat": "csv"},
    }
    assert ann.post("/api/v1/pushes", spec, JSON).status_code == 403
    assert (
        ann.post("/api/v1/pushes", {**spec, "tableSpec": {"tableName": "t"}}, JSON)
        .json()["error"]
        .startswith("'inputDirURI'")
    )
    assert ann.post("/api/v1/pushes", {**spec, "jobType": "odd"}, JSON).status_code == 400
    assert cluster.as_user("nobody").post("/api/v1/pushes", {**spec, "jobType": "odd"}, JSON).status_code == 403


def test_a_job_asks_for_its_table(cluster: ApiCluster, ann: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segments.api.replacement.lineage.enqueue_end", lambda *_: None)
    for table, expected in (("t", 200), ("u", 403)):
        path = f"/segments/{table}/startReplaceSegments?type=OFFLINE"
        entry = cluster.http.post(path, {"segmentsTo": ["new"]}, JSON).json()["segmentLineageEntryId"]
        assert cluster.post_tar(cluster.build("new", table=table), "new", tableName=table).status_code == 200
        cluster.serve(f"{table}_OFFLINE")
        made = cluster.http.post(f"/api/v1/lineage/{table}/{entry}/end", {}, JSON)
        assert made.status_code == 202, made.content
        job = made.json()["id"]
        assert ann.delete(f"/api/v1/jobs/{job}").status_code == expected
