"""Every route x every method x everybody who could ask, against ``expectations.txt``. A new route without an
expectation fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from segments.api import fast_path
from segments.api.clusters.pass_through import PassThrough
from segments.dataplane.server.http.authorization import Asked, Authorization
from segments.dataplane.server.http.routes import ROUTES
from segments.errors import Forbidden, NotAuthenticated
from segments.models import Webhook
from segments.services.access.server_people import ServerPeople
from tests.api.cluster import ApiCluster
from tests.factories import make_event, make_finding, make_push, make_snapshot
from tests.security import expected
from tests.security.doors.test_exact_targets import SPEC
from tests.security.people import ASKERS, PEOPLE, Asker
from tests.security.routes import Route, all_routes, own_rest_routes

REACHED = 299
BODY = {"tableName": "t", "tableType": "OFFLINE", "schemaName": "t"}
#: Names that addresses are filled with.
NAMES = {
    "table": "t",
    "schema": "t",
    "typed": "t_OFFLINE",
    "segment": "s",
    "entry": "e",
    "entry_id": "e",
    "link": "00000000-0000-0000-0000-000000000000",
    "job": "j",
    "instance": "Server_127.0.0.1_8098",
    "key": "k",
    "name": "n",
    "tenant": "x",
    "task": "x",
    "task_type": "x",
    "token": "1",
    "query": "q",
    "number": "1",
    "partition": "0",
    "hook": "1",
    "schedule": "1",
    "finding": "1",
    "session": "cp_1_0a0b0c0d",
    "run": "0",
}


def pages() -> list[Route]:
    """Addresses that are neither REST nor Django's admin."""
    return [r for r in all_routes() if not r.is_rest and not r.path.startswith(("/admin/", "/clusters/"))]


def test_every_route_has_an_expectation_and_every_expectation_a_route() -> None:
    rest = {(method, route.path) for route in own_rest_routes() for method in route.methods}
    shown = {route.path for route in pages()}
    known = expected.of_web()
    assert rest - known.keys() == set(), "say in expectations.txt who may use these"
    assert shown - {p for _, p in known} == set(), "say in expectations.txt who may open these pages"
    assert {(m, p) for m, p in known if p not in shown} - rest == set(), "these are gone"


def test_below_clusters_are_the_same_views() -> None:
    below = {
        (r.path.removeprefix("/clusters/<cluster>"), r.view) for r in all_routes() if r.path.startswith("/clusters/")
    }
    own = {(r.path, r.view) for r in own_rest_routes()}
    assert {(p, v) for p, v in below if v is not PassThrough} <= own


@pytest.fixture
def reached(cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> ApiCluster:
    """Every REST handler only says that it was reached; who asks is judged as always."""
    for view in {route.view for route in own_rest_routes()}:
        for method in ("get", "post", "put", "delete"):
            if hasattr(view, method):
                monkeypatch.setattr(view, method, lambda self, request, *a, **k: HttpResponse(status=REACHED))
    monkeypatch.setattr(
        "segments.api.replacement.lineage.find_job", lambda ctx, job: SimpleNamespace(table="t_OFFLINE")
    )
    monkeypatch.setattr("segments.api.tokens.revoke_token", lambda *_: [])
    monkeypatch.setattr(
        "segments.services.schedules.task_runs.find_run", lambda ctx, task: SimpleNamespace(table="t_OFFLINE")
    )
    return cluster


#: Reads whose table is in the body, or is that of the thing that the address names.
TABLE_ELSEWHERE = (
    "/api/v1/jobs/<job>",
    "/api/v1/pushes/<push_id>",
    "/tables/validate",
    "/tableConfigs/validate",
    "/tasks/scheduler/jobDetails",
)
OF_A_TASK = ("/tasks/task/", "/tasks/subtask/")


def what_is_needed(route: Route, method: str) -> str:
    """Of a read, too, with its scope: the table of the address, the cluster as a whole, or nothing of any table."""
    need = expected.of_web()[method, route.path]
    if need.partition(" ")[0] not in ("read", "query"):
        return need
    is_free = getattr(route.view, "reading", "table") != "table"
    is_of_table = bool({"table", "schema"} & set(route.parameters)) or route.path in TABLE_ELSEWHERE
    is_of_table = is_of_table or route.path.startswith(OF_A_TASK)
    return f"{need.partition(' ')[0]} {'any' if is_free else 'table' if is_of_table else 'cluster'}"


#: The table in all parameters that name one.
NAMED = "tableName=t&tableType=OFFLINE&type=OFFLINE&tableNameWithType=t_OFFLINE"


@pytest.mark.parametrize("asker", ASKERS, ids=lambda a: a.name)
def test_every_rest_route_lets_in_exactly_who_may(reached: ApiCluster, asker: Asker) -> None:
    push, authorization = make_push(table_name="t", cluster="test"), asker.make()
    client, wrong = Client(headers={"Authorization": authorization} if authorization else None), []
    for route in own_rest_routes():
        for method in route.methods:
            need = what_is_needed(route, method)
            address = f"{route.address(**NAMES, push_id=push.pk)}?{NAMED}"
            body = json.dumps(SPEC | {"tableSpec": {"tableName": "t"}} if route.path == "/api/v1/pushes" else BODY)
            status = client.generic(method, address, body, "application/json").status_code
            refused = 403 if asker.is_known else 401
            if status != (REACHED if asker.may(need) else refused):
                wrong.append(f"{method} {route.path} = {need}: {status}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("below", ["", "/clusters/pinotadmin"], ids=["own", "by the cluster's name"])
@pytest.mark.parametrize("asker", ASKERS, ids=lambda a: a.name)
def test_the_short_way_lets_in_nobody_whom_the_long_one_does_not(reached: ApiCluster, asker: Asker, below: str) -> None:
    authorization, body = asker.make(), json.dumps(BODY).encode()
    for route in fast_path._ROUTES:
        if below and route.short_way not in route.view.on_pinot:
            continue
        method, path = route.short_way, "/" + route.path.replace("<str:table>", "<table>")
        need = expected.of_web()[method, path]
        scope = {
            "method": method,
            "path": below + path.replace("<table>", "t"),
            "query_string": b"type=OFFLINE",
            "client": ("127.0.0.1", 1),
            "headers": [
                (b"authorization", authorization.encode()),
                (b"host", b"127.0.0.1"),
                (b"content-length", b"%d" % len(body)),
            ],
        }
        answer = fast_path.answer(scope, body)
        is_in = answer is not None and answer.status == REACHED
        assert is_in == asker.may(need), (method, path, need)


@pytest.mark.parametrize(
    ("reader", "is_let_in"), [({}, False), ({"other": "administer"}, False), ({"t": "read"}, True)]
)
def test_where_reading_takes_a_grant_an_address_of_a_table_opens_to_its_readers_only(
    reached: ApiCluster, settings: Any, reader: dict[str, str], is_let_in: bool
) -> None:
    settings.READ_BY_GRANT = True
    client = Client(headers={"Authorization": Asker("rita", reader).make()})
    for route in own_rest_routes():
        if {"table", "schema"} & set(route.parameters) and expected.of_web().get(("GET", route.path), "").startswith(
            "read"
        ):
            status = client.get(route.address(**NAMES), {"type": "OFFLINE"}).status_code
            assert status == (REACHED if is_let_in else 403), route.path


# -- pages


@pytest.fixture
def world(cluster: ApiCluster, tasks: list[Any]) -> Iterator[dict[str, Any]]:
    """One of everything that an address can name."""
    from dataclasses import replace

    from django.utils import timezone

    from segments import wiring
    from segments.models import Cluster, ConfigVersion, PushReport
    from tests.factories import CLUSTER, make_entry, make_segments, make_session, make_table

    cluster.create()
    cluster.push("s")
    started = cluster.http.post(
        "/segments/t/startReplaceSegments?type=OFFLINE", {"segmentsTo": ["x"]}, "application/json"
    ).json()
    with wiring.use(replace(cluster.ctx, cluster=CLUSTER), cluster.broker):
        table = make_table("t_OFFLINE")
        make_table("t_REALTIME")
        make_segments(table, "s")
        make_session(table)
        entry = started["segmentLineageEntryId"]
        make_entry(table, entry, "IN_PROGRESS", segments_from=[], segments_to=["x"])
        Cluster.objects.create(name="n", kind="pinot", controller_urls=["http://127.0.0.1:1"])
        push = make_push(table_name="t", state="BLOCKED", entry_id=entry)
        PushReport.objects.create(push=push)
        ConfigVersion.objects.create(cluster=CLUSTER, document="config", name="t_OFFLINE", number=1, at=timezone.now())
        yield {**NAMES, "entry_id": entry, "push_id": push.pk, "event_id": make_event().pk}


def outcome(answer: Any) -> str:
    """in, out (403, or to the login) or missing (404)."""
    if answer.status_code == 403 or (answer.status_code == 302 and answer["Location"].startswith("/login/?next=")):
        return "out"
    assert answer.status_code < 500, answer.content[:500]
    return "missing" if answer.status_code == 404 else "in"


#: What these pages are about is made by something that is not there here; then they say so before they ask for the
#: right.
ABSENT = (
    "/end/cancel/",
    "/end/progress/",
    "/rollback/carry-on/",
    "/rollback/give-up/",
    "/deleted/<segment>/cancel/",
    "/cluster/check/",
    "/consumption/commit/",
    "/consumption/",
    "/set-aside/export/",
    "/set-aside/replay/",
    "/set-aside/delete/",
    "/set-aside/<number>/",
    *(f"/console/consumption/{button}/" for button in ("pause", "resume", "commit")),  # name no table without a form
)


@pytest.mark.parametrize("asker", PEOPLE, ids=lambda a: a.name)
def test_every_page_lets_in_exactly_who_may(world: dict[str, Any], asker: Asker) -> None:
    Webhook.objects.create(pk=1, name="ops", url="http://127.0.0.1:1/")
    make_finding(pk=1, table_name="t_OFFLINE", code="replica-error")
    make_finding(pk=2, table_name="", code="worker-stuck")
    make_snapshot(1, "t_OFFLINE", "s")
    hourly = IntervalSchedule.objects.create(every=1, period="hours")
    PeriodicTask.objects.create(pk=1, name="a pass", task="segments.tasks.keep_house", interval=hourly)
    asker.make()
    known, wrong = expected.of_web(), []
    for route in pages():
        if route.path in ("/logout/", "/favicon.ico"):
            continue
        client = Client()
        if asker.is_known:
            client.force_login(User.objects.get(username=asker.name))
        for method in ("GET", "POST"):
            need = known.get((method, route.path))
            values = {**world, "typed": "t_REALTIME"} if "/consumption/" in route.path else world
            values = {**values, "finding": 2} if route.path.startswith("/console/findings/") else values
            form = f"table=t_OFFLINE&t=t_REALTIME&s=s&e={world['entry_id']}" if method == "POST" else ""
            answer = client.generic(method, route.address(**values), form, "application/x-www-form-urlencoded")
            if need is None:
                assert answer.status_code in (405, 302), f"{method} {route.path} is not in expectations.txt"
                continue
            told = outcome(answer)
            if need in ("pinot", "owner"):
                is_right = told == "missing" if asker.is_known else told == "out"
            elif asker.may(need):
                is_right = told == "in" or route.path.endswith(ABSENT)
            else:
                is_right = told == "out" or (told == "missing" and route.path.endswith(ABSENT))
            if not is_right:
                wrong.append(f"{method} {route.path} = {need}: {answer.status_code}")
    assert not wrong, "\n".join(wrong)


# -- Django's admin


def admin_models() -> set[str]:
    parts = [r.path.removeprefix("/admin/").split("/") for r in all_routes() if r.path.startswith("/admin/")]
    return {"/".join(p[:2]) for p in parts if len(p) > 2 and p[1] and p[2] == "add"}


def test_every_model_of_the_admin_has_an_expectation() -> None:
    assert admin_models() == expected.of_admin().keys()


@pytest.mark.parametrize(
    ("kind", "flags"),
    [
        ("nobody", None),
        ("person", {}),
        ("staff", {"is_staff": True}),
        ("root", {"is_staff": True, "is_superuser": True}),
    ],
)
def test_the_admin_is_for_staff_with_djangos_permission_and_writes_only_where_expected(
    db: None, kind: str, flags: dict[str, bool] | None
) -> None:
    client, wrong = Client(), []
    if flags is not None:
        client.force_login(User.objects.create_user(kind, **flags))  # type: ignore[arg-type]  # flags are fields
    for model, need in expected.of_admin().items():
        shown, add = client.get(f"/admin/{model}/").status_code, client.get(f"/admin/{model}/add/").status_code
        if kind in ("nobody", "person"):
            wanted = (302, 302)
        elif kind == "staff":
            wanted = (403, 403)
        else:
            wanted = (200, 403 if need in ("read-only", "change-only") else 200)
        if (shown, add) != wanted:
            wrong.append(f"{model} = {need}: {shown}, {add}")
    assert not wrong, "\n".join(wrong)


# -- ports of servers


def test_every_route_of_a_server_has_an_expectation() -> None:
    assert {(r.method, r.path): str(r.need) for r in ROUTES} == expected.of_servers()


@pytest.mark.parametrize("asker", ASKERS, ids=lambda a: a.name)
def test_a_servers_port_lets_in_exactly_who_may(
    cluster: ApiCluster, asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "segments.services.access.server_people.close_old_connections", lambda: None
    )  # which would be the test's own
    authorization = asker.make()
    gate, wrong = Authorization(None, ServerPeople("test")), []  # type: ignore[arg-type]  # nobody signs here
    for route in ROUTES:
        table = "t_OFFLINE" if "{table}" in route.path else None
        need = str(route.need)
        try:
            gate.admit(route, Asked(authorization, "127.0.0.1", route.method, route.path), route.path, table)
            is_in = True
        except (NotAuthenticated, Forbidden):
            is_in = False
        of = "table" if table else "cluster"
        may = {"open": True, "cluster": False, "login": asker.is_known}.get(need)
        if is_in != (asker.may(f"{need} {of}") if may is None else may):
            wrong.append(f"{route.method} {route.path} = {need}: {'in' if is_in else 'out'}")
    assert not wrong, "\n".join(wrong)
