"""What storage and uploads do that no other test shows: records, deletion, and the upload's refusals
word by word.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from segments.clusters.embedded.segments.registration import Registration
from segments.domain.formats import znrecord
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments import segment_metadata
from segments.domain.segments.ideal_state import new_ideal_state
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.segments.upload import UploadedSegment
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput, PinotAdminError, StateConflict, Unavailable
from segments.gateways.deep_store.deepstore import DeepStore
from segments.names import REALTIME, TableName
from segments.segmentfile.format.info import SegmentInfo
from segments.segmentfile.packed.tar import read_info_from_tar
from segments.services.segments import archive, deletion
from segments.services.segments.upload_options import UploadOptions
from segments.services.segments.uploads import upload_metadata
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.memory import MemoryStore
from segments.store.records import messages
from segments.store.update import update_record
from tests.api.cluster import ANN, TABLE, ApiCluster, config_of

JSON = "application/json"
RT = TableName("t", REALTIME)


@pytest.fixture
def table(cluster: ApiCluster) -> ApiCluster:
    return cluster.create()


# -- records


def test_a_compressed_record_stays_compressed() -> None:
    body = b'{"id":"a","simpleFields":{"enableCompression":"true"},"mapFields":{},"listFields":{}}'
    record = znrecord.decode(gzip.compress(body))
    assert record == ZNRecord("a", {"enableCompression": "true"})
    assert znrecord.encode(record)[:2] == b"\x1f\x8b"


def test_an_empty_znode_is_no_record_and_unknown_keys_are_passed_over() -> None:
    assert (znrecord.decode(b""), znrecord.decode(None)) == (None, None)
    text = b'{"id":"x","simpleFields":{},"mapFields":{},"listFields":{},"surprise":1}'
    assert znrecord.decode(text) == ZNRecord("x")


def test_a_refusal_ends_the_loop_at_once_and_an_equal_record_is_not_written() -> None:
    store = MemoryStore()
    store.create("/a", ZNRecord("a"))
    asked = []

    def refuse(_: object) -> ZNRecord:
        asked.append(1)
        raise StateConflict("no")

    with pytest.raises(StateConflict):
        update_record(store, "/a", refuse)
    assert len(asked) == 1
    assert not update_record(store, "/a", lambda _: ZNRecord("a")).changed
    assert store.exists("/a") == 0


def test_the_fields_of_a_committed_record_and_its_times() -> None:
    wanted = {
        "segment.index.version": "v1",
        "segment.realtime.status": "DONE",
        "segment.start.time": "1000",
        "segment.end.time": "2000",
        "segment.time.unit": "HOURS",
        "segment.total.docs": "10000",
        "segment.crc": "1234",
        "segment.data.crc": "4567",
        "segment.creation.time": "3000",
        "segment.flush.threshold.size": "1234",
    }
    made = SegmentMetadata("s", {}).edited({k: int(v) if v.isdecimal() else v for k, v in wanted.items()})
    assert made.to_record().simple == dict(sorted(wanted.items()))
    assert (made.start_ms, made.end_ms, made.status) == (3_600_000_000, 7_200_000_000, "DONE")


def test_of_several_addresses_the_newest_key_counts_even_when_empty() -> None:
    old = {"segment.offline.download.url": "u1"}
    assert segment_metadata.from_record(ZNRecord("s", old)).download_url == "u1"
    assert segment_metadata.from_record(ZNRecord("s", {**old, "segment.download.url": ""})).download_url == ""
    assert segment_metadata.from_record(ZNRecord("s")).download_url is None


# -- deletion


def test_a_segment_goes_when_no_server_holds_it_then_its_record_and_file(table: ApiCluster) -> None:
    table.push("a", "b", "c")
    root = table.folder / "store"
    for name in ("a", "b", "c"):
        (root / "t" / f"{name}.metadata.tar.gz").write_text("small")
    assert table.http.delete("/segments/t/a").status_code == 200
    assert table.http.delete("/segments/t/b?retention=3d").status_code == 200
    assert table.http.delete("/segments/t/c?retention=0d").status_code == 200
    assert deletion.drain(table.ctx, TABLE) == []
    assert table.memory.children(paths.segments("t_OFFLINE")) == ["a", "b", "c"]
    table.serve()
    deletion.drain(table.ctx, TABLE)
    assert table.memory.children(paths.segments("t_OFFLINE")) == []
    assert table.files == []
    until = "20231117"  # the clock of these tests plus three days, UTC
    kept = sorted(p.name for p in (root / "Deleted_Segments" / "t").iterdir())
    assert kept[0] == "a"
    assert len(kept) == 2
    assert kept[1].startswith(f"b__RETENTION_UNTIL__{until}")


def test_the_tables_own_period_is_written_into_the_name_too(cluster: ApiCluster) -> None:
    cluster.create(segments={"deletedSegmentsRetentionPeriod": "1d"}).push("a")
    cluster.http.delete("/segments/t/a")
    deletion.drain(cluster.serve().ctx, TABLE)
    (kept,) = archive.list_kept(cluster.ctx, TABLE)[0]
    assert kept.file.startswith("a__RETENTION_UNTIL__20231115")


# -- uploads


class FullStore(DeepStore):
    """No file can be put into it."""

    def put(self, source: Path, path: str) -> int:
        raise Unavailable("The deep store is full.")


def test_a_copy_that_fails_leaves_nothing_and_a_later_push_works(
    table: ApiCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(DeepStore, "put", FullStore.put)
        assert table.post_tar(table.build("s0"), "s0", enableParallelPushProtection="true").status_code == 503
    assert (table.memory.children(paths.segments("t_OFFLINE")), table.ideal, table.files) == ([], {}, [])
    assert table.memory.children(paths.upload_locks("t_OFFLINE")) == []
    table.push("s0")
    assert list(table.ideal) == ["s0"]


def test_a_refused_refresh_has_pinots_words(table: ApiCluster) -> None:
    table.push("s0")
    before = table.fields("s0")
    refused = table.post_tar(table.build("s0", 9), "s0", allowRefresh="false")
    assert "Segment: s0 already exists in table: t_OFFLINE. Refresh not permitted." in refused.json()["error"]
    node = table.memory.get(paths.segment("t_OFFLINE", "s0"))
    assert node is not None
    assert node.record is not None
    locked = node.record.with_simple_items({"segment.upload.start.time": str(table.now - 299_000)})
    table.memory.replace(paths.segment("t_OFFLINE", "s0"), locked, node.version)
    busy = table.post_tar(table.build("s0", 9), "s0", enableParallelPushProtection="true").json()["error"]
    assert "Another segment upload is in progress for segment: s0" in busy
    assert "retry later" in busy.lower()
    assert {**table.fields("s0"), "segment.upload.start.time": ""} == {**before, "segment.upload.start.time": ""}


def test_the_same_crc_changes_times_and_address_only(table: ApiCluster) -> None:
    tar = table.build("s0")
    table.post_tar(tar, "s0")
    table.serve()
    before = table.fields("s0")
    crypted = table.record(paths.segment("t_OFFLINE", "s0")).with_simple_items(
        {"segment.crypter": "crypter", "segment.size.in.bytes": "77"}
    )
    node = table.memory.get(paths.segment("t_OFFLINE", "s0"))
    assert node is not None
    table.memory.replace(paths.segment("t_OFFLINE", "s0"), crypted, node.version)
    table.now += 456
    info = read_info_from_tar(tar)
    upload_metadata(
        table.ctx,
        TABLE,
        [(SegmentInfo(**{**info.__dict__, "creation_time_ms": 456}), "http://localhost:1/other", None)],
        actor=ANN,
    )
    after = table.fields("s0")
    assert (after["segment.creation.time"], after["segment.refresh.time"]) == ("456", str(table.now))
    assert after["segment.download.url"] == "http://localhost:1/other"
    assert (after["segment.crypter"], after["segment.size.in.bytes"]) == ("crypter", "77")
    assert after["segment.push.time"] == before["segment.push.time"]
    assert [m for server in table.ideal["s0"] for m in messages.read(table.memory, server)] == []


@pytest.mark.parametrize(
    ("query", "headers", "code", "text"),
    [
        ({"tableName": "foo_REALTIME", "tableType": "OFFLINE"}, {}, 400, "foo_REALTIME"),
        ({"tableType": "BAR"}, {}, 400, "BAR"),  # Pinot: 500
        ({}, {"UPLOAD_TYPE": "JSON"}, 400, "JSON"),
        ({}, {"UPLOAD_TYPE": "ZIP"}, 400, "ZIP"),  # Pinot: 500
        ({"tableName": "nope"}, {}, 400, "Failed to find table: nope_OFFLINE"),
    ],
)
def test_bad_names_and_modes_are_refused(
    table: ApiCluster, query: dict[str, str], headers: dict[str, str], code: int, text: str
) -> None:
    answer = table.post_tar(table.build("s0"), "s0", headers=headers, **query)
    assert (answer.status_code, text in answer.json()["error"]) == (code, True)


def test_a_segment_without_times_is_403_where_the_table_has_a_time_column(table: ApiCluster) -> None:
    info = read_info_from_tar(table.build("s0"))
    timeless = SegmentInfo(**{**info.__dict__, "start_time": None, "end_time": None})
    with pytest.raises(PinotAdminError) as refused:
        upload_metadata(table.ctx, TABLE, [(timeless, "http://localhost:1/s0", None)], actor=ANN)
    assert refused.value.status == 403


# -- uploads to a REALTIME table


def realtime(cluster: ApiCluster) -> ApiCluster:
    """The REALTIME half of table t, without a stream."""
    body = {**config_of("t"), "tableType": "REALTIME"}
    cluster.memory.create(paths.table_config(RT.typed), parse_table_config(body).to_record())
    cluster.memory.create(paths.ideal_state(RT.typed), new_ideal_state(RT.typed, 1))
    return cluster


def upload_realtime(
    cluster: ApiCluster, name: str, crc: int = 7, start: str | None = None, end: str | None = None
) -> dict[str, str]:
    part = UploadedSegment(
        name=name,
        crc=crc,
        total_docs=3,
        index_version="v3",
        creation_ms=5,
        download_url="http://localhost:1/x",
        size_bytes=100,
        start_ms=10**12,
        end_ms=10**12,
        start_offset=start,
        end_offset=end,
    )
    upload = Registration(cluster.ctx, read_table_config(cluster.ctx, RT), [part], UploadOptions(), None, cluster.now)
    upload.check()
    upload.write()
    return dict(cluster.record(paths.segment(RT.typed, name)).simple)


def test_an_upload_under_the_name_of_a_consumed_segment_needs_its_offsets_once(cluster: ApiCluster) -> None:
    realtime(cluster)
    plain = upload_realtime(cluster, "uploaded")
    assert (plain["segment.realtime.status"], "segment.realtime.startOffset" in plain) == ("UPLOADED", False)
    name = "t__0__7__20260801T1000Z"
    with pytest.raises(InvalidInput, match="offset"):
        upload_realtime(cluster, name)
    assert cluster.memory.exists(paths.segment(RT.typed, name)) is None

    def offsets(fields: dict[str, str]) -> tuple[str, str]:
        return fields["segment.realtime.startOffset"], fields["segment.realtime.endOffset"]

    assert offsets(upload_realtime(cluster, name, start="0", end="1234")) == ("0", "1234")
    assert offsets(upload_realtime(cluster, name, crc=8)) == ("0", "1234")
    assert offsets(upload_realtime(cluster, name, crc=9, start="1234", end="2345")) == ("1234", "2345")


@pytest.mark.parametrize("status", ["IN_PROGRESS", "COMMITTING"])
def test_nobody_uploads_over_a_consuming_segment(cluster: ApiCluster, status: str) -> None:
    realtime(cluster)
    name = "t__0__7__20260801T1000Z"
    consuming = ZNRecord(name, {"segment.realtime.status": status, "segment.realtime.startOffset": "0"})
    cluster.memory.create(paths.segment(RT.typed, name), consuming)
    ideal = cluster.memory.get(paths.ideal_state(RT.typed))
    assert ideal is not None
    assert ideal.record is not None
    rows = {name: {"Server_127.0.0.1_8098": "CONSUMING"}}
    cluster.memory.replace(paths.ideal_state(RT.typed), ZNRecord(RT.typed, ideal.record.simple, rows), ideal.version)
    with pytest.raises(StateConflict, match=status):
        upload_realtime(cluster, name, start="0", end="5")
    assert cluster.record(paths.segment(RT.typed, name)) == consuming


# -- fencing over REST (rule `fenced-uploads`)
