"""Segments over REST: lists by type, time and lineage, records, downloads, deletion, and the replacement protocol's
addresses.
"""

from __future__ import annotations

from typing import Any

import pytest

from segments.models import AuditEvent
from segments.store import paths
from tests.api.cluster import DAY0, ApiCluster

JSON = "application/json"
DAY_MS = 86_400_000


@pytest.fixture
def table(cluster: ApiCluster) -> ApiCluster:
    return cluster.create()


def names(cluster: ApiCluster, **query: str) -> list[str]:
    answer = cluster.http.get("/segments/t", {"type": "OFFLINE", **query})
    assert answer.status_code == 200, answer.content
    return list(answer.json()[0]["OFFLINE"])


def test_a_list_has_one_object_per_type(table: ApiCluster) -> None:
    table.push("b", "a")
    assert table.http.get("/segments/t").json() == [{"OFFLINE": ["a", "b"]}]
    assert table.http.get("/segments/t_OFFLINE?type=OFFLINE").json() == [{"OFFLINE": ["a", "b"]}]
    assert table.http.get("/segments/t?type=nonsense").status_code == 400
    assert table.http.get("/segments/t?type=REALTIME").status_code == 404


def test_a_time_window_takes_start_but_not_end(table: ApiCluster) -> None:
    for name, day in (("early", DAY0), ("late", DAY0 + 100)):
        table.post_tar(table.build(name, 5, day))
    first, last = DAY0 * DAY_MS, (DAY0 + 4) * DAY_MS

    def chosen(start: int, end: int, overlap: str = "false") -> list[str]:
        return names(table, startTimestamp=str(start), endTimestamp=str(end), excludeOverlapping=overlap)

    assert chosen(first, last + 1, "true") == ["early"]
    assert chosen(first, last, "true") == []
    assert chosen(first, last) == ["early"]
    assert chosen(0, (DAY0 + 200) * DAY_MS) == ["early", "late"]
    assert chosen(0, first) == []
    assert table.http.get("/segments/t?startTimestamp=5&endTimestamp=5").status_code == 400


def test_records_crcs_and_servers(table: ApiCluster) -> None:
    table.push("a", "b")
    fields = table.fields("a")
    assert table.http.get("/segments/t/a/metadata").json() == fields
    assert table.http.get("/segments/t/zkmetadata?type=OFFLINE").json()["a"] == fields
    assert table.http.get("/segments/t_OFFLINE/crc").json()["a"] == fields["segment.crc"]
    (part,) = table.http.get("/segments/t/servers?type=OFFLINE").json()
    assert sorted(s for held in part["serverToSegmentsMap"].values() for s in held) == ["a", "b"]
    assert table.http.get("/segments/t/nope/metadata").status_code == 404


def test_a_download_gives_the_same_bytes(table: ApiCluster) -> None:
    tar = table.build("s0")
    table.post_tar(tar, "s0")
    answer = table.http.get("/segments/t/s0")
    assert b"".join(answer.streaming_content) == tar.read_bytes()
    assert answer["Content-Disposition"] == 'attachment; filename="s0"'
    assert answer["Content-Length"] == str(tar.stat().st_size)


def test_a_download_never_leaves_the_folder(table: ApiCluster) -> None:
    table.push("s0")
    for path in (
        "/segments/t/nope",
        "/segments/t/..%5C..%5Cetc%5Cpasswd",
        "/segments/t_OFFLINE/s0",
        "/segments/../s0",
        "/segments/t/..",
    ):
        answer = table.http.get(path)
        assert answer.status_code in (400, 404), path


def test_deleting_one_several_and_all(table: ApiCluster) -> None:
    table.push(*(f"s{i}" for i in range(10)))
    assert table.http.delete("/segments/t/s0").json() == {"status": "Segment deleted"}
    assert table.http.delete("/segments/t?type=OFFLINE&segments=s1").json() == {
        "status": "Deleted segments: [s1] from table: t_OFFLINE"
    }
    six = "&".join(f"segments=s{i}" for i in range(2, 8))
    assert table.http.delete(f"/segments/t?type=OFFLINE&{six}").json() == {
        "status": "Deleted 6 segments from table: t_OFFLINE"
    }
    assert table.http.post("/segments/t_OFFLINE/delete", ["s8"], JSON).status_code == 200
    assert names(table) == ["s9"]
    assert table.http.delete("/segments/t?type=OFFLINE").json() == {"status": "All segments of table t_OFFLINE deleted"}
    assert names(table) == []
    assert AuditEvent.objects.filter(action="deleteSegments", actor="root").count() == 5


@pytest.mark.parametrize("query", ["segments=s0", "type=OFFLINE&segments=s0,s1", "type=OFFLINE&segments="])
def test_a_deletion_that_could_mean_something_else_is_refused(table: ApiCluster, query: str) -> None:
    table.push("s0", "s1")
    assert table.http.delete(f"/segments/t?{query}").status_code == 400
    assert names(table) == ["s0", "s1"]


def test_choosing_by_time_needs_both_times(table: ApiCluster) -> None:
    table.push("s0")
    for times in ("", "&startTimestamp=1", "&startTimestamp=x&endTimestamp=y"):
        assert table.http.delete(f"/segments/t/choose?type=OFFLINE{times}").status_code == 400
    assert table.http.post("/segments/t_OFFLINE/delete", [], JSON).status_code == 400
    window = f"startTimestamp=1&endTimestamp={(DAY0 + 9) * DAY_MS}"
    assert (
        table.http.delete(f"/segments/t/choose?type=OFFLINE&{window}").json()["status"]
        == "Deleted 1 segments from table: t"
    )


def test_a_locked_segment_is_not_deleted_and_the_refusal_says_why(table: ApiCluster) -> None:
    table.push("a")
    table.http.post("/segments/t/startReplaceSegments?type=OFFLINE", {"segmentsFrom": ["a"], "segmentsTo": ["b"]}, JSON)
    answer = table.http.delete("/segments/t/a")
    assert answer.status_code == 409
    assert "Blocking segments: [a]" in answer.json()["error"]
    assert answer.json()["segments"] == ["a"]


def test_a_start_that_can_never_work_is_refused_at_once_with_a_code_and_the_name(table: ApiCluster) -> None:
    table.push("s0", "s1")
    path = "/segments/t/startReplaceSegments?type=OFFLINE&forceCleanup=true"
    taken = table.http.post(path, {"segmentsFrom": ["s0"], "segmentsTo": ["s1"]}, JSON)
    assert (taken.status_code, taken.json()["code"], "'s1'" in taken.json()["error"]) == (409, 409, True)
    nothing = table.http.post(path, {"segmentsFrom": [], "segmentsTo": []}, JSON)
    assert (nothing.status_code, nothing.json()["code"]) == (400, 400)


def test_a_segment_that_is_uploaded_twice_into_its_replacement_is_the_same_segment(table: ApiCluster) -> None:
    table.push("s0")
    start = {"segmentsFrom": ["s0"], "segmentsTo": ["s3"]}
    answer = table.http.post("/segments/t/startReplaceSegments?type=OFFLINE", start, JSON)
    entry = answer.json()["segmentLineageEntryId"]
    tar, statuses = table.build("s3"), list[int]()

    def upload() -> None:
        client = table.as_user("root", superuser=True)
        statuses.append(table.post_tar(tar, "s3", segmentLineageEntryId=entry, client=client).status_code)

    upload()
    crc = table.fields("s3")["segment.crc"]
    upload()
    table.serve()
    assert (statuses, table.fields("s3")["segment.crc"]) == ([200, 200], crc)
    assert table.http.get("/segments/t/lineage?type=OFFLINE").json() != {}
    assert table.record(paths.lineage("t_OFFLINE")).lists[entry][:2] == ["s0", "s3"]
    end = f"/segments/t/endReplaceSegments?type=OFFLINE&segmentLineageEntryId={entry}"
    assert table.http.post(end, {}, JSON).status_code == 200


def test_a_replacement_from_start_to_rollback(table: ApiCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segments.clusters.embedded.replacement.switching.wait_for_brokers", lambda *_: [])
    table.push("a")
    assert table.http.get("/segments/t/lineage?type=OFFLINE").content == b""
    started = table.http.post(
        "/segments/t/startReplaceSegments?type=OFFLINE", {"segmentsFrom": ["a"], "segmentsTo": ["b"]}, JSON
    )
    entry = started.json()["segmentLineageEntryId"]
    table.push("b")
    assert names(table, excludeReplacedSegments="true") == ["a"]
    query = f"type=OFFLINE&segmentLineageEntryId={entry}"
    ended = table.http.post(f"/segments/t/endReplaceSegments?{query}", "", JSON, headers={"X-Reason": "nightly"})
    assert (ended.status_code, ended.content) == (200, b"")
    assert names(table, excludeReplacedSegments="true") == ["b"]
    preview = table.http.post(f"/segments/t/revertReplaceSegments?{query}&dryRun=true").json()
    assert (preview["allowed"], preview["deleted_segments"]) == (True, ["b"])
    assert table.http.get(f"/api/v1/tables/t/lineage/{entry}/preview?type=OFFLINE").json() == preview
    reverted = table.http.post(f"/segments/t/revertReplaceSegments?{query}")
    assert (reverted.status_code, reverted.content) == (200, b"")
    document = table.http.get("/segments/t_OFFLINE/lineage?type=offline").json()
    assert document["lineageEntries"][entry]["state"] == "REVERTED"
    assert AuditEvent.objects.get(action="endReplaceSegments").reason == "nightly"


def test_ending_with_cleanup_starts_a_retention_pass(
    table: ApiCluster, tasks: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segments.clusters.embedded.replacement.switching.wait_for_brokers", lambda *_: [])
    started = table.http.post(
        "/segments/t/startReplaceSegments?type=OFFLINE", {"segmentsFrom": [], "segmentsTo": ["b"]}, JSON
    )
    table.push("b")
    query = f"type=OFFLINE&segmentLineageEntryId={started.json()['segmentLineageEntryId']}&cleanup=true"
    assert table.http.post(f"/segments/t/endReplaceSegments?{query}", {"segmentsTo": ["b"]}, JSON).status_code == 200
    assert tasks == [("segments.tasks.run_periodic", ["RetentionManager", "t_OFFLINE"])]


@pytest.mark.parametrize(
    "body",
    [
        {"segmentsFrom": [], "segmentsTo": []},
        {},
        {"segmentsFrom": None, "segmentsTo": None},
        {"segmentsTo": ["b"], "surprise": 1},
        [1],
        "",
    ],
)
def test_a_start_with_a_bad_body_is_400_and_writes_nothing(table: ApiCluster, body: Any) -> None:
    assert table.http.post("/segments/t/startReplaceSegments?type=OFFLINE", body, JSON).status_code == 400
    assert table.record(paths.lineage("t_OFFLINE")) is None


def test_type_and_table_are_checked_in_pinots_order(table: ApiCluster) -> None:
    body = {"segmentsFrom": [], "segmentsTo": ["b"]}
    wanted = {
        "/segments/t/startReplaceSegments": 400,
        "/segments/t/startReplaceSegments?type=FOO": 400,
        "/segments/t_OFFLINE/startReplaceSegments?type=REALTIME": 403,
        "/segments/nope/startReplaceSegments?type=OFFLINE": 404,
        "/segments/t/endReplaceSegments?type=OFFLINE": 400,
        "/segments/t/updateReplaceSegments?type=OFFLINE": 405,
    }
    assert {path: table.http.post(path, body, JSON).status_code for path in wanted} == wanted
    assert table.http.get("/segments/t/lineage").status_code == 400
    assert table.http.get("/segments/nope/lineage?type=OFFLINE").status_code == 404
