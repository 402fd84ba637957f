"""A page of another site cannot use credentials that a browser remembers."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from starlette.requests import Request as StarletteRequest

from segments.api import fast_path
from segments.dataplane.server.http import guard
from segments.domain.access.browser_request import is_foreign
from segments.errors import Forbidden
from segments.models import AuditEvent
from segments.services.access.api_tokens import person_name
from segments.services.access.sign_in import check_token
from tests.api.cluster import ApiCluster, basic
from tests.api.test_fast_path import ROOT, by_django, directly, scope_of
from tests.security.doors.test_tokens import make

START = ("POST", "/segments/t/startReplaceSegments?type=OFFLINE", b'{"segmentsTo": ["b"]}')
QUERY = ("POST", "/query/sql", b'{"sql": "select 1"}')
OWN = "http://127.0.0.1:9000"
FOREIGN = [
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:8888"},
    {"sec-fetch-site": "surprise"},
    {"origin": "http://evil.example"},
    {"origin": "http://127.0.0.1:8888"},
    {"origin": "https://127.0.0.1:9000"},
    {"origin": "null"},
]
OURS: list[dict[str, str]] = [
    {},
    {"sec-fetch-site": "same-origin", "origin": OWN},
    {"sec-fetch-site": "none"},
    {"origin": OWN},
]


def ask(request: tuple[str, str, bytes], headers: dict[str, str], authorization: str = ROOT) -> tuple[int, int]:
    """Status by the short way and by Django's."""
    method, address, body = request
    scope = scope_of(method, address, body, authorization=authorization, **headers)
    given = {**headers, "Authorization": authorization, "Host": "127.0.0.1:9000"}
    long_way = Client(headers=given).generic(method, address, body, "text/plain")
    short_way = fast_path.answer(scope, body) if fast_path.has_route(scope) else None
    return (short_way.status if short_way else long_way.status_code), long_way.status_code


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize(
    "request_", [START, QUERY, ("GET", "/tables", b""), ("GET", "/periodictask/run?taskname=RetentionManager", b"")]
)
def test_with_basic_credentials_another_site_gets_nothing(
    cluster: ApiCluster, tasks: Any, headers: dict[str, str], request_: tuple[str, str, bytes]
) -> None:
    cluster.create()
    before = AuditEvent.objects.exclude(action="access").count()
    assert ask(request_, headers) == (403, 403)
    assert AuditEvent.objects.exclude(action="access").count() == before, "nothing was changed"
    assert AuditEvent.objects.filter(action="access", outcome="refused").exists()


@pytest.mark.parametrize("headers", OURS)
def test_programs_and_our_own_pages_go_on_working(cluster: ApiCluster, headers: dict[str, str]) -> None:
    cluster.create()
    assert ask(QUERY, headers) == (200, 200)
    assert ask(("GET", "/tables", b""), headers) == (200, 200)


def test_an_origin_that_the_installation_trusts_is_ours(cluster: ApiCluster, settings: Any) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://pinot.example"]
    assert ask(QUERY, {"origin": "https://pinot.example", "sec-fetch-site": "cross-site"}) == (200, 200)


def test_a_token_is_harmless_because_no_browser_sends_it_automatically(cluster: ApiCluster) -> None:
    token = f"Bearer {make(cluster.http, 'page', 'read', 'query')}"
    assert ask(QUERY, FOREIGN[0], token) == (200, 200)


def test_a_get_of_a_browser_changes_nothing_whatever_it_remembers(cluster: ApiCluster, tasks: list[Any]) -> None:
    run = ("GET", "/periodictask/run?taskname=RetentionManager", b"")
    assert ask(run, {"user-agent": "Mozilla/5.0 (X11; Linux x86_64)"})[1] == 403
    assert ask(run, {"sec-fetch-mode": "no-cors", "sec-fetch-site": "none"})[1] == 403
    assert tasks == []
    assert ask(run, {"user-agent": "Java/21"})[1] == 200
    consumed = (
        "GET",
        "/segmentConsumed?instance=Server_1&name=t__0__0__20260101T0000Z&streamPartitionMsgOffset=5",
        b"",
    )
    assert ask(consumed, {"user-agent": "Mozilla/5.0"}) == (403, 403)


def test_browsers_are_not_asked_for_a_password_that_they_would_remember(cluster: ApiCluster) -> None:
    for headers in ({"User-Agent": "Mozilla/5.0"}, {"Sec-Fetch-Mode": "cors"}):
        refused = Client(headers=headers).get("/tables")
        assert refused.status_code == 401
        assert "Basic" not in refused["WWW-Authenticate"]
    assert Client(headers={"User-Agent": "curl/8"}).get("/tables")["WWW-Authenticate"].startswith("Basic")
    wrong = basic("root", "wrong")
    said = directly("POST", "/sql", b"{}", authorization=wrong)
    assert said is not None
    assert dict(said.headers)[b"www-authenticate"].startswith(b"Basic")
    assert by_django("POST", "/sql", b"{}", authorization=wrong).status_code == 401


def test_what_says_nothing_is_no_browser() -> None:
    assert not is_foreign("", "", OWN)
    assert not is_foreign("", OWN.upper(), OWN)
    assert is_foreign("Cross-Site", OWN, OWN)


@pytest.mark.parametrize(
    ("headers", "is_let_in"), [*((h, False) for h in FOREIGN), ({}, True), ({"origin": OWN}, True)]
)
def test_a_servers_port_refuses_other_sites_too(headers: dict[str, str], is_let_in: bool) -> None:
    given = {"host": "127.0.0.1:9000", "authorization": ROOT, **headers}
    asked = StarletteRequest(
        {
            "type": "http",
            "method": "GET",
            "path": "/tables",
            "raw_path": b"/tables",
            "query_string": b"",
            "scheme": "http",
            "headers": [(k.encode(), v.encode()) for k, v in given.items()],
            "path_params": {},
        }
    )
    if is_let_in:
        guard._check_origin(asked)
        return
    with pytest.raises(Forbidden):
        guard._check_origin(asked)


def test_all_tokens_of_a_person_share_the_persons_limits(cluster: ApiCluster) -> None:
    tokens = [make(cluster.http, name, "query") for name in ("a", "b")]
    assert {person_name(check_token(token, "")) for token in tokens} == {"root"}
