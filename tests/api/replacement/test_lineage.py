"""Lease, background end, rollback, pin, explanation and difference over REST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from segments import wiring
from segments.domain.segments.column_profile import profile_of
from segments.gateways.servers import Profile
from segments.models import AuditEvent
from segments.services.replacement.ends import end_jobs
from segments.services.replacement.lineage_record import observe
from tests.api.cluster import TABLE, ApiCluster

JSON = "application/json"


class FakeServers:
    """Every server has one column; none failed to load anything."""

    def errors(self, url: str, table: str) -> dict[str, str]:
        return {}

    def profile(self, url: str, table: str, segments: Sequence[str]) -> Profile:
        return Profile((profile_of("n", "INT", "INT", low="1", high="5", cardinality=5, has_rows=True),), ())


@pytest.fixture
def table(cluster: ApiCluster, tasks: list[Any], monkeypatch: pytest.MonkeyPatch) -> ApiCluster:
    """Segment a is served; nobody acknowledges, since there is no broker."""
    monkeypatch.setattr(wiring, "servers", FakeServers)
    cluster.memory.delete("/LIVEINSTANCES/Broker_127.0.0.1_9000")
    return cluster.create().push("a")


def start(cluster: ApiCluster, old: list[str], new: list[str]) -> str:
    body = {"segmentsFrom": old, "segmentsTo": new}
    answer = cluster.http.post("/segments/t/startReplaceSegments?type=OFFLINE", body, JSON)
    assert answer.status_code == 200, answer.content
    return str(answer.json()["segmentLineageEntryId"])


def end(cluster: ApiCluster, entry: str, **more: str) -> Any:
    return cluster.http.post(
        "/segments/t/endReplaceSegments",
        "",
        JSON,
        query_params={"type": "OFFLINE", "segmentLineageEntryId": entry, **more},
    )


def replaced(cluster: ApiCluster, old: list[str], new: list[str]) -> str:
    entry = start(cluster, old, new)
    cluster.push(*new)
    assert end(cluster, entry).status_code == 200
    return entry


def test_a_heartbeat_reports_until_when_the_entry_stays_open(table: ApiCluster) -> None:
    entry = start(table, ["a"], ["b"])
    answer = table.http.post(f"/api/v1/lineage/t/{entry}/heartbeat", "", JSON)
    assert answer.status_code == 200, answer.content
    assert answer.json() == {
        "segmentLineageEntryId": entry,
        "table": "t_OFFLINE",
        "state": "IN_PROGRESS",
        "leased": True,
        "lastSignMs": table.now,
        "givenUpAtMs": table.now + 60_000,
        "heartbeatEverySeconds": 10.0,
    }
    assert table.http.post("/api/v1/lineage/t/nope/heartbeat", "", JSON).status_code == 404
    assert table.http.post(f"/api/v1/lineage/none/{entry}/heartbeat", "", JSON).status_code == 404
    table.push("b")
    end(table, entry)
    late = table.http.post(f"/api/v1/lineage/t/{entry}/heartbeat", "", JSON)
    assert (late.status_code, "Stop the client" in late.json()["remedy"]) == (409, True)


def test_an_upload_into_an_open_entry_is_noted(table: ApiCluster) -> None:
    entry = start(table, ["a"], ["b"])
    table.now += 60_000
    table.push("b")
    assert observe(table.ctx, TABLE).lineage.entry(entry).notes["upload"] == str(table.now)


@pytest.mark.parametrize("way", ["async=true", "path"])
def test_an_end_in_the_background_answers_at_once_with_a_job(table: ApiCluster, tasks: list[Any], way: str) -> None:
    entry = start(table, ["a"], ["b"])
    table.post_tar(table.build("b"), "b")
    asked = (
        end(table, entry, **{"async": "true"})
        if way == "async=true"
        else table.http.post(f"/api/v1/lineage/t/{entry}/end", "", JSON)
    )
    assert asked.status_code == 202, asked.content
    job = asked.json()["id"]
    assert asked["Location"] == f"/api/v1/jobs/{job}"
    assert ("segments.tasks.follow_end", [job]) in tasks
    seen = table.http.get(f"/api/v1/jobs/{job}").json()
    assert (seen["state"], seen["replicasOnline"], seen["replicasWanted"], seen["message"]) == (
        "RUNNING", 0, 1, "0 of 1 replicas are online.",
    )  # fmt: skip
    assert [m["segment"] for m in seen["missing"]] == ["b"]
    table.serve()
    end_jobs.advance_all(table.ctx)
    assert table.http.get(f"/api/v1/jobs/{job}").json()["state"] == "DONE"
    assert observe(table.ctx, TABLE).lineage.visible(table.ideal) == ["b"]


def test_a_job_can_be_cancelled_and_bad_requests_are_refused(table: ApiCluster) -> None:
    entry = start(table, ["a"], ["b"])
    assert table.http.post(f"/api/v1/lineage/t/{entry}/end", "", JSON).status_code == 412  # b is not uploaded
    table.post_tar(table.build("b"), "b")
    assert table.http.post(f"/api/v1/lineage/t/{entry}/end", {"segmentsTo": "b"}, JSON).status_code == 400
    job = table.http.post(f"/api/v1/lineage/t/{entry}/end", "", JSON).json()["id"]
    cancelled = table.http.post(f"/api/v1/jobs/{job}/cancel", "", JSON, headers={"X-Reason": "wrong data"})
    assert (cancelled.json()["state"], cancelled.json()["message"]) == ("CANCELLED", "Cancelled by root: wrong data")
    assert table.http.delete(f"/api/v1/jobs/{job}").status_code == 409
    assert table.http.get("/api/v1/jobs/nope").status_code == 404


def test_a_cleanup_that_was_asked_for_follows_the_switch(table: ApiCluster, tasks: list[Any]) -> None:
    entry = start(table, ["a"], ["b"])
    table.push("b")
    assert end(table, entry, **{"async": "true", "cleanup": "true"}).status_code == 202
    end_jobs.advance_all(table.ctx)
    assert ("segments.tasks.run_periodic", ["RetentionManager", "t_OFFLINE"]) in tasks


def test_a_rollback_over_two_entries_is_previewed_and_done(table: ApiCluster) -> None:
    first = replaced(table, ["a"], ["b"])
    second = replaced(table, ["b"], ["c"])
    preview = table.http.post(f"/api/v1/lineage/t/rollback?to={first}&dryRun=true", "", JSON).json()
    assert ([s["entry_id"] for s in preview["steps"]], preview["allowed"], preview["deleted_segments"]) == (
        [second, first],
        True,
        ["b", "c"],
    )
    assert table.http.get(f"/api/v1/lineage/t/rollback?to={first}").json() == preview
    assert observe(table.ctx, TABLE).lineage.visible(table.ideal) == ["c"]
    done = table.http.post(f"/api/v1/lineage/t/rollback?to={first}", "", JSON, headers={"X-Reason": "bad numbers"})
    assert (done.status_code, done.json()["reverted"]) == (200, [second, first])
    assert observe(table.ctx, TABLE).lineage.visible(table.ideal) == ["a"]
    assert AuditEvent.objects.filter(action="rollback", reason="bad numbers", actor="root").count() == 2
    assert table.http.post(f"/api/v1/lineage/t/rollback?to={first}", "", JSON).status_code == 409
    assert table.http.post("/api/v1/lineage/t/rollback", "", JSON).status_code == 400


def test_a_pin_needs_a_reason_and_can_be_removed(table: ApiCluster) -> None:
    entry = replaced(table, ["a"], ["b"])
    path = f"/api/v1/lineage/t/{entry}/pin"
    assert table.http.post(path, "", JSON).status_code == 400
    assert table.http.post(path, {"reason": "audit of May"}, JSON).json()["reason"] == "audit of May"
    assert table.http.get(f"/api/v1/lineage/t/{entry}/explain").json()["pin"] == {
        "actor": "root",
        "reason": "audit of May",
    }
    assert table.http.delete(path).json()["pinned"] is False
    assert table.http.get(f"/api/v1/lineage/t/{entry}/explain").json()["pin"] is None


def test_an_explanation_and_a_difference(table: ApiCluster) -> None:
    entry = replaced(table, ["a"], ["b"])
    told = table.http.get(f"/api/v1/lineage/t/{entry}/explain").json()
    assert (told["state"], told["hides"]["names"], told["revert"]["possible"]) == ("COMPLETED", ["a"], True)
    found = table.http.get(f"/api/v1/lineage/t_OFFLINE/diff?from={entry}:from").json()
    assert (found["to"]["name"], found["segments"]["added"], found["segments"]["removed"]) == ("current", ["b"], ["a"])
    assert [c["name"] for c in found["columns"]] == ["n"]
    assert table.http.get("/api/v1/lineage/t/diff").status_code == 400
    assert table.http.get("/api/v1/lineage/t/diff?from=nope").status_code == 404


def test_rights_are_needed_for_every_change(table: ApiCluster) -> None:
    entry = replaced(table, ["a"], ["b"])
    reader, operator = table.as_user("reader"), table.as_user("operator", "operate")
    changes = [f"/api/v1/lineage/t/{entry}/{w}?reason=x" for w in ("heartbeat", "end", "pin")] + [
        f"/api/v1/lineage/t/rollback?to={entry}"
    ]
    assert [reader.post(c, "", JSON).status_code for c in changes] == [403] * 4
    assert [operator.post(c, "", JSON).status_code for c in changes] == [409, 202, 200, 200]
    for path in (f"/api/v1/lineage/t/{entry}/explain", f"/api/v1/lineage/t/diff?from={entry}"):
        assert reader.get(path).status_code == 200


def test_the_additions_are_described(table: ApiCluster) -> None:
    paths = table.http.get("/api/schema/", headers={"Accept": "application/json"}).content.decode()
    for path in (
        "{entry}/heartbeat",
        "{entry}/end",
        "{entry}/pin",
        "{entry}/explain",
        "{table}/rollback",
        "{table}/diff",
        "jobs/{job}",
    ):
        assert path in paths
