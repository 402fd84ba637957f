"""Every route of a server's port, asked by everybody who could: strangers, users, processes of this cluster and of
another one.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from segments.dataplane.server.http import app as server_app
from segments.dataplane.server.http.authorization import Asked, Authorization, Person, Right
from segments.dataplane.server.http.routes import ROUTES, Need, ServerRoute
from segments.domain.access.basic_auth import parse_basic
from segments.errors import Forbidden, NotAuthenticated, TooManyRequests
from segments.gateways.signed_calls import CallVerifier
from tests.dataplane.world import SECRET, TABLE, World, schema_of
from tests.signed import Signed

#: Which users may use a route, by what it needs. "ann" operates the table, "ben" reads it, "cat" has no rights.
MAY = {
    Need.OPEN: {"ann", "ben", "cat"},
    Need.CLUSTER: set(),
    Need.LOGIN: {"ann", "ben", "cat"},
    Need.READ: {"ann", "ben"},
    Need.OPERATE: {"ann"},
}
#: What each route must need; a new route without an expectation fails.
EXPECTED = {
    "GET /health": Need.OPEN,
    "GET /health/readiness": Need.OPEN,
    "GET /health/liveness": Need.OPEN,
    "POST /query": Need.CLUSTER,
    "DELETE /query/{query}": Need.CLUSTER,
    "POST /tables/{table}/segments/profile": Need.CLUSTER,
    "GET /segments/{table}/{segment}": Need.OPERATE,
    "GET /tables/{table}/segments/{segment}": Need.OPERATE,
    "POST /segments/{table}/{segment}/upload": Need.OPERATE,
    "POST /segments/{table}/{segment}/uploadLLCSegment": Need.OPERATE,
    "POST /segments/{table}/{segment}/uploadCommittedSegment": Need.OPERATE,
    "GET /reingestSegment/jobs": Need.READ,
    "POST /reingestSegment/{segment}": Need.OPERATE,
    "GET /tables": Need.LOGIN,
    "GET /tables/{table}/consumingSegmentsInfo": Need.READ,
    "GET /tables/{table}/consumers": Need.READ,
    "GET /tables/{table}/partitions/{partition}/segmentLives": Need.READ,
    "GET /tables/{table}/segments": Need.READ,
    "GET /tables/{table}/segments/crc": Need.READ,
    "GET /tables/{table}/segments/{segment}/metadata": Need.READ,
    "GET /tables/{table}/size": Need.READ,
    "GET /tables/{table}/errors": Need.READ,
    "GET /instance/diskUtilization": Need.READ,
    "GET /metrics": Need.READ,
}


#: A segment whose name says its table, t_REALTIME.
CONSUMED = "t__0__0__20260101T0000Z"


@dataclass
class KnownPerson:
    """Reads what their rights say."""

    rights: dict[str | None, Right]

    def may_read(self, table: str) -> bool:
        return table in self.rights


@dataclass
class KnownPeople:
    """Users with the password "right"; their rights by table."""

    rights: dict[str, dict[str | None, Right]]
    asked: list[tuple[str, Right | None, str | None]] = field(default_factory=list)
    addresses: set[str] = field(default_factory=set)

    def admit(self, asked: Asked, right: Right | None, table: str | None) -> Person:
        scheme, _, token = asked.authorization.partition(" ")
        name, password = (parse_basic(token) or ("", "")) if scheme == "Basic" else ("", "")
        self.asked.append((name, right, table))
        self.addresses.add(asked.address)
        if password == "often wrong":
            raise TooManyRequests("Too many.", retry_after_s=17)
        if password != "right":
            raise NotAuthenticated("No.")
        has = self.rights[name].get(table)
        if right is not None and not (has == "operate" or has == right):
            raise Forbidden("You may not.")
        return KnownPerson(self.rights[name])


@pytest.fixture(scope="module")
def people() -> KnownPeople:
    ann: dict[str | None, Right] = {TABLE: "operate", "t_REALTIME": "operate", None: "read"}
    return KnownPeople({"ann": ann, "ben": {TABLE: "read", None: "read"}, "cat": {"other_OFFLINE": "operate"}})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, people: KnownPeople) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("ports")
    made = World(folder)
    made.create_table()
    made.start_server(people=people)
    made.push(["a"])
    yield made
    made.close()


@pytest.fixture
def url(world: World) -> str:
    return world.servers[1].admin_url


def path_of(route: ServerRoute) -> str:
    segment = "a" if "{table}" in route.path else CONSUMED
    return route.path.format(table=TABLE, segment=segment, partition="0", query="7")


def test_every_route_has_an_expectation_and_there_is_no_other() -> None:
    assert {f"{r.method} {r.path}": r.need for r in ROUTES} == EXPECTED
    parts: Any = SimpleNamespace(slots=None, pool=None)
    made = server_app.build_app(parts, Authorization(CallVerifier(SECRET, "127.0.0.1:1")))
    built = {(r.path, m) for r in made.routes if isinstance(r, Route) for m in (r.methods or ()) if m != "HEAD"}
    assert built == {(r.path, r.method) for r in ROUTES}
    assert len(made.routes) == len(ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=lambda r: f"{r.method} {r.path}")
def test_a_route_answers_those_who_may_and_nobody_else(url: str, route: ServerRoute) -> None:
    address = url + path_of(route)

    def status(**how: object) -> int:
        return httpx.request(route.method, address, **how).status_code  # type: ignore[arg-type]

    is_open = route.need is Need.OPEN
    assert (status() != 401) == is_open
    refused = {200} if is_open else {403} if route.need is Need.CLUSTER else {401}
    assert status(auth=("ann", "wrong")) in refused
    assert status(headers={"Authorization": f"Bearer {SECRET}"}) in refused
    assert (status(auth=Signed("the secret of another cluster")) == 401) != is_open
    assert status(auth=Signed(SECRET)) not in (401, 403)
    for name in ("ann", "ben", "cat"):
        assert (status(auth=(name, "right")) not in (401, 403)) == (name in MAY[route.need]), name


def test_rights_are_asked_on_the_table_of_the_path(url: str, people: KnownPeople) -> None:
    people.asked.clear()
    assert httpx.post(f"{url}/segments/{TABLE}/a/upload", auth=("cat", "right")).status_code == 403
    assert httpx.post(f"{url}/segments/other_OFFLINE/a/upload", auth=("cat", "right")).status_code == 404
    assert people.asked == [("cat", "operate", TABLE), ("cat", "operate", "other_OFFLINE")]


def test_rights_are_asked_on_the_table_of_a_consumed_segments_name(url: str, people: KnownPeople) -> None:
    people.asked.clear()
    for name, segment, status in (("ann", CONSUMED, 404), ("ben", CONSUMED, 403), ("ann", "plain", 403)):
        assert httpx.post(f"{url}/reingestSegment/{segment}", auth=(name, "right")).status_code == status
    assert [table for _, _, table in people.asked] == ["t_REALTIME", "t_REALTIME", None]


def test_tables_are_listed_to_those_who_may_read_them(url: str) -> None:
    assert httpx.get(f"{url}/tables", auth=("ben", "right")).json() == {"tables": [TABLE]}
    assert httpx.get(f"{url}/tables", auth=("cat", "right")).json() == {"tables": []}
    assert httpx.get(f"{url}/tables", auth=Signed(SECRET)).json() == {"tables": [TABLE]}


def test_no_login_can_say_what_a_tables_schema_is(world: World, url: str) -> None:
    """A schema that came with a query was remembered, and everybody's answers were made with it."""
    body = {
        "sql": "select v from t",
        "table": TABLE,
        "segments": ["a"],
        "schemaVersion": 77,
        "schema": schema_of().body,
    }
    for name in ("ann", "ben", "cat"):
        assert httpx.post(f"{url}/query", json=body, auth=(name, "right")).status_code == 403
    lacks = world.http.query(url, {k: v for k, v in body.items() if k != "schema"}, 10.0)
    assert lacks.needs_schema


def test_who_guesses_learns_when_to_try_again(url: str) -> None:
    answer = httpx.get(f"{url}/tables", auth=("ann", "often wrong"))
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "17")


def test_attempts_count_for_the_address_that_connects_whatever_a_header_says(url: str, people: KnownPeople) -> None:
    for header in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):
        httpx.get(f"{url}/tables", auth=("ann", "wrong"), headers={header: "203.0.113.9"})
    assert people.addresses == {"127.0.0.1"}


@pytest.mark.parametrize("path", ["/query", f"/segments/{TABLE}/a/upload"])
def test_a_stranger_is_refused_before_a_body_is_read(url: str, path: str) -> None:
    address = httpx.URL(url)
    with socket.create_connection((address.host, address.port or 0), timeout=10) as client:
        client.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n".encode())
        assert client.recv(100).startswith(b"HTTP/1.1 401")


@pytest.mark.parametrize("is_told", [True, False])
def test_a_body_is_read_up_to_its_limit_only(url: str, is_told: bool) -> None:
    """With a length that says so, and without: in pieces."""
    route = next(r for r in ROUTES if r.endpoint == "upload")
    address, name = httpx.URL(url), "Basic YW5uOnJpZ2h0"
    length = f"Content-Length: {route.max_body + 1}" if is_told else "Transfer-Encoding: chunked"
    piece = b"10000\r\n" + b"x" * (1 << 16) + b"\r\n"
    with socket.create_connection((address.host, address.port or 0), timeout=10) as client:
        client.sendall(
            f"POST /segments/{TABLE}/a/upload HTTP/1.1\r\nHost: x\r\nAuthorization: {name}\r\n{length}\r\n\r\n".encode()
        )
        if not is_told:
            client.sendall(piece * 2)
        answer = client.recv(1000)
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"65536 bytes" in answer


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'"x"',
        b"\xff",
        b"[" * 100_000,
        b'{"sql": 1}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": "a"}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": [1]}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": [], "schemaVersion": "x"}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": [], "schemaVersion": -1}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": [], "options": 5}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": [], "options": {"a": 1}}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": [], "schemaVersion": 5, "schema": "x"}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": [], "schemaVersion": 5, "schema": {"schemaName": []}}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": [], "schemaVersion": 5, "schema": '
        b'{"dimensionFieldSpecs": {"a": 1}}}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": [], "timeFilter": 5}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": [], "timeFilter": {"column": []}}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": [], "minDocs": []}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": [], "minDocs": {"a": "b"}}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": [], "tails": {"a": null}}',
        b'{"sql": "select 1", "table": "t_OFFLINE", "segments": [], "tails": {"a": 1e300}}',
        b'{"sql": "select 1", "table": "", "segments": []}',
        b'{"sql": "select 1", "table": "../..", "segments": []}',
        b'{"sql": "select 1", "table": "t\\u0000_OFFLINE", "segments": []}',
        b'{"sql": "select 1", "table": "\\ud800", "segments": []}',
        b'{"sql": "\\u0000", "table": "t_OFFLINE", "segments": ["a"]}',
        b'{"sql": "", "table": "t_OFFLINE", "segments": ["a"]}',
        b'{"sql": "select 1 from t limit 99999999999999999999", "table": "t_OFFLINE", "segments": ["a"]}',
        b'{"sql": "select v from t where n in (' + b"(" * 3000 + b'", "table": "t_OFFLINE", "segments": ["a"]}',
    ],
)
def test_a_query_that_is_none_is_refused_with_the_cause(url: str, body: bytes) -> None:
    answer = httpx.post(f"{url}/query", content=body, auth=Signed(SECRET), timeout=20)
    assert 400 <= answer.status_code < 500, answer.text
    assert len(answer.json()["message"]) > 10


def test_a_captured_request_is_refused_when_it_comes_again(url: str) -> None:
    signed = httpx.Request("POST", f"{url}/segments/{TABLE}/a/upload")
    request = next(Signed(SECRET).auth_flow(signed))
    with httpx.Client() as client:
        first = client.send(request)
        second = client.send(httpx.Request("POST", request.url, headers=request.headers))
    assert first.status_code not in (401, 403)
    assert (second.status_code, second.json()["message"]) == (401, "The request was sent before. Sign each request.")


def test_an_answer_names_the_request_that_it_was_given_for(url: str) -> None:
    given = "0123456789abcdef0123456789abcdef"
    assert httpx.get(f"{url}/health", headers={"X-Request-Id": given}).headers["X-Request-Id"] == given
    assert len(httpx.get(f"{url}/health", headers={"X-Request-Id": "a\tb"}).headers["X-Request-Id"]) == 32
