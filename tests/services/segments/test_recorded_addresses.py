"""Addresses that earlier versions left in records become paths below the deep store; those of others stay."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from segments.clusters.embedded.segments.recorded_addresses import LOST, rewrite
from segments.clusters.embedded.validation import missing_files, validate
from segments.gateways.deep_store.deepstore import DeepStore
from segments.models import Finding
from segments.names import TableName
from segments.services.segments.uploads import upload_tar
from segments.services.upkeep import validation
from segments.store import paths
from segments.store.base import Store, Versioned
from tests.api.cluster import ApiCluster
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan
from tests.services.segments.test_uploads import ANN, made, served

pytestmark = pytest.mark.django_db
TABLE = TableName("t", "OFFLINE")
NAMES = ("a", "b", "c", "d")
RECORDS = paths.segments(TABLE.typed) + "/"


@pytest.fixture
def cluster(tmp_path: Path) -> ApiCluster:
    found = made(tmp_path / "cluster")
    for name in NAMES:
        upload_tar(found.ctx, TABLE, found.build(name), actor=ANN)
    return found


def address(cluster: ApiCluster, segment: str) -> str:
    return cluster.fields(segment)["segment.download.url"]


def put(cluster: ApiCluster, segment: str, url: str, **more: str) -> None:
    path = paths.segment(TABLE.typed, segment)
    node = cluster.memory.get(path)
    assert node is not None
    assert node.record is not None
    cluster.memory.replace(path, node.record.with_simple_items({"segment.download.url": url, **more}), node.version)


def validated(cluster: ApiCluster) -> list[str]:
    cluster.now += 2 * 3_600_000  # what a pass remembers of records is an hour old at most
    return validate(cluster.ctx, TABLE).sentences


def versions(cluster: ApiCluster) -> list[int]:
    found = [cluster.memory.get(paths.segment(TABLE.typed, name)) for name in NAMES]
    return [node.version for node in found if node is not None]


#: How earlier versions spelled the address of a file: the installation's own, then as it was somewhere else.
SPELLINGS: dict[str, Callable[[ApiCluster, str], str]] = {
    "this web process": lambda c, s: f"http://127.0.0.1:9000/segments/t/{s}",
    "another port": lambda c, s: f"http://127.0.0.1:19000/segments/t/{s}",
    "another host": lambda c, s: f"http://old-name.example/segments/t/{s}",
    "this folder": lambda c, s: f"{c.ctx.deep_store.url}/t/{s}",
    "another folder": lambda c, s: f"file:///was/here/before/t/{s}",
    "an S3": lambda c, s: f"s3://bucket/prefix?endpoint_override=http://10.0.0.1:1&scheme=http/t/{s}",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_record_of_an_earlier_version_is_read_and_rewritten_once(cluster: ApiCluster, spelling: str) -> None:
    for name in NAMES:
        put(cluster, name, SPELLINGS[spelling](cluster, name))
        assert served(cluster, name)
    assert validated(cluster) == ["Addresses of 4 segments of t_OFFLINE are paths below the deep store now."]
    assert [address(cluster, name) for name in NAMES] == [f"store:///segments/t/{name}" for name in NAMES]
    before = versions(cluster)
    assert validated(cluster) == []
    assert versions(cluster) == before
    assert missing_files(cluster.ctx, TABLE, NAMES) == set()


def test_an_address_outside_of_the_store_stays_and_one_that_leads_nowhere_is_a_finding(cluster: ApiCluster) -> None:
    foreign = {"a": "http://files.example/x/a.tar.gz", "b": "https://files.example/b?X-Amz-Signature=y", "c": ""}
    for name, url in foreign.items():
        put(cluster, name, url)
    put(cluster, "d", "http://another-pinot:9000/segments/t/d", **{"segment.crc": "1", "segment.size.in.bytes": "1"})
    assert validated(cluster) == []
    assert {name: address(cluster, name) for name in foreign} == foreign
    assert address(cluster, "d") == "http://another-pinot:9000/segments/t/d"
    validation.run(cluster.ctx, TABLE)
    finding = Finding.objects.get(code=LOST, closed_at=None)
    assert "1 segment of t_OFFLINE, e.g. d" in finding.message
    assert "d" not in missing_files(cluster.ctx, TABLE, NAMES)


def test_a_file_of_another_size_is_ours_when_its_crc_is_the_one_on_record(cluster: ApiCluster) -> None:
    put(cluster, "a", "http://before:1/segments/t/a", **{"segment.size.in.bytes": "5"})
    assert len(validated(cluster)) == 1
    assert address(cluster, "a") == "store:///segments/t/a"


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("at", range(1, len(NAMES) + 1))
def test_a_rewrite_that_is_interrupted_at_any_write_ends_the_same(
    cluster: ApiCluster, monkeypatch: pytest.MonkeyPatch, fault: Fault, at: int
) -> None:
    monkeypatch.setattr("segments.clusters.embedded.segments.recorded_addresses._BATCH", 1)
    for name in NAMES:
        put(cluster, name, SPELLINGS["another port"](cluster, name))
    cluster.now += 2 * 3_600_000
    with suppress(Cut):
        rewrite(replace(cluster.ctx, store=FaultyStore(cluster.memory, Plan({at: fault}))), TABLE)
    done = [address(cluster, name).startswith("store:///") for name in NAMES]
    cut = {Fault.CUT_BEFORE: at - 1, Fault.CUT_AFTER: at}
    assert done == [n < cut.get(fault, len(NAMES)) for n in range(len(NAMES))]
    assert all(served(cluster, name) for name in NAMES)
    validated(cluster)
    assert [address(cluster, name) for name in NAMES] == [f"store:///segments/t/{name}" for name in NAMES]
    assert set(versions(cluster)) == {2}


def test_a_segment_that_is_replaced_while_its_address_is_rewritten_keeps_the_new_record(cluster: ApiCluster) -> None:
    put(cluster, "a", SPELLINGS["another port"](cluster, "a"))
    newer = cluster.build("a", 7)
    overtake = FaultyStore(cluster.memory, Plan(before={1: lambda: upload_tar(cluster.ctx, TABLE, newer, actor=ANN)}))
    cluster.now += 2 * 3_600_000
    validate(replace(cluster.ctx, store=overtake), TABLE)
    assert served(cluster, "a") == newer.read_bytes()
    assert (cluster.fields("a")["segment.total.docs"], address(cluster, "a")) == ("7", "store:///segments/t/a")


def test_everything_is_found_again_when_the_store_is_at_another_place(cluster: ApiCluster, tmp_path: Path) -> None:
    """Nothing but the settings say where it is."""
    before = {name: served(cluster, name) for name in NAMES}
    shutil.move(str(cluster.ctx.deep_store.local_root), tmp_path / "another place")
    for url in (f"file://{tmp_path}/another%20place/", f"{tmp_path}/another place"):
        cluster.ctx = replace(cluster.ctx, deep_store=DeepStore(url), controller_url="http://another:9")
        assert {name: served(cluster, name) for name in NAMES} == before
        assert missing_files(cluster.ctx, TABLE, NAMES) == set()
        assert validated(cluster) == []


def test_records_are_read_again_only_where_the_file_that_they_named_is_gone(cluster: ApiCluster) -> None:
    assert missing_files(cluster.ctx, TABLE, NAMES) == set()
    store = NotingReads(cluster.memory)
    noting = replace(cluster.ctx, store=store)
    assert missing_files(noting, TABLE, NAMES) == set()
    assert store.records == []
    for file in (cluster.ctx.deep_store.local_root / "t").glob("b*"):
        file.unlink()
    assert missing_files(noting, TABLE, NAMES) == {"b"}
    assert store.records == ["b"]


class NotingReads(FaultyStore):
    """Notes the segments whose records are read."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.records: list[str] = []

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        self.records += [path.removeprefix(RECORDS) for path in paths if path.startswith(RECORDS)]
        return super().get_many(paths)
