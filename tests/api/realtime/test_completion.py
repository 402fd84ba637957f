"""The completion protocol over HTTP: paths, answers key by key, malformed messages, rights, and no audit row per
message.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from segments import wiring
from segments.models import AuditEvent
from segments.segmentfile.format.info import find_files
from segments.services.metrics.page import control_page
from segments.store import paths
from tests.services.realtime_world import TABLE, RealtimeWorld
from tests.services.spoken import build, instance
from tests.signed import ClusterClient

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path, settings: Any) -> Iterator[RealtimeWorld]:
    settings.CLUSTER_SECRET = "the cluster's own"
    made = RealtimeWorld(tmp_path / "store", partitions=1, servers=2, replication=2)
    with wiring.use(made.ctx):
        yield made


@pytest.fixture
def http(world: RealtimeWorld) -> Client:
    return ClusterClient("the cluster's own")


def said(world: RealtimeWorld, server: int = 1, offset: object = 40, **more: object) -> dict[str, str]:
    given = {"instance": instance(server), "name": world.segments(0)[0], "streamPartitionMsgOffset": offset, **more}
    return {k: str(v) for k, v in given.items() if v is not None}


def parts(segment: str, folder: Path) -> dict[str, SimpleUploadedFile]:
    found = find_files(build(segment, folder))
    return {
        name: SimpleUploadedFile(name, (found / name).read_bytes()) for name in ("metadata.properties", "creation.meta")
    }


def test_a_commit_over_http(world: RealtimeWorld, http: Client, tmp_path: Path) -> None:
    before, segment = AuditEvent.objects.count(), world.segments(0)[0]
    told = http.get("/segmentConsumed", said(world, reason="rowLimit", rowCount=10)).json()
    assert told == {
        "status": "COMMIT", "streamPartitionMsgOffset": "40", "buildTimeSec": 126, "isSplitCommitType": True,
        "controllerVipUrl": "http://127.0.0.1:9000",
    }  # fmt: skip
    assert http.get("/extendBuildTime", said(world, extraTimeSec=30)).json()["status"] == "PROCESSED"
    assert http.get("/segmentCommitStart", said(world)).json() == {
        "status": "COMMIT_CONTINUE", "streamPartitionMsgOffset": None, "buildTimeSec": -1, "isSplitCommitType": True,
    }  # fmt: skip
    tar = SimpleUploadedFile("x.tar.gz", b"tar")
    told = http.post("/segmentUpload", {segment: tar}, query_params=said(world)).json()
    assert (told["status"], told["streamPartitionMsgOffset"]) == ("UPLOAD_SUCCESS", "40")
    assert told["segmentLocation"].startswith(f"store:///segments/t/{segment}.tmp.")
    query = said(world, location=told["segmentLocation"], segmentSizeBytes=77, rowCount=10)
    told = http.post("/segmentCommitEndWithMetadata", parts(segment, tmp_path), query_params=query).json()
    assert told["status"] == "COMMIT_SUCCESS"
    assert world.fields(segment)["segment.size.in.bytes"] == "77"
    assert [f.name for f in world.ctx.deep_store.files("t")] == [segment]
    metrics = control_page().decode()
    assert 'pinotadmin_segment_completion_messages_total{answer="COMMIT_CONTINUE",message=' in metrics
    assert "pinotadmin_segments_committed_total{" in metrics
    assert http.get("/segmentConsumed", said(world, 2)).status_code == 200
    assert AuditEvent.objects.count() == before


def test_a_failed_answer_carries_nothing(world: RealtimeWorld, http: Client, tmp_path: Path) -> None:
    query = said(world, location="peer:///x")
    told = http.post("/segmentCommitEndWithMetadata", parts(world.segments(0)[0], tmp_path), query_params=query)
    assert told.status_code == 200
    assert told.json() == {
        "status": "FAILED",
        "streamPartitionMsgOffset": None,
        "buildTimeSec": -1,
        "isSplitCommitType": True,
    }


def test_a_commit_end_that_names_an_address_of_somebody_else_is_400(
    world: RealtimeWorld, http: Client, tmp_path: Path
) -> None:
    segment = world.segments(0)[0]
    http.get("/segmentConsumed", said(world, reason="rowLimit"))
    http.get("/segmentCommitStart", said(world))
    query = said(world, location="http://169.254.169.254/latest/meta-data")
    told = http.post("/segmentCommitEndWithMetadata", parts(segment, tmp_path), query_params=query)
    assert told.status_code == 400
    assert "no place for a file" in told.json()["error"]
    assert "segment.download.url" not in world.fields(segment)


@pytest.mark.parametrize("missing", ["instance", "name", "streamPartitionMsgOffset"])
@pytest.mark.parametrize(
    "path", ["segmentConsumed", "segmentStoppedConsuming", "segmentCommitStart", "extendBuildTime"]
)
def test_a_message_that_lacks_a_parameter_fails_and_changes_nothing(
    world: RealtimeWorld, http: Client, path: str, missing: str
) -> None:
    query = said(world)
    del query[missing]
    told = http.get(f"/{path}", query)
    assert (told.status_code, told.json()["status"]) == (200, "FAILED")
    assert world.memory.children(paths.completions(TABLE.typed)) == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"name": "x"}, 400),
        ({"name": "t__0__0__now"}, 400),
        ({"name": "u__0__0__20231114T2213Z"}, 404),
        ({"instance": "a/b"}, 400),
        ({"streamPartitionMsgOffset": "abc"}, 400),
        ({"streamPartitionMsgOffset": "-1"}, 400),
        ({"rowCount": "many"}, 400),
        ({"extraTimeSec": "1.5"}, 400),
    ],
)
def test_a_malformed_message_is_a_4xx_and_changes_nothing(
    world: RealtimeWorld, http: Client, change: dict[str, str], code: int
) -> None:
    told = http.get("/segmentConsumed", {**said(world), **change})
    assert told.status_code == code
    assert told.json()["code"] == code
    assert world.memory.children(paths.COMPLETION) == []


def test_a_body_that_is_no_commit_end_fails_and_disturbs_nothing(
    world: RealtimeWorld, http: Client, tmp_path: Path
) -> None:
    segment = world.segments(0)[0]
    http.get("/segmentConsumed", said(world, reason="rowLimit"))
    http.get("/segmentCommitStart", said(world))
    query, good = said(world, location="peer:///x"), parts(segment, tmp_path)
    bad = [
        {"metadata.properties": good["metadata.properties"]},
        {"creation.meta": good["creation.meta"]},
        {**good, "creation.meta": SimpleUploadedFile("creation.meta", b"short")},
        {**good, "metadata.properties": SimpleUploadedFile("metadata.properties", b"\xff\x00nonsense")},
    ]
    for body in bad:
        for file in body.values():
            file.seek(0)
        assert http.post("/segmentCommitEndWithMetadata", body, query_params=query).json()["status"] == "FAILED"
    assert http.post("/segmentCommitEndWithMetadata", "text", "text/plain", query_params=query).status_code in (
        200,
        415,
    )
    for file in good.values():
        file.seek(0)
    assert http.post("/segmentCommitEndWithMetadata", good, query_params=query).json()["status"] == "COMMIT_SUCCESS"


def test_an_upload_needs_one_part_with_the_segments_name(world: RealtimeWorld, http: Client) -> None:
    segment = world.segments(0)[0]
    tar = SimpleUploadedFile("x", b"tar")
    for body in ({}, {segment: tar, "b": tar}, {"other": tar}, {"nonsense": tar}, {"../../x": tar}):
        told = http.post("/segmentUpload", body, query_params=said(world))
        assert (told.status_code, told.json()["status"]) == (200, "FAILED")
    assert list(world.ctx.deep_store.files("t")) == []


def test_strangers_and_readers_are_refused(world: RealtimeWorld, django_user_model: Any) -> None:
    reader = django_user_model.objects.create_user("reader", password="a long enough secret")
    assert Client().get("/segmentConsumed", said(world)).status_code == 401
    client = Client()
    client.force_login(reader)
    assert client.get("/segmentConsumed", said(world)).status_code == 403
    assert world.memory.children(paths.COMPLETION) == []


def test_a_build_failure_needs_its_rows(world: RealtimeWorld, http: Client) -> None:
    assert http.get("/segmentBuildDeterministicFailure", said(world, rowCount=0)).json()["status"] == "FAILED"
    assert (
        http.get("/segmentBuildDeterministicFailure", said(world, offset=None, rowCount=100)).json()["status"]
        == "PROCESSED"
    )
    assert world.fields(world.segments(0)[0])["segment.flush.threshold.size"] == "50"
