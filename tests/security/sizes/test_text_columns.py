"""No text of a request is longer than the column that it ends in, and none holds U+0000: PostgreSQL would answer 500
where SQLite takes it.

In tests SQLite refuses both (``tests/strict_database.py``), so every other test that sends odd texts shows it, too.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import IntegrityError, models, transaction
from django.test import Client

from segments.models import AuditEvent, Cluster
from segments.services.core import audit
from tests.api.cluster import ApiCluster, basic

JSON = "application/json"
#: Columns of a cluster that a request may fill, and the fields of REST that do.
OF_CLUSTER = {
    "broker_url": "brokerUrl",
    "zookeeper": "zookeeper",
    "zookeeper_cluster": "zookeeperCluster",
    "zookeeper_user": "zookeeperUser",
    "deep_store_url": "deepStoreUrl",
    "auth_user": "authUser",
    "auth_source": "secretSource",
    "zookeeper_source": "zookeeperSecretSource",
    "tls_ca": "tlsCa",
    "tls_cert": "tlsCert",
    "tls_key": "tlsKey",
    "name": "name",
}
#: What is valid but for its length.
LONG = {
    "broker_url": "http://h/" + "x" * 600, "zookeeper": "h:1/" + "x" * 600, "deep_store_url": "file:///" + "x" * 600,
    "auth_source": "file:/" + "x" * 600,
    "zookeeper_source": "file:/" + "x" * 600,
}  # fmt: skip


def test_the_database_of_tests_refuses_what_another_would(db: None) -> None:
    for values in (
        {"actor": "x" * 151},
        {"actor": "a\0b"},
        {"actor": "a", "reason": "a\0b"},
        {"actor": "a", "detail": {"a": "\0"}},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            AuditEvent.objects.create(action="x", **values)


def test_every_text_column_of_ours_has_a_limit_or_is_free() -> None:
    texts = [
        f
        for m in apps.get_app_config("segments").get_models()
        for f in m._meta.concrete_fields
        if isinstance(f, models.CharField)
    ]
    assert len(texts) > 50
    assert [str(f) for f in texts if not f.max_length] == []


def test_the_record_takes_any_text() -> None:
    event = audit.cut(
        AuditEvent(
            actor="a\0" * 300, action="x" * 99, cluster="c" * 99, target="t\0" * 900, reason="r\0", address="1" * 99
        )
    )
    for field in event._meta.concrete_fields:
        value = getattr(event, field.attname)
        assert not isinstance(field, models.CharField) or len(value) <= (field.max_length or 0), field.name
        assert not isinstance(value, str) or "\0" not in value


@pytest.mark.parametrize("column", sorted(OF_CLUSTER))
def test_a_cluster_with_a_text_that_is_too_long_is_refused_by_rest_and_console(
    cluster: ApiCluster, settings: Any, tmp_path: Any, column: str
) -> None:
    settings.DATA_DIR = tmp_path
    long = LONG.get(column, "x" * 600)
    base: dict[str, Any] = {
        "name": "n",
        "controllerUrls": ["http://127.0.0.1:1"],
        "auth": "basic",
        "authUser": "u",
        "secret": "s",
        "zookeeper": "h:1",
    }
    if column == "auth_source":
        base.pop("secret")
    if column == "zookeeper_source":
        base["zookeeperUser"] = "u"
    if column == "zookeeper_user":
        base["zookeeperSecret"] = "s"
    answer = cluster.http.post("/api/v1/clusters?check=false", {**base, OF_CLUSTER[column]: long}, JSON)
    assert answer.status_code == 400, answer.content
    assert answer.json()["field"] == column
    assert not Cluster.objects.filter(kind="pinot").exists()


def test_reasons_and_names_with_u0000_or_of_any_length_are_recorded_or_refused(
    cluster: ApiCluster, tasks: list[Any]
) -> None:
    cluster.create("t")
    reason = "a%00b" + "x" * 3000
    assert (
        cluster.http.post(f"/periodictask/run?taskname=RetentionManager&tableName=t&reason={reason}").status_code < 500
    )
    assert cluster.http.delete(f"/segments/t/{'s' * 900}?type=OFFLINE&reason={reason}").status_code < 500
    assert cluster.http.post(f"/periodictask/run?taskname={'x' * 900}%00&tableName=t").status_code < 500
    spec = (
        'jobType: SegmentCreationAndTarPush\npinotFSSpecs: [{a: "a\\0b"}]\ninputDirURI: /x\ntableSpec: {tableName: t}\n'
    )
    assert cluster.http.post("/api/v1/pushes", spec, "text/plain").status_code == 400
    assert cluster.http.post("/clusters/test/tables", {"tableName": "t" * 200}, JSON).status_code < 500


def test_pages_take_or_refuse_any_text(cluster: ApiCluster, settings: Any) -> None:
    client = Client()
    client.force_login(User.objects.get(username="root"))
    User.objects.update(is_staff=True)
    for long, refused, shown_again in (("x" * 5000, 422, 200), ("a\0b", 400, 400)):
        form = {"name": long, "scopes": ["read"], "tables": long, "cluster": long, "days": "5", "reason": long}
        assert client.post("/console/tokens/", form).status_code == refused
        assert client.post("/console/passes/run/", {"task": long, "table": long, "reason": long}).status_code < 500
        assert client.post("/login/", {"username": long, "password": long}).status_code < 500
        assert client.get("/tables", headers={"Authorization": basic(long, long)}).status_code in (401, 429)
        grant = {"user": "1", "cluster": long, "tables": long, "right": "read"}
        assert client.post("/admin/segments/grant/add/", grant).status_code == shown_again
