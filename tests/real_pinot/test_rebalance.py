"""A real Pinot 0.11.0 is rebalanced through this installation while queries run; what it cannot do is said."""

from __future__ import annotations

import itertools

import pytest

from tests.integration.running import Client, config_of, schema_of
from tests.waiting import poll

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(400)]
_numbers = itertools.count(1)
OFFLINE = {"type": "OFFLINE"}
ROWS = {"a1": 10, "a2": 10, "a3": 10}


def test_a_real_table_gets_its_second_replicas_by_a_rebalance_and_queries_see_all_rows_meanwhile(each: Client) -> None:
    table = f"spread_{next(_numbers)}"
    each.call("POST", "/schemas", json=schema_of(table))
    each.call("POST", "/tables", json=config_of(table, 1))
    each.upload(table, *ROWS)
    poll(lambda: each.counts(table) == ROWS, 60, "the first rows answer")
    path = f"/tables/{table}/rebalance"

    def replicas(of: str) -> list[int]:
        found = each.call("GET", f"/tables/{table}/{of}").json()["OFFLINE"] or {}
        return sorted(len(row) for row in found.values())

    each.call("PUT", f"/tables/{table}", json=config_of(table, 2))
    shown = each.call("POST", path, params={**OFFLINE, "dryRun": "true"}).json()
    assert shown["status"] == "DONE", shown
    assert replicas("idealstate") == [1, 1, 1], "a dry run moves nothing"
    begun = each.call("POST", path, params=OFFLINE).json()
    assert begun["status"] == "IN_PROGRESS", begun
    seen = []

    def is_spread() -> bool:
        seen.append(each.counts(table))
        return replicas("externalview") == [2, 2, 2]

    poll(is_spread, 120, "both replicas of every segment")
    assert seen == [ROWS] * len(seen)

    def newest() -> dict[str, object]:
        found: dict[str, object] = each.call("GET", f"/api/v1{path}", params=OFFLINE).json()
        return found

    poll(lambda: newest()["status"] == "DONE", 120, "the rebalance is over")
    again = each.call("POST", path, params=OFFLINE).json()
    assert again["status"] == "NO_OP", again
    stopped = each.call("DELETE", path, 409, params=OFFLINE).json()
    assert "Pinot 0.11.0 cannot stop a rebalance" in stopped["error"]
