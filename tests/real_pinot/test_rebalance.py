"""A real Pinot 0.11.0 rebalances a table through this installation; what its version lacks is said."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.integration.running import Client, config_of, schema_of
from tests.waiting import poll

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(400)]
_numbers = itertools.count(1)


def test_more_replicas_are_loaded_by_pinots_own_rebalance_and_followed_here(each: Client) -> None:
    table = f"spread_{next(_numbers)}"
    each.call("POST", "/schemas", json=schema_of(table))
    each.call("POST", "/tables", json=config_of(table, 1))
    each.upload(table, "a1", "a2", "a3")
    poll(lambda: each.counts(table) == {"a1": 10, "a2": 10, "a3": 10}, 60, "the first rows answer")
    path, offline = f"/tables/{table}/rebalance", {"type": "OFFLINE"}
    assert each.call("POST", path, params={**offline, "dryRun": "true"}).json()["status"] == "NO_OP"
    each.call("PUT", f"/tables/{table}", json=config_of(table, 2))
    shown = each.call("POST", path, params={**offline, "dryRun": "true"}).json()
    assert shown["status"] == "DONE"
    assert all(len(row) == 2 for row in shown["segmentAssignment"].values())
    begun = each.call("POST", path, params=offline).json()
    assert begun["status"] == "IN_PROGRESS"

    def newest() -> dict[str, Any]:
        found: dict[str, Any] = each.call("GET", f"/api/v1{path}", params=offline).json()
        return found

    poll(lambda: newest()["status"] == "DONE", 120, "the end of the rebalance")
    found = newest()
    assert (found["jobId"], found["percent"]) == (begun["jobId"], 100)
    assert each.call("GET", f"/rebalanceStatus/{begun['jobId']}").status_code == 200
    ideal = each.call("GET", f"/tables/{table}/idealstate").json()["OFFLINE"]
    assert all(len(row) == 2 for row in ideal.values())
    assert each.counts(table) == {"a1": 10, "a2": 10, "a3": 10}
    refused = each.call("DELETE", path, 409, params=offline).json()
    assert "Pinot 0.11.0 can not stop a rebalance" in refused["error"]
