"""The short way of frequent requests: it answers exactly as Django's way does, and leaves to it what it
may not answer.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import resolve

from segments.api import fast_path
from segments.models import AuditEvent
from tests.api.cluster import ApiCluster, basic

ROOT = basic("root", "a long enough secret")
#: Headers that come only from Django's own machinery around a view.
OF_DJANGO = {"vary", "allow"}


def scope_of(method: str, address: str, body: bytes, **headers: str) -> dict[str, Any]:
    given = {"host": "127.0.0.1:9000", "content-type": "application/json", "content-length": str(len(body)), **headers}
    parts = urlsplit(address)
    return {
        "method": method,
        "path": parts.path,
        "query_string": parts.query.encode(),
        "headers": [(k.encode(), v.encode()) for k, v in given.items()],
        "client": ("127.0.0.1", 1234),
    }


def directly(method: str, address: str, body: bytes = b"", authorization: str = ROOT) -> fast_path.Answer | None:
    scope = scope_of(method, address, body, authorization=authorization)
    assert fast_path.has_route(scope)
    return fast_path.answer(scope, body)


def by_django(method: str, address: str, body: bytes = b"", authorization: str = ROOT) -> Any:
    return Client(headers={"Authorization": authorization}).generic(method, address, body, "application/json")


REQUESTS = [
    ("POST", "/query/sql", b'{"sql": "select 1", "queryOptions": "timeoutMs=5;a=b"}'),
    ("POST", "/sql", b'{"sql": ""}'),
    ("POST", "/query", b"no json"),
    ("POST", "/query/sql", b'{"sql": "select \\ud83d"}'),
    ("POST", "/segments/t/startReplaceSegments?type=OFFLINE", b'{"segmentsFrom": ["a"], "segmentsTo": ["b"]}'),
    ("POST", "/segments/t/startReplaceSegments", b'{"segmentsTo": ["b"]}'),
    ("POST", "/segments/t/startReplaceSegments?type=OFFLINE", b'{"segmentsTo": "b"}'),
    ("POST", "/segments/t/startReplaceSegments?type=OFFLINE", b'{"surprise": 1}'),
    ("POST", "/segments/nope/startReplaceSegments?type=OFFLINE", b'{"segmentsTo": ["b"]}'),
    ("POST", "/segments/t/endReplaceSegments?type=OFFLINE&segmentLineageEntryId=nope", b""),
    ("POST", "/segments/t/endReplaceSegments?type=OFFLINE", b""),
    ("POST", "/segments/t/revertReplaceSegments?type=OFFLINE&segmentLineageEntryId=nope&forceRevert=perhaps", b""),
    ("POST", "/segments/t/revertReplaceSegments?type=OFFLINE&segmentLineageEntryId=nope", b"{}"),
    ("POST", "/clusters/pinotadmin/sql", b'{"sql": "select 1"}'),
    ("POST", "/clusters/pinotadmin/segments/t/startReplaceSegments?type=OFFLINE", b'{"segmentsTo": "b"}'),
    ("POST", "/clusters/pinotadmin/segments/t/revertReplaceSegments?type=OFFLINE&segmentLineageEntryId=nope", b"{}"),
    ("POST", "/clusters/nope/segments/t/endReplaceSegments?type=OFFLINE&segmentLineageEntryId=nope", b""),
    ("GET", "/segmentConsumed?instance=Server_1&name=t__0__0__20260101T0000Z", b""),
    (
        "GET",
        "/segmentConsumed?instance=Server_1&name=t__0__0__20260101T0000Z&streamPartitionMsgOffset=5&rowCount=x",
        b"",
    ),
    ("GET", "/segmentCommitStart?instance=Server_1&name=nonsense&streamPartitionMsgOffset=5", b""),
    ("GET", "/extendBuildTime", b""),
    ("GET", "/segmentStoppedConsuming?instance=Server_1", b""),
]


@pytest.mark.parametrize(("method", "address", "body"), REQUESTS)
def test_both_ways_answer_alike(cluster: ApiCluster, method: str, address: str, body: bytes) -> None:
    cluster.create()
    long_way, short_way = by_django(method, address, body), directly(method, address, body)
    assert short_way is not None
    said, expected = short_way.body, long_way.content
    if b"segmentLineageEntryId" in expected and short_way.status == 200:
        assert json.loads(said).keys() == json.loads(expected).keys()  # every start has an id of its own
    else:
        assert said == expected
    assert short_way.status == long_way.status_code
    heads = {k.decode(): v.decode() for k, v in short_way.headers}
    usual = {k.lower(): v for k, v in long_way.headers.items() if k.lower() not in OF_DJANGO}
    if "segmentLineageEntryId" not in address:
        usual["content-length"] = str(len(said))
    assert len({heads.pop("x-request-id"), usual.pop("x-request-id")}) == 2  # each request has its own
    assert heads == usual


def test_a_start_by_the_short_way_is_on_the_audit_record_with_actor_reason_and_address(cluster: ApiCluster) -> None:
    cluster.create()
    body = b'{"segmentsTo": ["b"]}'
    scope = scope_of(
        "POST",
        "/segments/t/startReplaceSegments?type=OFFLINE",
        body,
        authorization=ROOT,
        **{"x-reason": "the first load"},
    )
    assert (fast_path.answer(scope, body) or pytest.fail("not answered")).status == 200
    event = AuditEvent.objects.filter(action="startReplaceSegments").latest("id")
    assert (event.actor, event.reason, event.outcome) == ("root", "the first load", "done")


START = ("POST", "/segments/t/startReplaceSegments?type=OFFLINE", b'{"segmentsTo": ["b"]}')


def test_who_may_not_goes_the_long_way_which_refuses_and_records_it(cluster: ApiCluster) -> None:
    cluster.create().as_user("reader")
    for authorization, status in (("Digest nonsense", 401), (basic("reader", "a long enough secret"), 403)):
        assert directly(*START, authorization=authorization) is None
        assert by_django(*START, authorization=authorization).status_code == status
    assert (
        directly("POST", "/sql", b'{"sql": "select 1"}', authorization=basic("reader", "a long enough secret"))
        is not None
    )


@pytest.mark.parametrize(
    "authorization",
    [
        basic("root", "a wrong secret for root"),
        basic("nobody", "a long enough secret"),
        "PinotAdmin-Signed nonsense",
        "Basic !!",
    ],
)
def test_wrong_credentials_are_refused_by_the_short_way_just_as_by_the_long_one(
    cluster: ApiCluster, authorization: str
) -> None:
    cluster.create()
    refused, expected = directly(*START, authorization=authorization), by_django(*START, authorization=authorization)
    assert refused is not None
    assert (refused.status, refused.body) == (expected.status_code, expected.content) == (401, expected.content)
    heads = {k.decode(): v.decode() for k, v in refused.headers}
    usual = {k.lower(): v for k, v in expected.headers.items() if k.lower() not in OF_DJANGO}
    assert len({heads.pop("x-request-id"), usual.pop("x-request-id")}) == 2
    assert heads == usual


def test_a_wrong_password_for_a_query_is_checked_once(cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = []
    monkeypatch.setattr(User, "check_password", lambda user, password: checks.append(password))
    refused = directly(
        "POST", "/query/sql", b'{"sql": "select 1"}', authorization=basic("root", "a wrong secret for root")
    )
    assert refused is not None
    assert (refused.status, len(checks)) == (401, 1)
    assert AuditEvent.objects.filter(outcome="refused", target="/query/sql").count() == 1


def test_what_it_cannot_judge_goes_the_long_way() -> None:
    usual = {"authorization": ROOT}
    query = ("POST", "/query/sql", b"{}")
    assert fast_path.has_route(scope_of(*query, **usual))
    assert not fast_path.has_route(scope_of(*query)), "a browser with a session needs its CSRF token checked"
    assert not fast_path.has_route(scope_of(*query, **usual, host="evil.example"))
    assert not fast_path.has_route(scope_of(*query, **usual, **{"content-length": str(fast_path.LARGEST_BODY + 1)}))
    assert not fast_path.has_route(scope_of(*query, **usual, **{"content-length": ""}))
    assert not fast_path.has_route(scope_of(*query, **usual, **{"transfer-encoding": "chunked"}))
    assert not fast_path.has_route(scope_of("GET", "/query/sql?sql=select+1", b"", **usual))
    assert not fast_path.has_route(scope_of("POST", "/segments/a/b/startReplaceSegments", b"", **usual))


def test_every_route_is_the_one_that_django_knows_at_this_address() -> None:
    assert len(fast_path._ROUTES) == 10
    for route in fast_path._ROUTES:
        address = "/" + route.path.replace("<str:table>", "t")
        assert route.path.count("<") <= 1, "the short way knows addresses with one name, and it is text"
        known = resolve(address, "segments.api.urls")
        assert known.func.view_class is route.view, address
        assert known.func.view_initkwargs == route.made_with
        assert hasattr(route.view, route.short_way.lower())
        assert fast_path._match({"method": route.short_way, "path": address}) == (route, known.kwargs, None)


def test_below_the_name_of_a_cluster_it_takes_what_has_a_use_case_on_every_kind() -> None:
    taken = set()
    for route in fast_path._ROUTES:
        address = "/clusters/c" + "/" + route.path.replace("<str:table>", "t")
        known = resolve(address, "segments.api.urls")
        found = fast_path._match({"method": route.short_way, "path": address})
        if found is not None:
            taken.add(route.path)
            assert found == (route, {k: v for k, v in known.kwargs.items() if k != "cluster"}, known.kwargs["cluster"])
            assert route.short_way in route.view.on_pinot
    assert {path.rpartition("/")[2] for path in taken} == {
        "startReplaceSegments", "endReplaceSegments", "revertReplaceSegments", "sql", "query"
    }  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        "", "/", "query/sql", "/query/sql/", "/x/query/sql", "/segments/startReplaceSegments", "/startReplaceSegments",
        "/segments//startReplaceSegments", "/segments/a/b/startReplaceSegments", "/tables/t/startReplaceSegments",
        "/segments/t/startReplaceSegments/", "/segments/t/x", "/clusters//query/sql", "/clusters/",
        "/clusters/c/segments/a/b/startReplaceSegments", "/clusters/c/clusters/d/query/sql", "/clusters/c/d/query/sql",
    ],
)  # fmt: skip
def test_other_addresses_are_not_of_the_short_way(path: str) -> None:
    assert fast_path._match({"method": "POST", "path": path}) is None


def test_a_user_is_read_again_for_every_request(cluster: ApiCluster) -> None:
    cluster.as_user("ann")
    ann, ask = basic("ann", "a long enough secret"), ("POST", "/sql", b'{"sql": "select 1"}')
    assert (directly(*ask, authorization=ann) or pytest.fail("not answered")).status == 200
    User.objects.filter(username="ann").update(is_active=False)
    assert (directly(*ask, authorization=ann) or pytest.fail("not answered")).status == 401
