"""Names, numbers and texts that nothing can have: refused with the reason before ZooKeeper, a file or the database sees
them.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from django.test import RequestFactory

from pinotadmin import error_pages
from segments.errors import InvalidInput
from segments.names import check_node_name
from segments.store.paths import check_path
from tests.api.cluster import ApiCluster

NAMES = ["..", ".", "a\x00b", "a\nb", "\x7f", "a\x80", "\ue000", "\ufffe", "x" * 1025]
ADDRESSES = [
    "/tables/{}",
    "/schemas/{}",
    "/segments/{}",
    "/segments/t/{}",
    "/instances/{}",
    "/tables/{}/idealstate",
    "/api/v1/jobs/{}",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_name_in_an_address_that_nothing_can_have_is_400_with_the_reason(
    cluster: ApiCluster, address: str, name: str
) -> None:
    cluster.create()
    answer = cluster.http.get(address.format(quote(name, safe="").replace(".", "%2E")))
    assert (answer.status_code, "name" in answer.json()["error"]) == (400, True), answer.content
    assert answer.json()["remedy"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_body_never_reaches_the_store(cluster: ApiCluster, name: str) -> None:
    cluster.create()
    for path, body in (
        ("/segments/t/delete", [name]),
        ("/segments/t/startReplaceSegments?type=OFFLINE", {"segmentsFrom": [], "segmentsTo": [name]}),
        ("/schemas", {"schemaName": name}),
        ("/tables", {"tableName": name, "tableType": "OFFLINE"}),
    ):
        assert cluster.http.post(path, body, "application/json").status_code == 400, path


@pytest.mark.parametrize("name", ["t", "sales.v2", "späße", "a b", "x" * 1024, "..."])
def test_names_that_pinot_may_have_are_taken(name: str) -> None:
    assert check_node_name(name) == name
    assert check_path(f"/IDEALSTATES/{name}") == f"/IDEALSTATES/{name}"


@pytest.mark.parametrize("name", NAMES)
def test_the_store_refuses_what_zookeeper_would(name: str) -> None:
    with pytest.raises(InvalidInput):
        check_path(f"/IDEALSTATES/{name}")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"a": "x\\u0000y"}', "U+0000"),
        (b'{"a": 1e999}', "too large"),
        (b'{"\\u0000": 1}', "U+0000"),
        (b'{"a": NaN}', "NaN"),
    ],
)
def test_values_that_no_database_can_hold_are_refused_in_every_body(
    cluster: ApiCluster, body: bytes, said: str
) -> None:
    for path in ("/tables", "/schemas", "/cluster/configs", "/query/sql"):
        answer = cluster.http.generic("POST", path, body, "application/json")
        assert (answer.status_code, said in answer.json().get("error", "")) == (400, True), answer.content


def test_a_backslash_before_u0000_is_no_character(cluster: ApiCluster) -> None:
    assert (
        cluster.http.generic("POST", "/cluster/configs", b'{"a": "\\\\u0000"}', "application/json").status_code == 200
    )


@pytest.mark.parametrize("number", ["9" * 30, "9" * 5000, "1e9", "²", "1_0", "--1", "0x1"])
def test_numbers_in_addresses_fit_64_bits(cluster: ApiCluster, number: str) -> None:
    answer = cluster.http.get("/api/v1/audit", {"before": number})
    assert (answer.status_code, "whole number" in answer.json()["error"]) == (400, True)


def test_a_text_in_an_address_holds_no_nul(cluster: ApiCluster, settings: Any) -> None:
    assert cluster.http.get("/api/v1/audit", {"actor": "a\x00"}).status_code == 400


def test_the_document_names_the_body_of_a_table_and_the_refusals_of_everything(cluster: ApiCluster) -> None:
    document = cluster.http.get("/api/schema/?format=json").json()
    body = document["paths"]["/tables"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    model = document["components"]["schemas"][body["$ref"].rpartition("/")[2]]
    assert model["properties"]["segmentsConfig"]
    for operations in document["paths"].values():
        for operation in operations.values():
            assert {"400", "401", "403", "404", "429", "503"} <= set(operation["responses"])


def test_an_address_of_the_api_that_nothing_answers_for_is_json_for_browsers_too() -> None:
    request = RequestFactory().get("/api/v1/webhooks/seven/deliveries", HTTP_ACCEPT="text/html")
    answer = error_pages.not_found(request, Exception())
    assert (answer.status_code, json.loads(answer.content)["remedy"]) == (404, "See /api/docs/.")
