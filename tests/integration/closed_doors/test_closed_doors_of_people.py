"""People and pages try, from outside and over HTTP, what is not theirs: another table, a foreign page, secrets,
guessing, odd input.
"""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import pytest
import requests

from tests.integration.running import Client, Installation, config_of, schema_of

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
PASSWORD = "a long enough password"
_numbers = itertools.count(1)


@pytest.fixture
def owner(installation: Installation, table: str) -> requests.Session:
    """A login that may administer one table only, which is not ``table``."""
    name = f"owner-{next(_numbers)}"
    code = (
        "from django.contrib.auth.models import User; from segments.models import Grant;"
        f"user = User.objects.create_user('{name}', password='{PASSWORD}');"
        f"Grant.objects.create(user=user, tables='mine_*', right='administer')"
    )
    assert installation.manage("shell", "-v", "0", "-c", code, seconds=120).returncode == 0
    session = requests.Session()
    session.auth = (name, PASSWORD)
    return session


def lineage_of(client: Client, table: str) -> str:
    return client.call("GET", f"/segments/{table}/lineage", params={"type": "OFFLINE"}).text


def test_a_right_on_one_table_reaches_no_other_whatever_else_the_request_names(
    client: Client, table: str, owner: requests.Session
) -> None:
    before = lineage_of(client, table)
    mine = "mine_1"
    tries: list[tuple[str, str, dict[str, Any]]] = [
        (
            "POST",
            f"/segments/{table}/startReplaceSegments?type=OFFLINE&tableName={mine}",
            {"json": {"segmentsTo": ["x"]}},
        ),
        (
            "POST",
            f"/segmentUpload?segmentName={table}__0__0__20260101T0000Z&tableName={mine}&name={mine}__0__0__20260101T0000Z",
            {},
        ),
        ("DELETE", f"/tables/{table}?tableName={mine}", {}),
        ("PUT", f"/tables/{table}", {"json": {**config_of(table), "tableName": table}}),
        ("POST", f"/v2/segments?tableName={table}&tableNameWithType={mine}_OFFLINE", {"files": {"x": b"no segment"}}),
        ("POST", f"/api/v1/tables/{table}/secrets", {"headers": {"X-Reason": "curious"}}),
    ]
    for method, path, options in tries:
        assert owner.request(method, client.base + path, timeout=30, **options).status_code == 403, path
    assert lineage_of(client, table) == before


def test_a_page_of_another_site_does_nothing_with_credentials_that_a_browser_remembers(
    client: Client, table: str
) -> None:
    before = lineage_of(client, table)
    for method, path in (
        ("POST", f"/segments/{table}/startReplaceSegments?type=OFFLINE"),
        ("GET", "/periodictask/run?taskname=RetentionManager"),
    ):
        for foreign in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}):
            headers = {**foreign, "Content-Type": "text/plain"}
            answer = client.http.request(
                method, client.base + path, headers=headers, data='{"segmentsTo": ["x"]}', timeout=30
            )
            assert answer.status_code == 403, (method, foreign)
    assert lineage_of(client, table) == before


def test_a_secret_in_a_table_config_is_shown_to_nobody_kept_when_it_comes_back_and_revealed_on_record_only(
    client: Client, table: str, owner: requests.Session
) -> None:
    config = {
        **config_of(table),
        "metadata": {"customConfigs": {"sasl.jaas.config": 'Login required password="hidden-1";'}},
    }
    client.call("PUT", f"/tables/{table}", json=config)
    for session in (client.http, owner):
        text = session.get(f"{client.base}/tables/{table}", timeout=30).text
        assert "hidden-1" not in text
        assert "*****" in text
    client.call("PUT", f"/tables/{table}", json=json.loads(text)["OFFLINE"])
    shown = client.call("POST", f"/api/v1/tables/{table}/secrets", headers={"X-Reason": "the broker moved"}).text
    assert "hidden-1" in shown
    assert client.http.get(f"{client.base}/console/audit/", timeout=30).text.count("hidden-1") == 0


def test_who_guesses_a_password_is_slowed_down_before_it_is_checked(client: Client) -> None:
    guesser, found = requests.Session(), []
    guesser.auth = (f"guessed-{next(_numbers)}", "wrong")
    for _ in range(8):
        found.append(guesser.get(f"{client.base}/tables", timeout=30))
    assert [a.status_code for a in found] == [401] * 5 + [429] * 3
    assert 1 <= int(found[-1].headers["Retry-After"]) <= 61
    began = time.monotonic()
    guesser.get(f"{client.base}/tables", timeout=30)
    assert time.monotonic() - began < 0.5
    client.call("GET", "/tables")


ODD: list[tuple[str, str, Any]] = [
    *(
        ("POST", "/tables", {**config_of("odd"), name: "text"})
        for name in ("ingestionConfig", "upsertConfig", "segmentsConfig", "metadata")
    ),
    ("POST", "/tables", {**config_of("odd"), "ingestionConfig": {"batchIngestionConfig": "text"}}),
    ("POST", "/tables", {**config_of("odd"), "tableName": "../odd"}),
    ("POST", "/tables", {**config_of("odd"), "tableName": "a/b"}),
    ("POST", "/schemas", {**schema_of("odd"), "primaryKeyColumns": [[{}]]}),
    ("POST", "/api/v1/pushes", "a: &a [*a]"),
    ("POST", "/api/v1/pushes", "jobType: \x00"),
    ("POST", "/query/sql", {"sql": "select \ud83d"}),
    ("POST", "/query/sql", [[[]]]),
]


@pytest.mark.parametrize(("method", "path", "body"), ODD, ids=str)
def test_odd_input_is_the_senders_fault_and_is_answered_at_once(
    client: Client, method: str, path: str, body: Any
) -> None:
    began = time.monotonic()
    sent = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    answer = client.http.request(
        method, client.base + path, data=sent, headers={"Content-Type": "application/json"}, timeout=30
    )
    assert 200 <= answer.status_code < 500, answer.text
    assert answer.status_code >= 400 or answer.json()["exceptions"], answer.text
    assert time.monotonic() - began < 2
