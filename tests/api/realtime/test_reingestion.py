"""POST /segments/reingested header by header, and /api/v1/tables/{table}/reingestions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.ideal_state import external_view
from segments.domain.tables import schema as schemas
from segments.domain.tables.table_config import parse_table_config
from segments.models import AuditEvent
from segments.segmentfile.packed.tar import write_tar
from segments.segmentfile.writer import build_segment
from segments.store import paths
from segments.store.update import update_record
from tests.api.cluster import DAY0, ApiCluster, config_of, schema_of

SEGMENT = "t__0__0__20231114T2213Z"
TYPED = "t_REALTIME"
STREAM = {
    "streamType": "redis",
    "stream.redis.topic.name": "x",
    "stream.redis.url": "redis://127.0.0.1:1/0",
    "stream.redis.partitions": "1",
}
GOOD = {"UPLOAD_TYPE": "METADATA", "COPY_SEGMENT_TO_DEEP_STORE": "true"}


@pytest.fixture
def table(cluster: ApiCluster) -> ApiCluster:
    """A REALTIME table whose only segment is COMMITTING and in ERROR on both servers."""
    body = {
        **config_of(replication=2),
        "tableType": "REALTIME",
        "ingestionConfig": {"streamIngestionConfig": {"streamConfigMaps": [STREAM]}},
    }
    body["segmentsConfig"] = {**body["segmentsConfig"], "peerSegmentDownloadScheme": "http"}
    config, schema = parse_table_config(body), schemas.parse_schema(schema_of())
    row = {f"Server_127.0.0.1_{port}": "ONLINE" for port in (8098, 8198)}
    ideal = ZNRecord(TYPED, {"REPLICAS": "2"}, {SEGMENT: row})
    fields = {
        "segment.realtime.status": "COMMITTING",
        "segment.realtime.startOffset": "0-0",
        "segment.realtime.endOffset": "9-0",
        "segment.creation.time": "1",
    }
    for path, record in (
        (paths.schema("t"), schema.to_record()),
        (paths.table_config(TYPED), config.to_record()),
        (paths.segment(TYPED, SEGMENT), ZNRecord(SEGMENT, fields)),
        (paths.ideal_state(TYPED), ideal),
        (paths.external_view(TYPED), external_view(ideal, {SEGMENT: dict.fromkeys(row, "ERROR")})),
    ):
        cluster.memory.create(path, record)
    return cluster


def built(cluster: ApiCluster, segment: str = SEGMENT, *, offsets: tuple[str, str] | None = None) -> Path:
    """The tar of a segment of three rows."""
    out = cluster.folder / f"built-{segment}"
    rows = pa.table({"v": ["a"] * 3, "n": [1, 2, 3], "day": [DAY0] * 3})
    config = parse_table_config(config_of(ingestionConfig={"segmentTimeValueCheck": False}))
    build_segment(
        rows, schemas.parse_schema(schema_of()), config, segment, out, creation_time_ms=1, realtime_offsets=offsets
    )
    write_tar(out / segment, out / "s.tar.gz")
    return out / "s.tar.gz"


def post(cluster: ApiCluster, tar: Path, headers: dict[str, str], name: str | None = "t", parts: int = 1) -> Any:
    body = {f"p{i}": SimpleUploadedFile(f"p{i}.tar.gz", tar.read_bytes()) for i in range(parts)}
    return cluster.http.post(
        "/segments/reingested", body, query_params={"tableName": name} if name else {}, headers=headers
    )


def uploaded(cluster: ApiCluster, tar: Path) -> str:
    """The tar where a server would upload it; its address."""
    path = f"t/{SEGMENT}.tmp.0b1f6f0e-0000-4000-8000-000000000000"
    cluster.ctx.deep_store.put(tar, path)
    return cluster.ctx.deep_store.uri(path)


def fields(cluster: ApiCluster) -> dict[str, str]:
    return dict(cluster.record(paths.segment(TYPED, SEGMENT)).simple)


def test_each_header_is_needed_and_exactly_one_part(table: ApiCluster) -> None:
    tar = built(table)
    good = {**GOOD, "DOWNLOAD_URI": uploaded(table, tar)}
    for missing in good:
        answer = post(table, tar, {k: v for k, v in good.items() if k != missing})
        assert answer.status_code == 400, missing
        assert missing in answer.json()["error"]
    assert post(table, tar, {**good, "COPY_SEGMENT_TO_DEEP_STORE": "false"}).status_code == 400
    assert post(table, tar, good, parts=2).status_code == 400
    assert post(table, tar, good, name=None).status_code == 400
    assert fields(table)["segment.realtime.status"] == "COMMITTING"


def test_a_reingested_segment_is_done_with_its_file_in_its_place_and_only_once(
    table: ApiCluster, tasks: list[Any]
) -> None:
    tar = built(table)
    good = {**GOOD, "DOWNLOAD_URI": uploaded(table, tar)}
    answer = post(table, tar, good)
    assert (answer.status_code, answer.json()["status"]) == (
        200,
        f"Successfully uploaded reingested segment: {SEGMENT} of table: t",
    )
    done = fields(table)
    assert (done["segment.realtime.status"], done["segment.total.docs"], done["segment.realtime.endOffset"]) == (
        "DONE", "3", "9-0",
    )  # fmt: skip
    assert done["segment.download.url"] == f"store:///segments/t/{SEGMENT}"
    assert int(done["segment.size.in.bytes"]) == tar.stat().st_size
    assert table.files == [SEGMENT]
    for server in (8098, 8198):
        assert len(table.memory.children(paths.messages(f"Server_127.0.0.1_{server}"))) == 1
    assert AuditEvent.objects.get(action="segmentReingested").detail["rows"] == 3
    checked = [("segments.tasks.run_periodic", ["SegmentStatusChecker", TYPED])]
    assert tasks == checked, "the findings about it close"
    again = post(table, tar, good)
    assert again.status_code == 409
    assert tasks == checked
    assert table.files == [SEGMENT]


def test_what_is_not_the_segment_on_record_is_refused(table: ApiCluster) -> None:
    tar = built(table)
    uri = uploaded(table, tar)
    assert post(table, tar, {**GOOD, "DOWNLOAD_URI": uri}, name="u").status_code == 400
    assert post(table, built(table, "t__0__7__20231114T2213Z"), {**GOOD, "DOWNLOAD_URI": uri}).status_code == 404
    assert post(table, built(table, "plain"), {**GOOD, "DOWNLOAD_URI": uri}).status_code == 400
    for elsewhere in ("file:///etc/passwd", f"peer:///{SEGMENT}", f"{table.ctx.deep_store.url}/u/x", "http://x/y"):
        assert post(table, tar, {**GOOD, "DOWNLOAD_URI": elsewhere}).status_code == 400, elsewhere
    assert fields(table)["segment.realtime.status"] == "COMMITTING"


def test_a_segment_that_was_committed_meanwhile_stays_as_it_is(table: ApiCluster) -> None:
    tar = built(table)
    uri = uploaded(table, tar)
    record = table.record(paths.segment(TYPED, SEGMENT))
    done = ZNRecord(SEGMENT, {**record.simple, "segment.realtime.status": "DONE", "segment.crc": "1"})
    update_record(table.memory, paths.segment(TYPED, SEGMENT), lambda _: done)
    assert post(table, tar, {**GOOD, "DOWNLOAD_URI": uri}).status_code == 409
    assert fields(table)["segment.crc"] == "1"


def test_broken_segments_are_listed_with_what_reading_them_again_means(table: ApiCluster) -> None:
    answer = table.http.get("/api/v1/tables/t/reingestions")
    assert answer.status_code == 200
    (shown,) = answer.json()["broken"]
    assert (shown["segmentName"], shown["startOffset"], shown["endOffset"]) == (SEGMENT, "0-0", "9-0")
    assert shown["problem"]  # nothing listens where its stream should be
    assert answer.json()["jobs"] == []
    dry = table.http.post("/api/v1/tables/t/reingestions", {"dryRun": True}, "application/json")
    assert dry.json()["segments"] == [shown]


def test_refusals_of_reingestions_are_4xx_and_name_the_segment(table: ApiCluster) -> None:
    post_one = "/api/v1/tables/t/reingestions"
    for path, status in (
        (f"{post_one}/abc", 400),
        (f"{post_one}/t__0__7__20231114T2213Z", 404),
        ("/api/v1/tables/u/reingestions/abc", 404),
    ):
        assert table.http.post(path, {}, "application/json").status_code == status, path
    assert table.http.delete(f"{post_one}/{SEGMENT}").status_code == 409
    assert table.http.post(post_one, {"segments": []}, "application/json").status_code == 400
    assert table.http.post(post_one, {"segment": "x"}, "application/json").status_code == 400


def test_the_right_to_operate_the_table_is_needed(table: ApiCluster) -> None:
    reader = table.as_user("eve")
    assert reader.get("/api/v1/tables/t/reingestions").status_code == 200
    assert reader.post("/api/v1/tables/t/reingestions", {}, "application/json").status_code == 403
    assert reader.delete(f"/api/v1/tables/t/reingestions/{SEGMENT}").status_code == 403


def test_a_mode_of_disaster_recovery_is_checked_where_it_is_set(table: ApiCluster) -> None:
    key = "controller.segment.disaster.recovery.mode"
    assert table.http.post("/cluster/configs", {key: "always"}, "application/json").status_code == 400
    assert table.http.post("/cluster/configs", {key: "ALWAYS"}, "application/json").status_code == 200
    body = table.http.get("/tables/t", query_params={"type": "realtime"}).json()["REALTIME"]
    streaming = body["ingestionConfig"]["streamIngestionConfig"]
    for mode, status in (("Never", 400), ("ALWAYS", 200)):
        streaming["disasterRecoveryMode"] = mode
        assert table.http.put("/tables/t_REALTIME", body, "application/json").status_code == status, mode
    kept = table.http.get("/tables/t", query_params={"type": "realtime"}).json()["REALTIME"]
    assert kept["ingestionConfig"]["streamIngestionConfig"]["disasterRecoveryMode"] == "ALWAYS"


def test_a_stored_file_with_exactly_the_lost_rows_brings_the_segment_back(table: ApiCluster) -> None:
    address = f"/api/v1/tables/t/storedCopies/{SEGMENT}"
    assert table.http.get(address).json() == {"segmentName": SEGMENT, "path": None}
    refused = table.http.post(address)
    assert refused.status_code == 404
    assert "No file in the deep store has the rows" in refused.json()["error"]
    uploaded(table, built(table))  # it has no offsets, so nobody knows which rows it holds
    assert table.http.get(address).json()["path"] is None
    assert fields(table)["segment.realtime.status"] == "COMMITTING"

    whole = built(table, offsets=("0-0", "9-0"))
    kept = f"Deleted_Segments/t/{SEGMENT}__RETENTION_UNTIL__202601010000"
    table.ctx.deep_store.put(whole, kept)
    assert table.http.get(address).json()["path"] == kept
    assert table.http.post(address).json() == {"segmentName": SEGMENT, "path": kept}
    now = fields(table)
    assert (now["segment.realtime.status"], now["segment.total.docs"]) == ("DONE", "3")
    assert table.ctx.deep_store.size(f"t/{SEGMENT}") == whole.stat().st_size
    assert table.ctx.deep_store.size(kept) is not None
    event = AuditEvent.objects.get(action="restoreSegmentCopy", outcome="done")
    assert (event.detail["path"], event.detail["rows"]) == (kept, 3)
    again = table.http.post(address)
    assert again.status_code == 409, again.content
