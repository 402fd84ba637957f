"""Every answer says what a browser may do with it: pages, data, errors, redirects, files, and what goes past Django's
machinery.
"""

from __future__ import annotations

import asyncio
import contextvars
import io
import logging
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.test import Client
from starlette.applications import Starlette

from pinotadmin.handler import ThreadedHandler
from segments.answer_headers import DATA_HEADERS, DATA_POLICY
from segments.api import fast_path
from segments.dataplane.server.http.http_endpoint import HttpEndpoint
from segments.request_ids import current_request
from tests.api.cluster import ApiCluster, basic

ALWAYS = (
    "X-Content-Type-Options",
    "Cross-Origin-Resource-Policy",
    "Permissions-Policy",
    "Referrer-Policy",
    "Cross-Origin-Opener-Policy",
)
NEVER = ("'unsafe-inline'", "'unsafe-eval'", "http:", "https:", "*")
HTML = {"Accept": "text/html"}
HOST = (b"host", b"localhost")


def at_root() -> Client:
    """A browser in which an administrator has logged in."""
    client = Client()
    client.force_login(User.objects.get(username="root"))
    return client


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", HTML, 200),
        ("/console/nothing/", HTML, 404),
        ("/no/such/path", {}, 404),
        ("/tables?type=%00", {}, 400),
        ("/tables", {"Host": "elsewhere.example"}, 400),
        ("/login", HTML, 301),
    ],
)
def test_every_answer_has_the_id_under_which_it_is_logged(
    cluster: ApiCluster, path: str, headers: dict[str, str], status: int
) -> None:
    first, second = (at_root().get(path, headers=headers) for _ in range(2))
    assert (first.status_code, len(first["X-Request-Id"])) == (status, 32)
    assert first["X-Request-Id"] != second["X-Request-Id"]


def test_what_django_logs_of_an_answer_has_its_id_too(cluster: ApiCluster) -> None:
    lines, log = list[str](), logging.getLogger("django.request")

    def note(_: logging.LogRecord) -> bool:
        lines.append(current_request())
        return True

    scope = {"type": "http", "method": "GET", "path": "/no/such/path", "query_string": b"", "headers": [HOST]}
    level = log.level
    log.addFilter(note)
    log.setLevel("WARNING")
    try:
        answer = contextvars.copy_context().run(ThreadedHandler()._respond, scope, io.BytesIO())
    finally:
        log.removeFilter(note)
        log.setLevel(level)
    assert (answer.status_code, lines) == (404, [answer.headers["X-Request-Id"]])


@pytest.mark.parametrize(
    "path",
    [
        "/login/",
        "/",
        "/console/query/",
        "/console/nothing/",
        "/console/tables/missing_OFFLINE/",
        "/console/audit/?page=x",
    ],
)
def test_our_own_pages_run_and_load_only_files_of_ours(cluster: ApiCluster, path: str) -> None:
    client = at_root()
    if path == "/login/":
        client = Client()
    answer = client.get(path, headers=HTML)
    policy = answer["Content-Security-Policy"]
    assert answer["Content-Type"].startswith("text/html")
    assert not any(word in policy for word in NEVER)
    for needed in (
        "default-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "object-src 'none'",
    ):
        assert needed in policy
    assert all(answer.get(name) for name in ALWAYS)
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize(
    ("path", "extra"),
    [
        ("/admin/", {"'unsafe-eval'", "'unsafe-inline'"}),
        ("/admin/segments/table/", {"'unsafe-eval'", "'unsafe-inline'"}),
        ("/admin/nothing/", {"'unsafe-eval'", "'unsafe-inline'"}),
        ("/api/docs/", {"'unsafe-inline'"}),
    ],
)
def test_the_admin_and_the_explorer_get_only_the_styles_they_need_and_no_inline_script(
    cluster: ApiCluster, path: str, extra: set[str]
) -> None:
    answer = at_root().get(path, headers=HTML)
    directives = dict(part.strip().partition(" ")[::2] for part in answer["Content-Security-Policy"].split(";"))
    assert "'unsafe-inline'" not in directives["script-src"]
    assert {word for words in directives.values() for word in words.split() if word in NEVER} == extra
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("get", "/tables"),
        ("get", "/tables/missing"),
        ("get", "/api/schema/"),
        ("get", "/health"),
        ("get", "/metrics"),
        ("get", "/nothing"),
        ("get", "/console/audit/csv/"),
        ("put", "/health"),
    ],
)
def test_data_may_run_and_load_nothing(cluster: ApiCluster, method: str, path: str) -> None:
    answer = getattr(at_root(), method)(path)
    assert answer["Content-Security-Policy"] == DATA_POLICY
    assert all(answer.get(name) for name in ALWAYS)
    assert "no-store" in answer["Cache-Control"]


def test_a_form_without_its_token_is_refused_on_a_page_with_a_policy(cluster: ApiCluster) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post("/login/", {"username": "x"}, headers=HTML)
    assert answer.status_code == 403
    assert "'unsafe-inline'" not in answer["Content-Security-Policy"]


def test_a_static_file_may_be_kept_but_not_run_as_a_document(db: None) -> None:
    answer = Client().get("/static/segments/icons.svg")
    answer.close()
    assert answer["Content-Security-Policy"] == DATA_POLICY
    assert "no-store" not in answer.get("Cache-Control", "")


def test_the_short_way_has_the_same_headers(cluster: ApiCluster) -> None:
    headers = [(b"authorization", basic("root", "a long enough secret").encode()), (b"host", b"testserver")]
    scope = {
        "method": "POST",
        "path": "/query/sql",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "query_string": b"",
    }
    answer = fast_path.answer(scope, b'{"sql": "select 1 from t"}')
    assert answer is not None
    found = {name.decode(): value.decode() for name, value in answer.headers}
    assert {n.lower(): v for n, v in DATA_HEADERS.items()}.items() <= found.items()


def test_liveness_on_the_event_loop_has_them(db: None) -> None:
    from pinotadmin.asgi import application

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    asyncio.run(
        application({"type": "http", "path": "/health/liveness", "method": "GET", "headers": []}, receive, send)
    )
    assert (b"content-security-policy", DATA_POLICY.encode()) in sent[0]["headers"]


def test_ports_of_servers_have_them() -> None:
    endpoint = HttpEndpoint("127.0.0.1", 0)
    endpoint.start(Starlette())
    try:
        answer = httpx.get(f"http://127.0.0.1:{endpoint.port}/nothing", trust_env=False)
    finally:
        endpoint.stop()
    assert answer.headers["content-security-policy"] == DATA_POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
