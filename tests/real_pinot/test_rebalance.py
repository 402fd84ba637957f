"""A real Pinot 0.11.0 is asked for a rebalance through this installation; what it cannot do is said, nothing moves.

Under Java 17, which runs it here, 0.11.0 plans a rebalance and then cannot write its answer. A preview comes first, so
nothing begins that nobody could follow.
"""

from __future__ import annotations

import itertools

import pytest

from tests.integration.running import Client, config_of, schema_of
from tests.waiting import poll

pytestmark = [pytest.mark.real_pinot, pytest.mark.timeout(400)]
_numbers = itertools.count(1)


def test_a_pinot_that_cannot_answer_a_rebalance_is_asked_for_none(each: Client) -> None:
    table = f"spread_{next(_numbers)}"
    each.call("POST", "/schemas", json=schema_of(table))
    each.call("POST", "/tables", json=config_of(table, 1))
    each.upload(table, "a1", "a2", "a3")
    poll(lambda: each.counts(table) == {"a1": 10, "a2": 10, "a3": 10}, 60, "the first rows answer")
    path, offline = f"/tables/{table}/rebalance", {"type": "OFFLINE"}
    before = each.call("GET", f"/tables/{table}/idealstate").json()["OFFLINE"]
    each.call("PUT", f"/tables/{table}", json=config_of(table, 2))
    for more in ({"dryRun": "true"}, {}):
        refused = each.call("POST", path, 409, params={**offline, **more}).json()
        assert "Java 11" in refused["remedy"]
    assert each.call("GET", f"/tables/{table}/idealstate").json()["OFFLINE"] == before
    each.call("GET", f"/api/v1{path}", 404, params=offline)
    stopped = each.call("DELETE", path, 409, params=offline).json()
    assert "Pinot 0.11.0 cannot stop a rebalance" in stopped["error"]
    assert each.counts(table) == {"a1": 10, "a2": 10, "a3": 10}
