"""Who may do what over the API, the form of errors, and what a refusal leaves behind."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from segments import wiring
from segments.models import AuditEvent
from segments.services.access import refusals, sign_in
from segments.store import paths
from tests.api.cluster import ApiCluster, basic, schema_of

JSON = "application/json"


def test_nothing_but_health_is_open_to_strangers(cluster: ApiCluster) -> None:
    stranger = Client()
    assert stranger.get("/health").content == b"OK"
    assert stranger.get("/health/liveness").status_code == 200
    for path in (
        "/tables",
        "/query/sql?sql=select+1",
        "/metrics",
        "/version",
        "/api/v1/audit",
        "/api/schema/",
        "/segments/t/s",
    ):
        answer = stranger.get(path)
        assert answer.status_code == 401, path
        assert answer["WWW-Authenticate"].startswith("Basic")


def test_rights_are_needed_for_changes(cluster: ApiCluster) -> None:
    cluster.create()
    reader, operator = cluster.as_user("reader"), cluster.as_user("operator", "operate")
    admin = cluster.as_user("admin", "administer")
    start = {"segmentsFrom": [], "segmentsTo": ["b"]}
    path = "/segments/t/startReplaceSegments?type=OFFLINE"
    assert reader.get("/tables").status_code == 200
    assert reader.post("/query/sql", {"sql": "select 1"}, JSON).status_code == 200
    assert [c.post(path, start, JSON).status_code for c in (reader, operator)] == [403, 200]
    assert [c.delete("/tables/t").status_code for c in (reader, operator, admin)] == [403, 403, 200]


def test_a_refusal_is_on_record_but_a_flood_is_not(cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "_window", refusals.Window())
    reader = cluster.as_user("reader")
    for _ in range(refusals.PER_MINUTE + 20):
        assert reader.delete("/tables/t").status_code == 403
    refused = AuditEvent.objects.filter(outcome="refused", action="access")
    assert refused.count() <= 2 * refusals.PER_MINUTE - 20
    assert refused.count() >= refusals.PER_MINUTE
    event = refused.first()
    assert event is not None
    assert (event.actor, event.target) == ("reader", "/tables/t")


def test_a_password_is_checked_once_a_minute_but_a_change_counts_at_once(
    cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[str] = []
    check = User.check_password
    monkeypatch.setattr(User, "check_password", lambda self, raw: checks.append(raw) or check(self, raw))
    ann = cluster.as_user("ann", password="the first secret")
    assert [ann.get("/tables").status_code for _ in range(3)] == [200] * 3
    assert len(checks) == 1
    user = User.objects.get(username="ann")
    user.set_password("the second secret")
    user.save()
    assert ann.get("/tables").status_code == 401
    changed = Client(headers={"Authorization": basic("ann", "the second secret")})
    assert changed.get("/tables").status_code == 200
    User.objects.filter(username="ann").update(is_active=False)
    assert changed.get("/tables").status_code == 401


def test_a_wrong_password_is_on_record_with_the_user_it_was_tried_for(
    cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "_window", refusals.Window())
    cluster.as_user("ann", password="the right secret")
    for name in ("ann", "a secret typed into the wrong field"):
        assert Client(headers={"Authorization": basic(name, "the wrong secret")}).get("/tables").status_code == 401
    nobody, ann = AuditEvent.objects.filter(outcome="refused", target="/tables").order_by("-id")[:2]
    assert (ann.actor, ann.detail["user"]) == ("anonymous", "ann")
    assert "user" not in nobody.detail


@pytest.mark.parametrize("path", ["/nothing", "/segments/a/b/c/d", "/api/v1/nothing"])
def test_an_unknown_address_answers_a_client_json_and_a_browser_a_page(client: Client, path: str) -> None:
    for accept in ("*/*", "application/json", ""):
        answer = client.get(path, headers={"Accept": accept})
        assert (answer.status_code, answer.json()["code"]) == (404, 404)
        assert path in answer.json()["error"]
    page = client.get(path, headers={"Accept": "text/html,*/*;q=0.8"})
    if path.startswith("/api/v1/"):
        assert page.json()["code"] == 404  # nothing there is a page
        return
    assert (page.status_code, page["Content-Type"]) == (404, "text/html; charset=utf-8")


def test_a_foreign_host_name_answers_a_client_json(client: Client) -> None:
    answer = client.get("/nothing", headers={"Host": "evil.example"})
    assert (answer.status_code, answer.json()["code"]) == (400, 400)


def test_a_wrong_password_is_never_remembered(cluster: ApiCluster) -> None:
    cluster.as_user("ann", password="the right secret")
    wrong = Client(headers={"Authorization": basic("ann", "the wrong secret")})
    before = len(sign_in._checked)
    assert [wrong.get("/tables").status_code for _ in range(2)] == [401, 401]
    assert len(sign_in._checked) == before


@pytest.mark.parametrize("password", ["a", "ab", "abc", "größer", "with:colon"])
def test_credentials_count_without_the_padding_that_pinots_clients_cut_off(cluster: ApiCluster, password: str) -> None:
    cluster.as_user("ann", password=password)
    header = basic("ann", password)
    for sent in (header, header.rstrip("="), header.replace("Basic", "basic")):
        assert Client(headers={"Authorization": sent}).get("/tables").status_code == 200, sent


@pytest.mark.parametrize("token", ["", "=", "YW5u", "a", "not base64!"])
def test_what_is_no_basic_header_is_refused(cluster: ApiCluster, token: str) -> None:
    answer = Client(headers={"Authorization": f"Basic {token}"}).get("/tables")
    assert (answer.status_code, "base64 of user:password" in answer.json()["error"]) == (401, True)


def test_a_session_needs_a_csrf_token_and_changes_nothing_by_get(cluster: ApiCluster, tasks: list[Any]) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.get(username="root"))
    assert browser.get("/tables").status_code == 200
    assert browser.post("/schemas", schema_of(), JSON).status_code == 403
    assert browser.get("/periodictask/run?taskname=RetentionManager").status_code == 403
    assert tasks == []


def test_a_fault_of_ours_is_500_with_an_id_and_no_traceback(
    cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("segments.services.tables.schemas.list_schemas", fail)
    answer = cluster.http.get("/schemas")
    assert answer.status_code == 500
    assert "secret detail" not in answer.content.decode()
    assert answer.json()["requestId"] in answer.json()["error"]
    assert answer.json()["requestId"] in caplog.text


def test_readiness_is_about_queries_and_reports_every_part(
    cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Redis, and without a database that was there, queries are answered."""

    def down() -> None:
        raise ConnectionError("not there")

    def asked() -> tuple[int, bool, list[str]]:
        answer = Client().get("/health/readiness")
        told = answer.json()
        return answer.status_code, told["ready"], [name for name, part in told["parts"].items() if not part["ok"]]

    monkeypatch.setattr("segments.api.upkeep.health._answered", threading.Event())
    monkeypatch.setattr(wiring, "ping_redis", down)
    monkeypatch.setattr("segments.api.upkeep.health._ask_database", down)
    assert asked() == (503, False, ["database", "redis"])
    monkeypatch.setattr("segments.api.upkeep.health._ask_database", lambda: None)
    assert asked() == (200, True, ["redis"])
    monkeypatch.setattr("segments.api.upkeep.health._ask_database", down)
    assert asked() == (200, True, ["database", "redis"])
    monkeypatch.setattr("segments.api.upkeep.health._ask_zookeeper", down)
    assert asked() == (503, False, ["zookeeper", "database", "redis"])


def test_metrics_are_for_readers_unless_a_setting_opens_them(
    cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert b"python_info" in cluster.as_user("reader").get("/metrics").content
    monkeypatch.setattr(wiring, "is_metrics_open", lambda: True)
    assert Client().get("/metrics").status_code == 200


def test_the_openapi_document_names_every_path_without_a_warning(
    cluster: ApiCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    body = cluster.http.get("/api/schema/?format=json").json()
    assert {"/segments/{table}/startReplaceSegments", "/v2/segments", "/api/v1/audit", "/query/sql"} <= set(
        body["paths"]
    )
    assert "forceCleanup" in {
        p["name"] for p in body["paths"]["/segments/{table}/startReplaceSegments"]["post"]["parameters"]
    }
    assert capsys.readouterr().err == ""


def test_the_explorer_loads_nothing_from_elsewhere(cluster: ApiCluster) -> None:
    page = cluster.http.get("/api/docs/").content.decode()
    assert "swagger-ui" in page
    assert "https://" not in page
    assert "http://" not in page


def test_queries_reach_the_broker_in_every_form(cluster: ApiCluster) -> None:
    body = {"sql": "select 1", "queryOptions": "timeoutMs=5;a = b"}
    for path in ("/query/sql", "/query", "/sql"):
        answer = cluster.http.post(path, body, JSON).json()
        assert answer == {"asked": "select 1", "options": {"timeoutMs": "5", "a": "b"}, "exceptions": []}
    assert cluster.http.get("/query/sql", {"sql": "select 2"}).json()["asked"] == "select 2"
    assert cluster.http.post("/query/sql", {}, JSON).status_code == 400


def test_periodic_tasks_are_handed_to_the_workers(cluster: ApiCluster, tasks: list[Any]) -> None:
    cluster.create()
    assert "RetentionManager" in cluster.http.get("/periodictask/names").json()
    body = cluster.http.get("/periodictask/run?taskname=RetentionManager&tableName=t&type=OFFLINE").json()
    assert body["isSuccessful"] is True
    assert body["taskId"].startswith("api-")
    assert tasks == [("segments.tasks.run_periodic", ["RetentionManager", "t_OFFLINE"])]
    assert cluster.http.get("/periodictask/run?taskname=NoSuchTask").status_code == 404
    assert cluster.http.post("/periodictask/run?taskname=RetentionManager").status_code == 200


def test_a_name_that_two_tables_have_runs_a_task_over_neither(cluster: ApiCluster, tasks: list[Any]) -> None:
    cluster.create()
    node = cluster.memory.get(paths.table_config("t_OFFLINE"))
    assert node is not None
    cluster.memory.create(paths.table_config("t_REALTIME"), node.record)
    run = "/periodictask/run?taskname=RealtimeSegmentValidationManager&tableName=t"
    answer = cluster.http.get(run)
    assert answer.status_code == 400
    assert "t_OFFLINE and t_REALTIME" in answer.json()["error"]
    assert tasks == []
    assert cluster.http.get(f"{run}&type=REALTIME").status_code == 200
    assert tasks == [("segments.tasks.run_periodic", ["RealtimeSegmentValidationManager", "t_REALTIME"])]


def test_properties_of_one_run_are_checked(cluster: ApiCluster, tasks: list[Any]) -> None:
    name, repair = "RealtimeSegmentValidationManager", {"repairErrorSegmentsForPartialUpsertOrDedup": "true"}
    assert cluster.http.post(f"/periodictask/run?taskname={name}", repair, JSON).status_code == 200
    assert tasks == [("segments.tasks.run_periodic", [name, None])]
    for task, body, why in (
        (name, {"repairErrorSegmentsForPartialUpsertOrDedup": "maybe"}, "must be true or false"),
        (name, {"offsetCriteria": "smallest"}, "resumeConsumption"),
        (name, {"whatever": "true"}, "whatever"),
        ("RetentionManager", repair, "has no property"),
    ):
        answer = cluster.http.post(f"/periodictask/run?taskname={task}", body, JSON)
        assert answer.status_code == 400
        assert why in answer.content.decode()
    assert len(tasks) == 1


def test_the_audit_trail_is_read_page_by_page(cluster: ApiCluster) -> None:
    cluster.create()
    first = cluster.http.get("/api/v1/audit?limit=1").json()
    assert [e["action"] for e in first["events"]] == ["createTable"]
    second = cluster.http.get(f"/api/v1/audit?limit=1&before={first['next']}").json()
    assert [e["action"] for e in second["events"]] == ["createSchema"]
    assert second["next"] is None
    assert cluster.http.get("/api/v1/audit?target=t_OFFLINE").json()["events"] == first["events"]
