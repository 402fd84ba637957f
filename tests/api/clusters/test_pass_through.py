"""Paths of a real Pinot that are passed on: what goes along, what comes back, who may, and what is on record."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import httpx
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from segments.models import AuditEvent, Grant
from segments.services.core.context import Limits
from tests.api.cluster import ApiCluster
from tests.api.pinot import SECRET, RealPinot, real_pinot

JSON = "application/json"


@pytest.fixture
def pinot(cluster: ApiCluster) -> Iterator[RealPinot]:
    """Cluster ``prod``."""
    with real_pinot(cluster) as found:
        yield found


def test_any_other_path_goes_to_pinot_with_its_parameters_and_comes_back_as_it_is(
    cluster: ApiCluster, pinot: RealPinot
) -> None:
    pinot.answer = lambda _: httpx.Response(
        418, json={"odd": True}, headers={"ETag": '"7"', "Set-Cookie": "a=b", "Server": "Jersey"}
    )
    answer = cluster.http.get("/clusters/prod/tenants/DefaultTenant?type=server&type=broker&x=a%20b")
    assert (answer.status_code, answer.json(), answer["ETag"]) == (418, {"odd": True}, '"7"')
    assert "Set-Cookie" not in answer
    assert "Server" not in answer
    assert pinot.seen[0].target == "/tenants/DefaultTenant?type=server&type=broker&x=a+b"


def test_a_path_of_ours_without_a_use_case_on_pinot_goes_there_too(cluster: ApiCluster, pinot: RealPinot) -> None:
    cluster.create("t")
    assert cluster.http.get("/tables").json() == {"tables": ["t"]}
    assert cluster.http.get("/clusters/prod/tables").json() == {"from": "pinot"}
    assert cluster.http.post("/clusters/prod/segments/t/uploadFromServerToDeepstore").json() == {"from": "pinot"}
    assert [(s.method, s.target) for s in pinot.seen] == [
        ("GET", "/tables"),
        ("POST", "/segments/t/uploadFromServerToDeepstore"),
    ]


def test_what_an_old_version_cannot_do_is_done_here_and_a_newer_one_does_it_itself(
    cluster: ApiCluster, pinot: RealPinot
) -> None:
    """0.11.0 lists segments until the last trace of them is gone, has no answer with all records, and starts passes by
    GET only.
    """
    cluster.create("t")
    cluster.push("a")
    pinot.version("1.5.1")
    listed, records = "/clusters/prod/segments/t", "/clusters/prod/segments/t/zkmetadata?type=OFFLINE"
    run = "/clusters/prod/periodictask/run?taskname=RetentionManager&tableName=t&type=OFFLINE"
    assert [cluster.http.get(path).json() for path in (listed, records)] == [{"from": "pinot"}] * 2
    assert cluster.http.post(run, {}, JSON).json() == {"from": "pinot"}
    assert [s.method for s in pinot.seen] == ["GET", "GET", "POST"]
    pinot.version("0.11.0")
    assert cluster.http.get(listed).json() == [{"OFFLINE": ["a"]}]
    assert list(cluster.http.get(records).json()) == ["a"]
    assert cluster.http.post(run, {}, JSON).json() == {"from": "pinot"}
    assert [(s.method, s.target) for s in pinot.seen[3:]] == [("GET", run.removeprefix("/clusters/prod"))]
    assert AuditEvent.objects.filter(action="start RetentionManager", cluster="prod").count() == 1


def test_our_credentials_stay_here_and_the_clusters_never_come_back(cluster: ApiCluster, pinot: RealPinot) -> None:
    headers = {
        "X-Reason": "because",
        "X-Forwarded-For": "10.0.0.1",
        "Pinot-Database": "d",
        "Connection": "keep-alive, X-Odd",
        "X-Odd": "1",
    }
    cluster.http.cookies["sessionid"] = "session-secret"
    answer = cluster.http.post("/clusters/prod/tenants", {"a": 1}, JSON, headers=headers)
    sent = pinot.seen[0].headers
    assert base64.b64decode(sent["authorization"].removeprefix("Basic ")).decode() == f"robot:{SECRET}"
    assert sent["pinot-database"] == "d"
    for name in ("cookie", "x-reason", "x-forwarded-for", "x-odd"):
        assert name not in sent
    assert sent["host"] == "controller:9000"
    everything = str(list(answer.items())) + answer.content.decode() + str([e.detail for e in AuditEvent.objects.all()])
    assert SECRET not in everything
    assert base64.b64encode(f"robot:{SECRET}".encode()).decode() not in everything


def test_a_large_body_goes_there_and_a_large_answer_comes_back_piece_by_piece(
    cluster: ApiCluster, pinot: RealPinot
) -> None:
    large = bytes(range(256)) * 20_000
    pinot.answer = lambda r: httpx.Response(200, content=r.read(), headers={"Content-Type": "application/octet-stream"})
    answer = cluster.http.post(
        "/clusters/prod/ingestFromFile?tableNameWithType=t_OFFLINE", large, "application/octet-stream"
    )
    assert answer.streaming
    assert b"".join(answer.streaming_content) == large
    assert pinot.seen[0].headers["content-length"] == str(len(large))


def test_a_file_in_a_form_arrives_whole(cluster: ApiCluster, pinot: RealPinot) -> None:
    cluster.http.post("/clusters/prod/ingestFromFile", {"file": SimpleUploadedFile("rows.csv", b"a,b\n" * 500_000)})
    assert pinot.seen[0].body.count(b"a,b\n") == 500_000
    assert pinot.seen[0].headers["content-type"].startswith("multipart/form-data; boundary=")


def test_more_bytes_than_are_taken_in_are_refused_before_pinot_sees_any(cluster: ApiCluster) -> None:
    with real_pinot(cluster, Limits(upload_bytes=10)) as pinot:
        answer = cluster.http.post("/clusters/prod/ingestFromFile", b"x" * 11, "application/octet-stream")
        assert (answer.status_code, pinot.seen) == (413, [])
        assert (
            cluster.http.post("/clusters/prod/ingestFromFile", b"x" * 10, "application/octet-stream").status_code == 200
        )


@pytest.mark.parametrize(
    "path",
    [
        "tables/../zk/get",
        "tables/%2e%2e/zk/get",
        "..;/zk",
        "tables//x",
        "tables/%2e",
        "tables/a%5c..%5cb",
        "tables/a%0d%0ab",
        "./tables",
    ],
)
def test_a_path_that_leads_elsewhere_than_it_says_is_refused(cluster: ApiCluster, pinot: RealPinot, path: str) -> None:
    answer = cluster.http.generic("GET", f"/clusters/prod/{path}")
    assert answer.status_code in (400, 404)
    assert pinot.seen == []


def test_odd_characters_stay_in_their_part(cluster: ApiCluster, pinot: RealPinot) -> None:
    cluster.http.get("/clusters/prod/tenants/a%3Fb%3Bc%20d%252e%252e/x")
    assert pinot.seen[0].target == "/tenants/a%3Fb%3Bc%20d%252e%252e/x"


def test_redirects_are_not_followed(cluster: ApiCluster, pinot: RealPinot) -> None:
    pinot.answer = lambda _: httpx.Response(302, headers={"Location": "http://169.254.169.254/secrets"})
    answer = cluster.http.get("/clusters/prod/tenants")
    assert answer.status_code == 503
    assert answer.json()["state"] == "unexpected"
    assert "Location" not in answer
    assert [s.target for s in pinot.seen] == ["/tenants"]


def test_a_page_of_pinots_cannot_run_scripts_under_our_address(cluster: ApiCluster, pinot: RealPinot) -> None:
    pinot.answer = lambda _: httpx.Response(200, html="<script>steal()</script>")
    answer = cluster.http.get("/clusters/prod/debug/tables/t")
    assert "sandbox" in answer["Content-Security-Policy"]
    assert answer["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("method", "path", "right"),
    [
        ("GET", "tenants", "read"),
        ("GET", "segments/t/lineage", "read"),
        ("POST", "tableConfigs/validate", "read"),
        ("GET", "zk/get?path=/", "administer"),
        ("GET", "users", "administer"),
        ("GET", "appconfigs", "administer"),
        ("GET", "tables/t?state=disable", "administer"),
        ("GET", "periodictask/run?taskname=x", "operate"),
        ("POST", "segments/t/uploadFromServerToDeepstore", "operate"),
        ("POST", "tenants", "administer"),
        ("DELETE", "tableConfigs/t", "administer"),
        ("PATCH", "anything/new", "administer"),
    ],
)
def test_reading_is_for_readers_where_it_is_harmless_and_changing_for_those_who_may(
    cluster: ApiCluster, pinot: RealPinot, method: str, path: str, right: str
) -> None:
    order = ["read", "operate", "administer"]
    for held, rights in (("read", []), ("operate", ["operate"]), ("administer", ["administer"])):
        client = cluster.as_user(f"with-{held}", *rights)
        expected = 200 if order.index(held) >= order.index(right) else 403
        assert client.generic(method, f"/clusters/prod/{path}", b"{}", JSON).status_code == expected, held


def test_nobody_passes_the_servers_protocol_on(cluster: ApiCluster, pinot: RealPinot) -> None:
    for path in ("segmentConsumed?name=s", "segmentCommitEnd", "segmentCommit"):
        assert cluster.http.get(f"/clusters/prod/{path}").status_code == 403
    assert pinot.seen == []


def test_a_grant_opens_its_tables_only(cluster: ApiCluster, pinot: RealPinot) -> None:
    ann = cluster.as_user("ann")
    Grant.objects.create(user=User.objects.get(username="ann"), cluster="prod", tables="sales_*", right="administer")
    assert ann.delete("/clusters/prod/tableConfigs/sales_eu").status_code == 200
    assert ann.delete("/clusters/prod/tableConfigs/orders").status_code == 403
    assert ann.delete("/tables/sales_eu").status_code == 403
    assert ann.post("/clusters/prod/tableConfigs", {"tableName": "sales_us"}, JSON).status_code == 403
    assert ann.post("/clusters/prod/tableConfigs/validate", {}, JSON).status_code == 200


def test_changes_are_on_the_audit_record_and_reads_are_not(cluster: ApiCluster, pinot: RealPinot) -> None:
    cluster.http.get("/clusters/prod/tenants")
    cluster.http.post("/clusters/prod/tenants?name=x", {}, JSON, headers={"X-Reason": "more room"})
    pinot.answer = lambda _: httpx.Response(400, json={"error": "no"})
    assert cluster.http.delete("/clusters/prod/tenants/x").status_code == 400
    events = [(e.action, e.cluster, e.target, e.outcome, e.reason) for e in AuditEvent.objects.order_by("id")]
    assert events == [
        ("pinot POST", "prod", "/tenants", "done", "more room"),
        ("pinot DELETE", "prod", "/tenants/x", "refused", ""),
    ]


def test_a_lost_reply_to_a_change_is_reported_and_on_record_and_it_is_not_sent_again(
    cluster: ApiCluster, pinot: RealPinot
) -> None:
    def lose(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("connection reset", request=request)

    pinot.answer = lose
    answer = cluster.http.post("/clusters/prod/tenants", {}, JSON)
    assert answer.status_code == 503
    assert "not known" in answer.json()["error"]
    assert len(pinot.seen) == 1
    assert AuditEvent.objects.get(action="pinot POST").outcome == "failed"


def test_a_controller_that_is_down_is_reported_with_its_state(cluster: ApiCluster, pinot: RealPinot) -> None:
    pinot.fake.down = {"controller"}
    answer = cluster.http.get("/clusters/prod/tables")
    assert (answer.status_code, answer.json()["state"]) == (503, "down")
    assert "Traceback" not in answer.content.decode()


def test_the_own_cluster_passes_nothing_on_and_an_unknown_one_is_404(
    cluster: ApiCluster, pinot: RealPinot, client: Client
) -> None:
    assert cluster.http.get("/clusters/pinotadmin/tenants").status_code == 404
    assert cluster.http.get("/clusters/nothing/tenants").status_code == 404
    assert cluster.http.get("/clusters/nothing/tables").status_code == 404
    assert client.get("/clusters/prod/tenants").status_code == 401
    assert client.get("/clusters/nothing/tables").status_code == 401


def test_a_browsers_session_changes_nothing_by_get_nor_without_a_token(cluster: ApiCluster, pinot: RealPinot) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.get(username="root"))
    assert browser.get("/clusters/prod/tenants").status_code == 200
    assert browser.get("/clusters/prod/tables/t?state=disable").status_code == 403
    assert browser.post("/clusters/prod/tenants", {}, JSON).status_code == 403


@pytest.mark.parametrize(
    ("path", "capability"),
    [("forceCommit?partitions=0", "forceCommitSelect"), ("forceCommit?batchSize=1", "forceCommitBatch")],
)
def test_what_its_version_lacks_is_refused_with_the_reason(
    cluster: ApiCluster, pinot: RealPinot, path: str, capability: str
) -> None:
    pinot.fake.version = "0.11.0"
    answer = cluster.http.post(f"/clusters/prod/tables/t_REALTIME/{path}")
    assert (answer.status_code, answer.json()["capability"]) == (409, capability)
    assert answer.json()["error"].startswith("Pinot 0.11.0 ")
    assert pinot.seen == []
