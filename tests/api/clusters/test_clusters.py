"""Clusters over REST: added, changed, checked, forgotten; their state in health and metrics; secrets
never come back.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from segments.domain.jobs.workers.pools import PASSES, REPAIRS
from segments.domain.jobs.workers.state import PoolState
from segments.gateways.pinot import http_controller
from segments.models import AuditEvent, Cluster, Grant
from tests.api.cluster import ApiCluster
from tests.api.pinot import RealPinot, real_pinot

JSON = "application/json"
SECRET = "the controller's password"
BODY = {
    "name": "prod",
    "controllerUrls": ["https://controller:9000/"],
    "auth": "basic",
    "authUser": "robot",
    "secret": SECRET,
}


@pytest.fixture
def installation(cluster: ApiCluster, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> RealPinot:
    """A data directory for secrets, and a controller whatever the address."""
    settings.DATA_DIR = tmp_path
    found = RealPinot()
    found.fake.broken = found.handle
    before = http_controller.open_client
    monkeypatch.setattr(
        http_controller, "open_client", lambda c, **more: before(c, **{**more, "transport": found.fake.transport()})
    )
    return found


@pytest.fixture
def pinot(cluster: ApiCluster) -> Iterator[RealPinot]:
    """Cluster ``prod``, there already."""
    with real_pinot(cluster) as found:
        yield found


def test_a_cluster_is_added_checked_changed_and_forgotten(cluster: ApiCluster, installation: RealPinot) -> None:
    made = cluster.http.post("/api/v1/clusters", BODY, JSON, headers={"X-Reason": "production"})
    assert (made.status_code, made["Location"]) == (201, "/api/v1/clusters/prod")
    assert (made.json()["check"]["state"], made.json()["version"]) == ("up", "1.2.0")
    changed = cluster.http.put("/api/v1/clusters/prod", {"brokerUrl": "https://broker:8099"}, JSON).json()
    assert (changed["brokerUrl"], changed["authUser"], changed["secretSource"]) == (
        "https://broker:8099",
        "robot",
        "stored",
    )
    assert [c["name"] for c in cluster.http.get("/api/v1/clusters").json()["clusters"]] == ["pinotadmin", "prod"]
    assert "pauseTopics" in cluster.http.get("/api/v1/clusters/prod").json()["lacking"]
    assert cluster.http.post("/api/v1/clusters/prod/check").json()["ok"] is True
    assert cluster.http.delete("/api/v1/clusters/prod").status_code == 200
    assert cluster.http.get("/api/v1/clusters/prod").status_code == 404
    actions = [e.action for e in AuditEvent.objects.order_by("id")]
    assert [actions[0], actions[-1]] == ["addCluster", "removeCluster"]
    assert AuditEvent.objects.get(action="addCluster").reason == "production"


def test_no_answer_and_no_record_holds_the_secret(cluster: ApiCluster, installation: RealPinot) -> None:
    texts = [cluster.http.post("/api/v1/clusters", BODY, JSON).content.decode()]
    texts.append(cluster.http.put("/api/v1/clusters/prod", {"secret": SECRET + "2"}, JSON).content.decode())
    texts += [
        cluster.http.get(p).content.decode()
        for p in ("/api/v1/clusters", "/api/v1/clusters/prod", "/api/v1/audit", "/health/clusters")
    ]
    assert SECRET not in "".join(texts)


def test_the_login_of_a_zookeeper_goes_in_and_its_password_never_comes_out(
    cluster: ApiCluster, installation: RealPinot
) -> None:
    login = {"zookeeper": "127.0.0.1:1", "zookeeperUser": "reader", "zookeeperSecret": "of the zookeeper"}
    made = cluster.http.post("/api/v1/clusters?check=false", {**BODY, **login}, JSON)
    assert (made.status_code, made.json()["zookeeperUser"], made.json()["zookeeperSecretSource"]) == (
        201,
        "reader",
        "stored",
    )
    changed = cluster.http.put("/api/v1/clusters/prod?check=false", {"zookeeper": "127.0.0.1:1/pinot"}, JSON)
    assert (changed.json()["zookeeperUser"], changed.json()["zookeeperSecretSource"]) == ("reader", "stored")
    texts = [made.content.decode(), changed.content.decode()]
    texts += [
        cluster.http.get(p).content.decode() for p in ("/api/v1/clusters", "/api/v1/clusters/prod", "/api/v1/audit")
    ]
    assert "of the zookeeper" not in "".join(texts)
    refused = cluster.http.put("/api/v1/clusters/prod?check=false", {"zookeeperUser": "a:b"}, JSON)
    assert (refused.status_code, refused.json()["field"]) == (400, "zookeeper_user")
    gone = cluster.http.put("/api/v1/clusters/prod?check=false", {"zookeeperUser": ""}, JSON)
    assert (gone.json()["zookeeperUser"], gone.json()["zookeeperSecretSource"]) == ("", "")


def test_that_it_does_not_answer_keeps_nobody_from_adding_it(cluster: ApiCluster, installation: RealPinot) -> None:
    installation.fake.down = {"controller"}
    installation.fake.broken = None
    made = cluster.http.post("/api/v1/clusters", BODY, JSON)
    assert made.status_code == 201
    assert (made.json()["state"], made.json()["check"]["ok"]) == ("down", False)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**BODY, "name": "no spaces"}, "name"),
        ({**BODY, "controllerUrls": "https://controller"}, "controllerUrls"),
        ({**BODY, "controllerUrls": ["controller:9000"]}, "controller_urls"),
        ({**BODY, "password": "x"}, "password"),
        ({**BODY, "tlsInsecure": "yes"}, "tlsInsecure"),
        ({**BODY, "secret": 7}, "secret"),
    ],
)
def test_a_malformed_cluster_is_refused_by_field(
    cluster: ApiCluster, installation: RealPinot, body: dict[str, Any], field: str
) -> None:
    answer = cluster.http.post("/api/v1/clusters", body, JSON)
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert not Cluster.objects.filter(kind="pinot").exists()


def test_the_own_cluster_is_neither_changed_nor_forgotten(cluster: ApiCluster, installation: RealPinot) -> None:
    cluster.http.get("/api/v1/clusters")
    assert cluster.http.delete("/api/v1/clusters/pinotadmin").status_code == 403
    assert cluster.http.put("/api/v1/clusters/pinotadmin", {"controllerUrls": ["http://x:1"]}, JSON).status_code == 403


def test_only_who_administers_the_whole_installation_changes_clusters(
    cluster: ApiCluster, installation: RealPinot
) -> None:
    cluster.http.post("/api/v1/clusters", BODY, JSON)
    olga = cluster.as_user("olga", "operate")
    Grant.objects.create(user=User.objects.get(username="olga"), cluster="prod", tables="*", right="administer")
    assert olga.get("/api/v1/clusters").status_code == 200
    assert olga.post("/api/v1/clusters", {**BODY, "name": "other"}, JSON).status_code == 403
    assert olga.put("/api/v1/clusters/prod", {"brokerUrl": ""}, JSON).status_code == 403
    assert olga.delete("/api/v1/clusters/prod").status_code == 403
    assert olga.post("/api/v1/clusters/prod/check").status_code == 403
    assert cluster.as_user("anna", "administer").post("/api/v1/clusters/prod/check").status_code == 200


def test_no_administrator_gets_at_a_secret_by_a_cluster_of_their_own(
    cluster: ApiCluster, installation: RealPinot
) -> None:
    anna = cluster.as_user("anna", "administer")
    named = {**BODY, "secret": "", "secretSource": "env:PINOTADMIN_SECRET_KEY"}
    assert anna.post("/api/v1/clusters", named, JSON).status_code == 403
    assert anna.post("/api/v1/clusters", BODY, JSON).status_code == 201
    for change in (
        {"controllerUrls": ["https://evil:9000"]},
        {"brokerUrl": "https://evil"},
        {"secretSource": "file:/etc/passwd"},
    ):
        assert anna.put("/api/v1/clusters/prod", change, JSON).status_code == 403, change
    assert (
        anna.put(
            "/api/v1/clusters/prod", {"controllerUrls": ["https://new:9000"], "secret": "typed anew"}, JSON
        ).status_code
        == 200
    )
    assert anna.put("/api/v1/clusters/prod", {"tlsInsecure": True}, JSON).status_code == 200


def test_the_audit_trail_of_a_cluster_is_its_own(cluster: ApiCluster, pinot: RealPinot) -> None:
    cluster.http.post("/clusters/prod/tenants", {}, JSON)
    cluster.create("t")
    assert {e["cluster"] for e in cluster.http.get("/clusters/prod/api/v1/audit").json()["events"]} == {"prod"}
    assert {e["cluster"] for e in cluster.http.get("/api/v1/audit?cluster=prod").json()["events"]} == {"prod"}
    assert len({e["cluster"] for e in cluster.http.get("/api/v1/audit").json()["events"]}) == 2
    assert cluster.http.get("/clusters/nothing/api/v1/audit").status_code == 404


def test_health_and_metrics_name_a_worker_that_does_not_work(
    cluster: ApiCluster, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get("/health/workers").status_code == 401
    ann = cluster.as_user("ann")
    answer = ann.get("/health/workers").json()
    assert answer["ok"] is False
    assert "Redis does not answer" in answer["workers"][0]["problem"]
    monkeypatch.setattr("segments.wiring.worker_states", lambda: [PoolState(PASSES, ""), PoolState(REPAIRS, "stuck")])
    assert [(w["name"], w["ok"]) for w in ann.get("/health/workers").json()["workers"]] == [
        ("passes", True),
        ("repairs", False),
    ]
    assert 'pinotadmin_worker_up{pool="repairs"} 0.0' in ann.get("/metrics").content.decode()


def test_health_and_metrics_report_the_state_of_each_cluster(
    cluster: ApiCluster, pinot: RealPinot, client: Client
) -> None:
    assert client.get("/health/clusters").status_code == 401
    ann = cluster.as_user("ann")
    assert ann.get("/health/clusters").json()["ok"] is True
    seen = timezone.now() - timedelta(minutes=5)
    Cluster.objects.filter(name="prod").update(
        state="down", state_since=seen, mirrored_at=seen, last_error="refused", calls_per_minute=7
    )
    answer = ann.get("/health/clusters")
    found = answer.json()["clusters"][0]
    assert (answer.status_code, answer.json()["ok"], found["state"], found["error"]) == (200, False, "down", "refused")
    assert 299 < found["mirrorAgeSeconds"] < 400
    text = ann.get("/metrics").content.decode()
    assert 'pinotadmin_cluster_up{cluster="prod"} 0.0' in text
    assert 'pinotadmin_cluster_mirror_calls{cluster="prod"} 7.0' in text
    assert 'pinotadmin_cluster_mirror_age_seconds{cluster="prod"}' in text


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"controllerUrls": "http://x"}, "controllerUrls"),
        ({"controllerUrls": [1]}, "controllerUrls[0]"),
        ({"tlsInsecure": "yes"}, "tlsInsecure"),
        ({"secret": {}}, "secret"),
        ({"name": 5}, "name"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_body_of_another_type_is_refused_with_its_path(cluster: ApiCluster, body: Any, field: str) -> None:
    answer = cluster.http.post(
        "/api/v1/clusters", {"name": "n", "controllerUrls": ["http://127.0.0.1:1"], **body}, "application/json"
    )
    assert (answer.status_code, answer.json()["field"]) == (400, field)
