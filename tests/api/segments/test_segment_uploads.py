"""Uploads over REST in every mode: what they leave in ZooKeeper and deep store, what each refusal says, and that
nothing is left of it.
"""

from __future__ import annotations

import functools
import http.server
import json
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from segments.store import paths
from segments.store.records import messages
from tests.api.cluster import ApiCluster, config_of, small_files, tar_of

JSON = "application/json"


@pytest.fixture
def table(cluster: ApiCluster) -> ApiCluster:
    return cluster.create()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """Address of a file server on this machine that serves the test's folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://localhost:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def address(table: ApiCluster, web: str, tar: Path) -> str:
    return f"{web}/{tar.relative_to(table.folder)}"


def nothing_left(table: ApiCluster) -> bool:
    records = table.memory.children(paths.segments("t_OFFLINE"))
    locks = table.memory.children(paths.upload_locks("t_OFFLINE"))
    return (records, table.ideal, table.files, locks) == ([], {}, [], [])


def test_a_new_segment_has_record_row_and_file(cluster: ApiCluster) -> None:
    cluster.create(replication=2)
    tar = cluster.build("s0", 12)
    answer = cluster.post_tar(tar, "s0")
    assert answer.json() == {"status": "Successfully uploaded segment: s0 of table: t_OFFLINE"}
    fields = cluster.fields("s0")
    assert {
        k: v for k, v in fields.items() if k not in ("segment.crc", "segment.data.crc", "segment.size.in.bytes")
    } == {
        "segment.creation.time": "1600000000000",
        "segment.download.url": "store:///segments/t/s0",
        "segment.end.time": str(19_004 * 86_400_000),
        "segment.end.time.raw": "19004",
        "segment.index.version": "v3",
        "segment.push.time": str(cluster.now),
        "segment.start.time": str(19_000 * 86_400_000),
        "segment.start.time.raw": "19000",
        "segment.time.unit": "MILLISECONDS",
        "segment.total.docs": "12",
    }
    assert fields["segment.size.in.bytes"] == str(tar.stat().st_size)
    assert cluster.ideal == {"s0": {"Server_127.0.0.1_8098": "ONLINE", "Server_127.0.0.1_8198": "ONLINE"}}
    assert cluster.files == ["s0"]
    assert cluster.memory.children(paths.upload_locks("t_OFFLINE")) == []


def test_segments_are_spread_over_the_servers(table: ApiCluster) -> None:
    table.push(*(f"s{i}" for i in range(6)))
    held = [server for row in table.ideal.values() for server in row]
    assert sorted(held.count(s) for s in set(held)) == [3, 3]


def test_the_tar_names_its_table_when_the_request_does_not(table: ApiCluster) -> None:
    assert table.post_tar(table.build("s0"), "s0", tableName=None, tableType=None, path="/segments").status_code == 200
    assert table.post_tar(table.build("s1"), "s1", tableName="t_OFFLINE").status_code == 200
    assert list(table.ideal) == ["s0", "s1"]


def test_new_content_keeps_push_time_and_notifies_the_servers(table: ApiCluster) -> None:
    table.push("s0")
    before, pushed = table.fields("s0"), table.now
    table.now += 1000
    table.push("s0", count=25)
    after = table.fields("s0")
    assert after["segment.crc"] != before["segment.crc"]
    assert (after["segment.total.docs"], after["segment.push.time"], after["segment.refresh.time"]) == (
        "25",
        str(pushed),
        str(table.now),
    )
    (server,) = table.ideal["s0"]
    (message,) = messages.read(table.memory, server)
    assert (message.subtype, message.resource, message.partition) == ("REFRESH_SEGMENT", "t_OFFLINE", "s0")
    assert table.files == ["s0"]


def test_the_same_content_changes_only_the_record(table: ApiCluster) -> None:
    tar = table.build("s0")
    for _ in range(2):
        assert table.post_tar(tar, "s0").status_code == 200
    assert "segment.refresh.time" in table.fields("s0")
    (server,) = table.ideal["s0"]
    assert messages.read(table.memory, server) == []


@pytest.mark.parametrize(
    ("query", "headers", "code"),
    [
        ({"allowRefresh": "false"}, {}, 409),
        ({}, {"If-Match": "12345"}, 412),
        ({}, {"If-Match": "no number"}, 412),
        ({"tableName": "t_REALTIME"}, {}, 400),
        ({"tableName": "nope"}, {}, 400),
        ({"tableType": "BAR"}, {}, 400),
        ({"allowRefresh": "maybe"}, {}, 400),
        ({}, {"UPLOAD_TYPE": "ZIP"}, 400),
        ({}, {"UPLOAD_TYPE": "JSON"}, 400),
        ({}, {"UPLOAD_TYPE": "METADATA"}, 400),
        ({}, {"CRYPTER": "x"}, 400),
        ({}, {"Pinot-SegmentZKMetadataCustomMapModifier": "x"}, 400),
    ],
)
def test_a_refused_refresh_changes_nothing(
    table: ApiCluster, query: dict[str, str], headers: dict[str, str], code: int
) -> None:
    table.push("s0")
    before = table.fields("s0")
    answer = table.post_tar(table.build("s0", 9), "s0", headers=headers, **query)
    assert answer.status_code == code
    assert answer.json()["error"]
    assert (table.fields("s0"), table.files) == (before, ["s0"])


def test_refresh_only_of_an_unknown_segment_is_410(table: ApiCluster) -> None:
    assert table.post_tar(table.build("s0"), "s0", headers={"REFRESH_ONLY": "true"}).status_code == 410
    assert nothing_left(table)


def test_if_match_with_the_crc_on_record_goes_through(table: ApiCluster) -> None:
    table.push("s0")
    crc = table.fields("s0")["segment.crc"]
    assert table.post_tar(table.build("s0", 9), "s0", headers={"If-Match": crc}).status_code == 200


def test_a_young_lock_refuses_a_protected_upload_and_an_old_one_is_taken_over(table: ApiCluster) -> None:
    table.push("s0")
    path = paths.segment("t_OFFLINE", "s0")

    def lock(minutes: int) -> None:
        node = table.memory.get(path)
        assert node is not None
        assert node.record is not None
        stamp = {"segment.upload.start.time": str(table.now - 60_000 * minutes)}
        table.memory.replace(path, node.record.with_simple_items(stamp), node.version)

    lock(5)
    refused = table.post_tar(table.build("s0", 20), "s0", enableParallelPushProtection="true")
    assert (refused.status_code, "s0" in refused.json()["error"]) == (409, True)
    for minutes, protected in ((11, "true"), (5, "false")):
        lock(minutes)
        assert (
            table.post_tar(table.build("s0", minutes), "s0", enableParallelPushProtection=protected).status_code == 200
        )
        assert "segment.upload.start.time" not in table.fields("s0")


def test_garbage_and_half_a_tar_leave_nothing(table: ApiCluster) -> None:
    garbage = table.folder / "garbage"
    garbage.write_bytes(b"this is not a tar" * 50)
    cut = table.build("s0", 500)
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    for tar in (garbage, cut):
        assert table.post_tar(tar).status_code == 400
    assert nothing_left(table)


def test_a_request_holds_exactly_one_file(table: ApiCluster) -> None:
    two = {name: SimpleUploadedFile(name, table.build(name).read_bytes()) for name in ("a", "b")}
    for body in (two, {}, {"a": "text"}, {"a": SimpleUploadedFile("a", table.build("a").read_bytes()), "b": "text"}):
        assert table.http.post("/v2/segments", body, query_params={"tableName": "t"}).status_code == 400
    assert nothing_left(table)


def test_a_segment_before_1971_is_403_unless_the_check_is_off(table: ApiCluster) -> None:
    old = table.build("s0", day=-200)
    assert table.post_tar(old, "s0").status_code == 403
    table.http.put("/tables/t", config_of(ingestionConfig={"segmentTimeValueCheck": False}), JSON)
    assert table.post_tar(old, "s0").status_code == 200


def test_a_full_quota_is_403(table: ApiCluster) -> None:
    table.http.put("/tables/t", config_of(quota={"storage": "10B"}), JSON)
    answer = table.post_tar(table.build("s0"), "s0")
    assert (answer.status_code, "quota" in answer.json()["error"]) == (403, True)
    assert nothing_left(table)


def test_a_uri_push_fetches_the_tar(table: ApiCluster, web: str) -> None:
    tars = {"copied": table.build("copied"), "kept": table.build("kept")}
    for path, name in (("/v2/segments", "copied"), ("/segments", "kept")):
        headers = {"UPLOAD_TYPE": "URI", "DOWNLOAD_URI": address(table, web, tars[name])}
        answer = table.http.post(path, "{}", JSON, query_params={"tableName": "t"}, headers=headers)
        assert answer.status_code == 200, answer.content
    assert table.fields("copied")["segment.download.url"] == "store:///segments/t/copied"
    assert table.fields("kept")["segment.download.url"] == address(table, web, tars["kept"])
    assert table.files == ["copied"]


def test_a_uri_push_of_pinots_own_job_names_its_table_in_a_form_that_calls_itself_json(
    table: ApiCluster, web: str
) -> None:
    headers = {"UPLOAD_TYPE": "URI", "DOWNLOAD_URI": address(table, web, table.build("copied"))}
    assert table.http.post("/v2/segments", "tableName=t_OFFLINE", JSON, headers=headers).status_code == 200
    assert table.files == ["copied"]
    for body in ("", "other=t", "x" * 5000, "tableName="):
        refused = table.http.post("/v2/segments", body, JSON, headers=headers)
        assert (refused.status_code, "tableName" in refused.json()["error"]) == (400, True)


@pytest.mark.parametrize(
    "uri", ["file:///etc/passwd", "ftp://localhost/x", "http://169.254.169.254/x", "http://no.such.host.invalid/x", ""]
)
def test_a_uri_push_reads_only_what_it_may(table: ApiCluster, uri: str) -> None:
    answer = table.http.post(
        "/v2/segments", "{}", JSON, query_params={"tableName": "t"}, headers={"UPLOAD_TYPE": "URI", "DOWNLOAD_URI": uri}
    )
    assert answer.status_code == 400
    assert nothing_left(table)


def test_a_uri_push_of_a_missing_file_is_400(table: ApiCluster, web: str) -> None:
    headers = {"UPLOAD_TYPE": "URI", "DOWNLOAD_URI": f"{web}/nope"}
    assert (
        table.http.post("/v2/segments", "{}", JSON, query_params={"tableName": "t"}, headers=headers).status_code == 400
    )


@pytest.mark.parametrize("copy", [False, True])
def test_a_metadata_push_keeps_the_address_or_copies_the_file(table: ApiCluster, web: str, copy: bool) -> None:
    tar = table.build("s0", 16)
    small = tar_of(table.folder / "meta.tar.gz", small_files(tar))
    headers = {
        "UPLOAD_TYPE": "METADATA",
        "DOWNLOAD_URI": address(table, web, tar),
        "COPY_SEGMENT_TO_DEEP_STORE": str(copy),
    }
    answer = table.post_tar(small, "s0", headers=headers)
    assert answer.status_code == 200, answer.content
    fields = table.fields("s0")
    assert fields["segment.download.url"] == ("store:///segments/t/s0" if copy else address(table, web, tar))
    assert table.files == (["s0"] if copy else [])
    assert fields["segment.total.docs"] == "16"


@pytest.mark.parametrize(
    "uri",
    [
        "{store}/other/s0",
        "{store}/Deleted_Segments/t/s0",
        "{store}/Staging/1/s0",
        "{store}/CLUSTERS/prod/s0",
        "{store}/t/../other/s0",
        "{store}/tt/s0",
        "{store}/other%2Fs0",
        "http://169.254.169.254/x",
        "http://[::ffff:169.254.169.254]/x",
        "http://2852039166/x",
        "s3://bucket/x?endpoint_override=127.0.0.1:1&scheme=http",
        "http://[::1",
        "file:///etc/passwd",
    ],
)
@pytest.mark.parametrize("copy", [False, True])
def test_a_metadata_push_names_neither_another_tables_file_nor_another_machine(
    table: ApiCluster, uri: str, copy: bool
) -> None:
    """Servers would fetch it, and the pusher read another table's rows with queries of the own one."""
    tar = table.build("s0", 16)
    for folder in ("other", "Deleted_Segments/t", "Staging/1", "CLUSTERS/prod", "tt"):
        table.ctx.deep_store.put(tar, f"{folder}/s0")
    small = tar_of(table.folder / "meta.tar.gz", small_files(tar))
    there = uri.format(store=table.ctx.deep_store.url)
    headers = {"UPLOAD_TYPE": "METADATA", "DOWNLOAD_URI": there, "COPY_SEGMENT_TO_DEEP_STORE": str(copy)}
    answer = table.post_tar(small, "s0", headers=headers)
    assert answer.status_code in (400, 403), answer.content
    assert nothing_left(table)


def test_a_metadata_push_may_name_a_file_in_its_tables_folder(table: ApiCluster) -> None:
    tar = table.build("s0", 16)
    table.ctx.deep_store.put(tar, "t/from-a-job.tar.gz")
    small = tar_of(table.folder / "meta.tar.gz", small_files(tar))
    headers = {"UPLOAD_TYPE": "METADATA", "DOWNLOAD_URI": f"{table.ctx.deep_store.url}/t/from-a-job.tar.gz"}
    assert table.post_tar(small, "s0", headers=headers).status_code == 200


def test_a_copy_of_another_segment_than_announced_is_refused(table: ApiCluster, web: str) -> None:
    small = tar_of(table.folder / "meta.tar.gz", small_files(table.build("s0", 16)))
    other = address(table, web, table.build("s0", 17))
    headers = {"UPLOAD_TYPE": "METADATA", "DOWNLOAD_URI": other, "COPY_SEGMENT_TO_DEEP_STORE": "true"}
    assert table.post_tar(small, "s0", headers=headers).status_code == 400
    assert nothing_left(table)


def test_custom_map_modifiers_are_applied(table: ApiCluster) -> None:
    for changes, wanted in (({"a": "1"}, {"a": "1"}), ({"b": "2"}, {"a": "1", "b": "2"})):
        modifier = json.dumps({"mapModifyMode": "UPDATE", "map": changes})
        headers = {"Pinot-SegmentZKMetadataCustomMapModifier": modifier}
        assert table.post_tar(table.build("s0"), "s0", headers=headers).status_code == 200
        assert table.record(paths.segment("t_OFFLINE", "s0")).maps["custom.map"] == wanted


def test_temporary_files_are_gone_afterwards(
    table: ApiCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    good, bad = table.build("s0"), table.folder / "bad"
    bad.write_bytes(b"x")
    assert [table.post_tar(tar).status_code for tar in (good, bad)] == [200, 400]
    assert list(scratch.iterdir()) == []
