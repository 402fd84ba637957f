"""Uploads and restores against the lineage over REST: fenced by an entry, overtaken by a revert, hidden, restored."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from segments.clusters.embedded.segments.leaving import remove_hidden
from segments.errors import StateConflict
from segments.names import REALTIME, TableName
from segments.services.replacement.protocol import revert_replace
from segments.services.segments import deletion
from segments.services.segments.uploads import upload_tar
from segments.store import paths
from tests.api.cluster import ANN, TABLE, ApiCluster, config_of
from tests.faults.faulty import FaultyStore, Plan

JSON = "application/json"
RT = TableName("t", REALTIME)


@pytest.fixture
def table(cluster: ApiCluster) -> ApiCluster:
    return cluster.create()


def started(table: ApiCluster, *new: str) -> str:
    body = {"segmentsFrom": [], "segmentsTo": list(new)}
    return str(
        table.http.post("/segments/t/startReplaceSegments?type=OFFLINE", body, JSON).json()["segmentLineageEntryId"]
    )


@pytest.mark.parametrize("by_header", [True, False])
def test_an_upload_that_names_its_entry_is_fenced(
    table: ApiCluster, monkeypatch: pytest.MonkeyPatch, by_header: bool
) -> None:
    monkeypatch.setattr("segments.clusters.embedded.replacement.switching.wait_for_brokers", lambda *_, **__: [])
    entry = started(table, "s0", "s1")
    named: dict[str, Any] = (
        {"headers": {"Pinot-Segment-Lineage-Entry-Id": entry}} if by_header else {"segmentLineageEntryId": entry}
    )
    assert table.post_tar(table.build("s0"), "s0", **named).status_code == 200
    stranger = table.post_tar(table.build("x"), "x", **named)
    assert (stranger.status_code, entry in stranger.json()["error"]) == (409, True)
    table.http.post(f"/segments/t/revertReplaceSegments?type=OFFLINE&segmentLineageEntryId={entry}&forceRevert=true")
    late = table.post_tar(table.build("s1"), "s1", **named)
    assert (late.status_code, late.json()["entry"]) == (409, entry)
    assert "s1" not in table.ideal


def test_an_upload_that_a_revert_overtakes_is_refused_without_any_header(
    table: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The original takes it in and revives reverted data (rule `fenced-uploads`)."""
    monkeypatch.setattr("segments.clusters.embedded.replacement.switching.wait_for_brokers", lambda *_, **__: [])
    entry = started(table, "s0")
    table.now += 1
    table.http.post(f"/segments/t/revertReplaceSegments?type=OFFLINE&segmentLineageEntryId={entry}&forceRevert=true")
    late = table.post_tar(table.build("s0"), "s0")  # begun in the very millisecond of the revert
    assert (late.status_code, late.json()["entry"]) == (409, entry)
    assert (table.ideal, table.files, table.memory.children(paths.segments("t_OFFLINE"))) == ({}, [], [])
    again = started(table, "s0")
    assert table.post_tar(table.build("s0"), "s0").status_code == 200
    assert again != entry


def test_an_upload_that_begins_after_the_revert_is_hidden_and_warned_of_or_refused_by_a_strict_table(
    table: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segments.clusters.embedded.replacement.switching.wait_for_brokers", lambda *_, **__: [])
    entry = started(table, "s0", "s1")
    table.http.post(f"/segments/t/revertReplaceSegments?type=OFFLINE&segmentLineageEntryId={entry}&forceRevert=true")
    table.now += 1
    hidden = table.post_tar(table.build("s0"), "s0")
    assert (hidden.status_code, entry in hidden.json()["warnings"][0]) == (200, True)
    assert table.http.get("/segments/t?type=OFFLINE&excludeReplacedSegments=true").json() == [{"OFFLINE": []}]
    strict = config_of(metadata={"customConfigs": {"pinotadmin.upload.fence": "strict"}})
    assert table.http.put("/tables/t", strict, JSON).status_code == 200
    refused = table.post_tar(table.build("s1"), "s1")
    assert (refused.status_code, refused.json()["entry"]) == (409, entry)


def test_a_new_segment_under_a_name_that_was_replaced_is_refused(
    table: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segments.clusters.embedded.replacement.switching.wait_for_brokers", lambda *_, **__: [])
    table.push("old")
    body = {"segmentsFrom": ["old"], "segmentsTo": ["new"]}
    entry = table.http.post("/segments/t/startReplaceSegments?type=OFFLINE", body, JSON).json()["segmentLineageEntryId"]
    table.push("new")
    assert (
        table.http.post(
            f"/segments/t/endReplaceSegments?type=OFFLINE&segmentLineageEntryId={entry}", "", JSON
        ).status_code
        == 200
    )
    assert table.post_tar(table.build("old", 9), "old").status_code == 200  # a refresh of what is there
    remove_hidden(table.ctx, TABLE, ["old"])
    assert table.post_tar(table.build("old"), "old").status_code == 409


def test_a_revert_right_before_the_write_stops_an_upload_that_names_no_entry(
    table: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segments.clusters.embedded.replacement.switching.wait_for_brokers", lambda *_, **__: [])
    entry = started(table, "s0")

    def revert() -> None:
        revert_replace(table.ctx, TABLE, entry, force=True, actor=ANN)

    counting = FaultyStore(table.memory)
    upload_tar(_over(table, counting), TABLE, table.build("s1"), actor=ANN)
    number = next(
        i for i, w in enumerate(counting.writes, 1) if any(x.path == paths.ideal_state("t_OFFLINE") for x in w)
    )
    with pytest.raises(StateConflict, match=entry):
        upload_tar(
            _over(table, FaultyStore(table.memory, Plan(before={number: revert}))), TABLE, table.build("s0"), actor=ANN
        )
    assert list(table.ideal) == ["s1"]
    assert table.files == ["s1"]


def _over(table: ApiCluster, store: FaultyStore) -> Any:
    return replace(table.ctx, store=store)


# -- the archive over REST


def test_deleted_segments_are_listed_restored_and_their_deletion_taken_back(table: ApiCluster) -> None:
    table.push("a", "b", "c")
    names = {"segments": ["a", "b", "zz"]}
    dry = table.http.post("/api/v1/segments/t/delete?dryRun=true", names, JSON).json()
    assert (dry["summary"], list(table.ideal)) == ({"done": 2, "unchanged": 1}, ["a", "b", "c"])
    table.http.post("/api/v1/segments/t/delete", names, JSON, headers={"X-Reason": "too many"})
    queue = table.http.get("/api/v1/segments/t/deletions").json()
    assert [(s["segment"], s["by"], s["reason"], s["cancellable"]) for s in queue["segments"]] == [
        ("a", "root", "too many", True),
        ("b", "root", "too many", True),
    ]
    assert (queue["total"], queue["next"]) == (2, None)
    page = table.http.get("/api/v1/segments/t/deletions?limit=1").json()
    assert ([s["segment"] for s in page["segments"]], page["total"], page["next"]) == (["a"], 2, 1)
    assert table.http.post("/api/v1/segments/t/deletions/b/cancel").status_code == 200
    assert list(table.ideal) == ["b", "c"]
    deletion.drain(table.serve().ctx, TABLE)
    (kept,) = table.http.get("/api/v1/segments/t/deleted").json()["segments"]
    assert (kept["segment"], kept["deletedBy"], kept["reason"], kept["restorable"]) == ("a", "root", "too many", True)
    assert kept["expiresAt"].startswith("2023-11-21")
    assert kept["bytes"] == (table.folder / "store" / "Deleted_Segments" / "t" / "a").stat().st_size
    assert table.http.post("/api/v1/segments/t/deletions/a/cancel").status_code == 404
    answer = table.http.post("/api/v1/segments/t/restore", {"segments": ["a", "b"]}, JSON).json()
    assert [(s["segment"], s["outcome"]) for s in answer["segments"]] == [("a", "done"), ("b", "refused")]
    assert list(table.ideal) == ["a", "b", "c"]
    assert table.http.get("/api/v1/segments/t/deleted").json()["total"] == 0


@pytest.mark.parametrize("listed", [None, [], "a", [1], ["a,b"]])
def test_a_request_for_many_says_what_is_wrong_with_it(table: ApiCluster, listed: Any) -> None:
    for path in ("restore", "delete"):
        for body in ({"segments": listed}, {"segments": ["a"], "surprise": 1}, [], {}):
            assert table.http.post(f"/api/v1/segments/t/{path}", json.dumps(body), JSON).status_code == 400
    assert table.http.post("/api/v1/segments/nope/restore", {"segments": ["a"]}, JSON).status_code == 404


def test_restoring_needs_the_right_to_administer(table: ApiCluster) -> None:
    reader = table.as_user("reader")
    operator = table.as_user("operator", "operate")
    for client in (reader, operator):
        for path in ("restore", "delete"):
            assert client.post(f"/api/v1/segments/t/{path}", {"segments": ["a"]}, JSON).status_code == 403
        assert client.get("/api/v1/segments/t/deleted").status_code == 200
