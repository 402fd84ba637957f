"""Pinot's Java query client and JDBC driver (1.2.0) against our broker, controller and ZooKeeper paths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.integration.running import DAY0, Client, Installation
from tests.maven import CLIENTS
from tests.real_pinot.clients.jobs import Target, run_script

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(400)]
SCRIPT = Path(__file__).with_name("query_client.groovy")
WANTED = [[v, n, DAY0 + n] for v in ("qa", "qb") for n in range(3)]
AS_TEXT = [["v", "n", "day"], *[[v, str(n), str(day)] for v, n, day in WANTED]]


@pytest.fixture(scope="module")
def results(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """{way: {"rows": ...} or {"error": text}} of one run of the script."""
    client, ends = Client(installation.endpoints), installation.endpoints
    client.create("queried")
    client.upload("queried", "qa", "qb")
    client.online("queried", "qa", "qb")
    where = [urlsplit(ends[name]).netloc for name in ("controller", "broker")]
    login = Target(ends["controller"], ends["authorization"]).user_and_password
    arguments = [*where, ends["zookeeper"], ends["cluster"], ends["authorization"], *login, "queried"]
    said = run_script(CLIENTS, SCRIPT, tmp_path_factory.mktemp("script"), *arguments)
    lines = [line.removeprefix("RESULT ") for line in said.splitlines() if line.startswith("RESULT ")]
    return dict(json.loads(line) for line in lines)


@pytest.mark.parametrize("way", ["hosts", "asynchronous", "controller", "zookeeper"])
def test_rows_come_in_every_way_to_find_a_broker(results: dict[str, dict[str, Any]], way: str) -> None:
    assert results[way] == {"rows": AS_TEXT}


def test_parameters_of_a_prepared_statement_are_values(results: dict[str, dict[str, Any]]) -> None:
    assert results["prepared"] == {"rows": [["v", "n"]]}


def test_statistics_are_there(results: dict[str, dict[str, Any]]) -> None:
    servers, answered, rows, has_time = results["statistics"]["rows"]
    assert (1 <= servers <= 2, answered, rows, has_time) == (True, servers, 20, True)


@pytest.mark.parametrize(("way", "word"), [("bad query", "nope"), ("wrong password", "401|Unauthorized|403|wrong")])
def test_what_is_wrong_arrives_as_an_exception(results: dict[str, dict[str, Any]], way: str, word: str) -> None:
    assert any(w in results[way].get("error", "") for w in word.split("|")), results[way]


def test_the_jdbc_driver_reads_typed_columns(results: dict[str, dict[str, Any]]) -> None:
    columns, *rows = results["jdbc"]["rows"]
    assert columns == ["v java.lang.String", "n java.lang.Integer", "day java.lang.Integer"]
    assert rows == WANTED


def test_the_jdbc_driver_finds_a_broker_through_the_controller(results: dict[str, dict[str, Any]]) -> None:
    assert results["jdbc by controller"] == {"rows": [[20]]}
