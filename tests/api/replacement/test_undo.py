"""A rollback is undone over REST: previewed, with a deadline and a reason, by who may operate the table."""

from __future__ import annotations

from typing import Any

import pytest

from segments.clusters.embedded.replacement import switch_back
from segments.models import AuditEvent
from tests.api.cluster import ApiCluster
from tests.api.replacement.test_lineage import JSON, replaced
from tests.api.replacement.test_lineage import table as table

DAY_MS = 86_400_000


@pytest.fixture(autouse=True)
def served(table: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers load what comes back before it is waited for."""
    wait = switch_back.wait_until_online
    monkeypatch.setattr(switch_back, "wait_until_online", lambda *a, **more: (table.serve(), wait(*a, **more)))


def visible(cluster: ApiCluster) -> list[str]:
    answer = cluster.http.get("/segments/t?type=OFFLINE&excludeReplacedSegments=true")
    return sorted(answer.json()[0]["OFFLINE"])


def undo(cluster: ApiCluster, entry: str, method: str = "POST", **more: str) -> Any:
    client = more.pop("client", None) or cluster.http
    return client.generic(method, f"/api/v1/lineage/t/{entry}/undo", "", JSON, query_params=more)


def test_a_revert_of_pinots_clients_is_undone_over_rest(table: ApiCluster) -> None:
    entry = replaced(table, ["a"], ["b", "c"])
    query = {"type": "OFFLINE", "segmentLineageEntryId": entry}
    told = table.http.post(
        "/segments/t/revertReplaceSegments", "", JSON, query_params={**query, "dryRun": "true"}
    ).json()
    assert told["undo_until_ms"] == table.now + 7 * DAY_MS
    assert table.http.post("/segments/t/revertReplaceSegments", "", JSON, query_params=query).status_code == 200
    assert visible(table) == ["a"]
    before = undo(table, entry, "GET").json()
    assert (before["allowed"], before["possible_until_ms"]) == (True, table.now + 7 * DAY_MS)
    assert (before["before"]["rows"], before["after"]["rows"]) == (3, 6)
    assert undo(table, entry, dryRun="true").json() == before
    assert visible(table) == ["a"]
    done = undo(table, entry, reason="it was right after all").json()
    assert (done["undone"], done["returnedSegments"], done["hiddenSegments"]) == ([entry], ["b", "c"], ["a"])
    assert visible(table) == ["b", "c"]
    event = AuditEvent.objects.get(action="undoRollback", detail__entry=entry)
    assert (event.actor, event.reason, event.outcome) == ("root", "it was right after all", "done")


def test_several_steps_are_undone_at_once_and_the_rollback_says_until_when(table: ApiCluster) -> None:
    first, second = replaced(table, ["a"], ["b"]), replaced(table, ["b"], ["c"])
    done = table.http.post("/api/v1/lineage/t/rollback", "", JSON, query_params={"to": first}).json()
    assert (done["reverted"], done["undoPossibleUntilMs"]) == ([second, first], table.now + 7 * DAY_MS)
    assert undo(table, first).json()["returnedSegments"] == ["c"]
    assert visible(table) == ["c"]
    again = undo(table, first)
    assert (again.status_code, "undone already" in again.json()["error"]) == (409, True)


def test_who_may_not_operate_may_read_and_nothing_else(table: ApiCluster) -> None:
    entry = replaced(table, ["a"], ["b"])
    table.http.post(
        "/segments/t/revertReplaceSegments", "", JSON, query_params={"type": "OFFLINE", "segmentLineageEntryId": entry}
    )
    eve = table.as_user("eve")
    assert undo(table, entry, "GET", client=eve).status_code == 200
    assert undo(table, entry, client=eve).status_code == 403
    assert undo(table, entry, dryRun="true", client=eve).status_code == 403
    assert visible(table) == ["a"]


def test_odd_requests_are_refused_by_name(table: ApiCluster) -> None:
    assert undo(table, "nothing").status_code == 404
    assert undo(table, "nothing", force="perhaps").status_code == 400
    open_entry = replaced(table, ["a"], ["b"])
    assert undo(table, open_entry, "GET").status_code == 409


def test_deleted_segments_come_back_over_rest_as_a_switch_or_not_at_all(table: ApiCluster) -> None:
    entry = replaced(table, ["a"], ["b", "c"])
    table.http.post(
        "/segments/t/revertReplaceSegments", "", JSON, query_params={"type": "OFFLINE", "segmentLineageEntryId": entry}
    )
    address, body = "/api/v1/segments/t/restore", {"segments": ["b", "c"]}
    refused = table.http.post(address, body, JSON).json()
    assert (refused["summary"], "Undo that rollback" in refused["segments"][0]["remedy"]) == ({"refused": 2}, True)
    told = table.http.post(address, {**body, "switch": True, "dryRun": True}, JSON).json()
    assert (told["before"]["rows"], told["after"]["rows"], told["hidden_segments"]) == (3, 6, ["a"])
    assert visible(table) == ["a"]
    done = table.http.post(address, {**body, "switch": True}, JSON).json()
    assert (done["returning_segments"], visible(table)) == (["b", "c"], ["b", "c"])
