"""A whole installation on PostgreSQL: killed, it costs no query of people who are known, and nothing is a 500."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import requests

from tests.integration.running import Client, Installation
from tests.postgresql.server import MISSING, PostgreSQL, running_postgresql
from tests.waiting import poll

pytestmark = pytest.mark.integration


@dataclass
class OnPostgreSQL:
    """The installation and its database."""

    database: PostgreSQL
    installation: Installation
    client: Client

    def asked(self, method: str, path: str, **options: object) -> requests.Response:
        """One request of the administrator, whatever is answered."""
        return self.client.http.request(method, self.client.base + path, timeout=30, **options)  # type: ignore[arg-type]  # requests' own


def mirrored(running: OnPostgreSQL) -> list[tuple[str, str]]:
    """The tables that are in the database, with its kind."""
    with psycopg.connect(running.database.url) as connection:
        found = connection.execute("select split_part(version(), ' ', 1), name from segments_table").fetchall()
    return [(str(kind), str(name)) for kind, name in found]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnPostgreSQL]:
    with running_postgresql() as database:
        if database is None:
            pytest.skip(MISSING)
        folder: Path = tmp_path_factory.mktemp("on_postgresql") / "data"
        installation = Installation(folder, settings={"DATABASE_URL": database.url}).start()
        client = Client(installation.endpoints)
        client.create("sales")
        client.upload("sales", "s1")
        client.online("sales", "s1")
        yield OnPostgreSQL(database, installation, client)
        assert installation.stop() == 0, installation.log.read_text()[-4000:]


def test_its_database_is_postgresql(running: OnPostgreSQL) -> None:
    """The mirror writes there what pages show."""
    assert ("PostgreSQL", "sales_OFFLINE") in poll(lambda: mirrored(running), 20, "the mirrored table")


def test_a_killed_database_costs_no_query_and_nothing_is_a_500(running: OnPostgreSQL) -> None:
    client, count = running.client, "select count(*) from sales"
    assert client.sql(count) == [[10]]
    running.database.kill()
    try:
        for _ in range(20):
            assert client.sql(count) == [[10]]
            page = {"cookies": {"sessionid": "x" * 32}, "headers": {"Accept": "text/html"}}
            refused = [
                running.asked("GET", "/api/v1/audit"),
                running.asked("POST", "/segments/sales/startReplaceSegments?type=OFFLINE", json={"segmentsTo": ["b"]}),
                running.asked("POST", "/tables", json={"tableName": "other"}),
                requests.get(client.base + "/query/sql", {"sql": count}, auth=("ann", "unknown"), timeout=30),
                requests.get(client.base + "/", **page, timeout=30),
                requests.post(client.base + "/login/", {"username": "a", "password": "b"}, timeout=30),
            ]  # fmt: skip
            assert {r.status_code for r in refused} <= {503, 403}, [(r.url, r.status_code) for r in refused]
            assert [r.headers["Retry-After"] for r in refused if r.status_code == 503] == ["5"] * 5
        ready = requests.get(client.base + "/health/readiness", timeout=30)
        assert (ready.status_code, ready.json()["parts"]["database"]["ok"]) == (200, False)
    finally:
        running.database.start()
    poll(lambda: running.asked("GET", "/api/v1/audit").status_code == 200, 20, "answers with the database")
    running.installation.wait_healthy()
    client.create("after")
    poll(lambda: ("PostgreSQL", "after_OFFLINE") in mirrored(running), 40, "the mirror that follows again")


def test_a_frozen_database_costs_no_query_and_nothing_waits_for_it(running: OnPostgreSQL) -> None:
    client, count = running.client, "select count(*) from sales"
    assert client.sql(count) == [[10]]
    running.database.freeze()
    try:
        began = time.monotonic()
        first = running.asked("GET", "/api/v1/audit")
        assert (first.status_code, first.headers["Retry-After"]) == (503, "5")
        assert time.monotonic() - began < 15.0
        began = time.monotonic()
        for _ in range(10):
            assert client.sql(count) == [[10]]
            assert running.asked("GET", "/api/v1/audit").status_code == 503
        assert time.monotonic() - began < 10.0  # nobody else waits
    finally:
        running.database.thaw()
    poll(lambda: running.asked("GET", "/api/v1/audit").status_code == 200, 20, "answers with the database")
    running.installation.wait_healthy()


def test_texts_with_nul_are_refused_wherever_they_come_in(running: OnPostgreSQL) -> None:
    base, nul = "/segments/sales", "a%00b"
    answers = [
        running.asked("GET", f"/tables/{nul}"),
        running.asked("GET", f"/api/v1/audit?actor={nul}"),
        running.asked("POST", f"{base}/startReplaceSegments?type=OFFLINE&reason={nul}", json={"segmentsTo": ["b"]}),
        running.asked("POST", "/query/sql", json={"sql": "select 'a\0b' from sales"}),
        running.asked("POST", "/tables", data='{"tableName": "a\\u0000b"}'),
        running.asked("GET", f"/console/tables/{nul}/config/"),
    ]
    assert [(a.url, a.status_code) for a in answers if a.status_code != 400] == []
    who = requests.get(running.client.base + "/tables", auth=("a\0b", "c"), timeout=30)
    assert who.status_code == 401
