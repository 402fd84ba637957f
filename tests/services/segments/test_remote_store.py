"""A remote deep store, which servers read directly: the CRC in a file's name keeps every record's address true."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from segments.errors import PinotAdminError
from segments.gateways.deep_store.deepstore import DeepStore
from segments.segmentfile.packed.tar import read_info_from_tar
from segments.services.core.context import Context
from segments.services.segments import archive, deletion, downloads
from segments.services.segments.restore import restore_segments
from segments.services.segments.uploads import upload_tar
from segments.services.upkeep import retention
from segments.store import paths
from tests.api.cluster import ANN, TABLE, ApiCluster
from tests.faults.faulty import FaultyStore, Plan
from tests.s3_server import S3Server, start_s3
from tests.services.segments.test_uploads import made, over, served

pytestmark = pytest.mark.django_db

HOUR_MS = 3_600_000


class RemoteStore(DeepStore):
    """A folder that is used as an object store is: no local root, so servers read the addresses on record."""

    @property
    def local_root(self) -> Path | None:
        return None


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    server = start_s3()
    yield server
    server.stop()


@pytest.fixture(params=["folder", "s3"])
def cluster(
    request: pytest.FixtureRequest, tmp_path: Path, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> ApiCluster:
    found = made(tmp_path / "cluster")
    store: DeepStore = RemoteStore(found.ctx.deep_store.url)
    if request.param == "s3":
        for key, value in s3.settings.items():
            monkeypatch.setenv(key, value)
        s3.make_bucket("deep-store")
        store = DeepStore(f"s3://deep-store/{uuid.uuid4()}")
    found.ctx = replace(found.ctx, deep_store=store)
    return found


def files(cluster: ApiCluster) -> list[str]:
    return [f.name for f in cluster.ctx.deep_store.files("t")]


def on_record(ctx: Context, segment: str) -> tuple[int, bytes]:
    """The CRC on record, and what its address leads to."""
    node = ctx.store.get(paths.segment(TABLE.typed, segment))
    assert node is not None
    assert node.record is not None
    path = ctx.deep_store.path_of(node.record.simple["segment.download.url"])
    assert path is not None
    return int(node.record.simple["segment.crc"]), ctx.deep_store.read(path) or b""


def test_a_replaced_segment_gets_a_file_and_an_address_of_its_own(cluster: ApiCluster) -> None:
    first, second = cluster.build("s0", 3), cluster.build("s0", 4)
    assert first.read_bytes() != second.read_bytes()
    upload_tar(cluster.ctx, TABLE, first, actor=ANN)
    assert on_record(cluster.ctx, "s0") == (read_info_from_tar(first).crc, first.read_bytes())
    upload_tar(cluster.ctx, TABLE, second, actor=ANN)
    assert on_record(cluster.ctx, "s0") == (read_info_from_tar(second).crc, second.read_bytes())
    assert served(cluster, "s0") == second.read_bytes()


def test_an_upload_that_loses_against_a_newer_one_changes_no_file_of_it(cluster: ApiCluster) -> None:
    """Before, both had one name: the loser's tar lay where the winner's record led to."""
    older, newer = cluster.build("s0", 3), cluster.build("s0", 4)

    def overtake() -> None:
        cluster.memory.delete(paths.upload_lock(TABLE.typed, "s0"))  # as when a lock outlived its time
        upload_tar(cluster.ctx, TABLE, newer, actor=ANN)

    late = over(cluster, FaultyStore(cluster.memory, Plan(before={2: overtake})))
    with suppress(PinotAdminError):  # refused or taken as the newest, either is right
        upload_tar(late, TABLE, older, actor=ANN)
    crc, content = on_record(cluster.ctx, "s0")
    assert content == {read_info_from_tar(t).crc: t.read_bytes() for t in (older, newer)}[crc]


def test_what_an_interrupted_upload_left_goes_and_what_is_on_record_stays(cluster: ApiCluster) -> None:
    first, second = cluster.build("s0", 3), cluster.build("s0", 4)
    upload_tar(cluster.ctx, TABLE, first, actor=ANN)
    upload_tar(cluster.ctx, TABLE, second, actor=ANN)
    upload_tar(cluster.ctx, TABLE, cluster.build("s1", 2), actor=ANN)
    assert len(files(cluster)) == 3
    cluster.now += 10**15  # files are dated by the machine's clock
    retention.run(cluster.ctx, TABLE)
    assert files(cluster) == [f"{s}@{on_record(cluster.ctx, s)[0]}" for s in ("s0", "s1")]
    assert served(cluster, "s0") == second.read_bytes()


def test_a_deleted_segment_comes_back_with_a_true_address(cluster: ApiCluster) -> None:
    tar = cluster.build("s0", 3)
    upload_tar(cluster.ctx, TABLE, tar, actor=ANN)
    _delete(cluster)
    (outcome,) = restore_segments(cluster.ctx, TABLE, ["s0"], actor=ANN)
    assert outcome.outcome == "done"
    assert on_record(cluster.ctx, "s0") == (read_info_from_tar(tar).crc, tar.read_bytes())


def test_a_file_without_a_crc_in_its_name_is_read_kept_and_brought_back(cluster: ApiCluster) -> None:
    """Earlier versions stored it so."""
    tar = cluster.build("s0", 3)
    upload_tar(cluster.ctx, TABLE, tar, actor=ANN)
    store, crc = cluster.ctx.deep_store, read_info_from_tar(tar).crc
    store.move(f"t/s0@{crc}", "t/s0")
    node = cluster.memory.get(paths.segment(TABLE.typed, "s0"))
    assert node is not None
    assert node.record is not None
    plain = replace(node.record, simple={**node.record.simple, "segment.download.url": store.uri("t/s0")})
    cluster.memory.replace(paths.segment(TABLE.typed, "s0"), plain, node.version)
    assert served(cluster, "s0") == tar.read_bytes()
    _delete(cluster)
    restore_segments(cluster.ctx, TABLE, ["s0"], actor=ANN)
    assert on_record(cluster.ctx, "s0") == (crc, tar.read_bytes())
    assert b"".join(downloads.open_segment(cluster.ctx, "t", "s0").chunks()) == tar.read_bytes()


def _delete(cluster: ApiCluster) -> None:
    """Deleted, and in the archive alone."""
    deletion.remove_segments(cluster.ctx, TABLE, ["s0"], actor=ANN)
    cluster.serve()
    deletion.drain(cluster.ctx, TABLE)
    assert files(cluster) == []
    assert [k.segment for k in archive.list_kept(cluster.ctx, TABLE)[0]] == ["s0"]
