"""The mirror: rows follow ZooKeeper, only what changed is written, a restart finds what happened meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from segments.domain.formats.znrecord import ZNRecord, decode, encode
from segments.domain.realtime.pause import PauseState, with_pause
from segments.domain.segments.ideal_state import new_ideal_state, with_rows
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.domain.tables.table_config import parse_table_config
from segments.mirror import bulk_rows, database
from segments.mirror import cluster_follower as follower_module
from segments.mirror.cluster_follower import ClusterFollower
from segments.mirror.rows import TableState, recompute, table_row
from segments.models import Cluster, ConsumingSegment, LineageEntry, Segment, Table
from segments.services.replacement.protocol import end_replace, revert_replace, start_replace
from segments.services.segments import deletion
from segments.store import paths
from segments.store.base import Store, Versioned
from tests.faults.faulty import FaultyStore
from tests.services.world import ANN, TABLE, World
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "store").upload("a", "z")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="test")


@pytest.fixture
def running(world: World, cluster: Cluster) -> Iterator[ClusterFollower]:
    with following(world.memory, cluster) as follower:
        yield follower


def names(**which: object) -> list[str]:
    return list(Segment.objects.filter(**which).order_by("name").values_list("name", flat=True))


@pytest.mark.usefixtures("running")
def test_rows_follow_a_push_and_a_rollback(world: World) -> None:
    assert names(is_visible=True) == ["a", "z"]
    entry = start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN)
    world.upload("b")
    wait_until(lambda: names() == ["a", "b", "z"] and names(is_visible=True) == ["a", "z"])
    end_replace(world.ctx, TABLE, entry, actor=ANN)
    wait_until(lambda: names(is_visible=True) == ["b", "z"])
    table = Table.objects.get()
    assert (table.segments_total, table.segments_visible, table.rows_visible, table.replicas_online) == (3, 2, 20, 3)
    revert_replace(world.ctx, TABLE, entry, actor=ANN)
    wait_until(lambda: names() == ["a", "z"] and LineageEntry.objects.get().state == "REVERTED")


@pytest.mark.usefixtures("running")
def test_a_dropped_table_loses_its_rows(world: World) -> None:
    world.memory.delete_tree(paths.table_config(TABLE.typed))
    wait_until(lambda: not Table.objects.exists() and not Segment.objects.exists())


def test_a_restart_writes_only_what_differs(world: World, cluster: Cluster) -> None:
    ClusterFollower(world.memory, cluster).sync_all()
    world.upload("b")
    with CaptureQueriesContext(connections["default"]) as queries:
        ClusterFollower(world.memory, cluster).sync_all()
    inserts = [q["sql"] for q in queries if q["sql"].startswith('INSERT INTO "segments_segment"')]
    assert len(inserts) == 1
    assert "'b'" in inserts[0]
    assert "'a'" not in inserts[0]
    assert names() == ["a", "b", "z"]


def test_a_table_that_cannot_be_read_does_not_stop_the_others(world: World, cluster: Cluster) -> None:
    world.memory.put_raw(paths.table_config("broken_OFFLINE"), b"no record")
    ClusterFollower(world.memory, cluster).sync_all()
    assert list(Table.objects.values_list("name", flat=True)) == ["t_OFFLINE"]


def test_rows_hold_no_secret_of_a_config_and_no_password_of_an_address(world: World, cluster: Cluster) -> None:
    node, segment = world.memory.get(paths.table_config(TABLE.typed)), world.memory.get(paths.segment(TABLE.typed, "a"))
    assert node is not None
    assert node.record is not None
    assert segment is not None
    assert segment.record is not None
    task = '{"taskTypeConfigsMap":{"X":{"input.fs.prop.secretKey":"xyzzy"}}}'
    world.memory.replace(paths.table_config(TABLE.typed), node.record.with_simple_items({"task": task}), node.version)
    address = {"segment.download.url": "https://ann:xyzzy@store/a"}
    world.memory.replace(paths.segment(TABLE.typed, "a"), segment.record.with_simple_items(address), segment.version)
    ClusterFollower(world.memory, cluster).sync_all()
    assert Table.objects.get().config["task"] == {"taskTypeConfigsMap": {"X": {"input.fs.prop.secretKey": "*****"}}}
    assert Segment.objects.get(name="a").download_url == "https://ann:*****@store/a"


def test_consuming_segments_and_the_pause_of_a_realtime_table_are_mirrored(world: World, cluster: Cluster) -> None:
    name, typed = "r__3__7__20260801T1000Z", "r_REALTIME"
    body = {"tableName": "r", "tableType": "REALTIME", "segmentsConfig": {"replication": "1"}}
    stream = {"streamType": "redis", "stream.redis.topic.name": "r", "stream.redis.decoder.class.name": "json"}
    config = parse_table_config({**body, "tableIndexConfig": {"streamConfigs": stream}, "tenants": {}, "metadata": {}})
    ideal = with_rows(new_ideal_state(typed, 1), {name: {"Server_h_1": "CONSUMING"}})
    fields = {
        "segment.realtime.startOffset": "5-0",
        "segment.realtime.status": "IN_PROGRESS",
        "segment.flush.threshold.size": "100",
    }
    world.memory.create(paths.table_config(typed), config.to_record())
    world.memory.create(paths.ideal_state(typed), with_pause(ideal, PauseState(paused=True, comment="why")))
    world.memory.create(paths.segment(typed, name), SegmentMetadata(name, fields).to_record())
    ClusterFollower(world.memory, cluster).sync_all()
    row = ConsumingSegment.objects.get()
    assert (row.name, row.partition, row.sequence, row.status) == (name, 3, 7, "IN_PROGRESS")
    assert (row.start_offset, row.end_offset, row.flush_rows, row.replicas) == (
        "5-0",
        "",
        100,
        {"Server_h_1": "OFFLINE"},
    )
    table = Table.objects.get(name=typed)
    assert (table.is_paused, table.pause["comment"], table.consuming_segments, table.is_disabled) == (
        True,
        "why",
        1,
        False,
    )


def test_a_segment_in_error_on_several_servers_is_one_segment_in_error() -> None:
    states = dict.fromkeys(("Server_h_1", "Server_h_2"), "ERROR")
    state = TableState("t_REALTIME", ideal={"s": states, "ok": states}, view={"s": states, "ok": {}})
    recompute(state, ("s", "ok"))
    assert table_row(state)["segments_in_error"] == 1


def test_a_large_change_is_written_in_pieces_and_whole_in_the_end(
    world: World, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("_BATCH", 5), ("_PIECE", 4), ("_LARGE_PIECE", 4), ("_PAUSE_S", 0.0)):
        monkeypatch.setattr(database, name, value)
    monkeypatch.setattr(bulk_rows, "_STREAMED_FROM", 1)
    follower = ClusterFollower(world.memory, cluster)
    world.upload(*(f"s{i}" for i in range(23)))
    with CaptureQueriesContext(connections["default"]) as asked:
        follower.sync_all()
    assert set(names()) == {"a", "z", *(f"s{i}" for i in range(23))}
    written = [q["sql"] for q in asked if "INSERT" in q["sql"] and "segments_segment" in q["sql"]]
    assert len(written) == 7
    deletion.remove_segments(world.ctx, TABLE, [f"s{i}" for i in range(23)], actor=ANN)
    follower.sync_all()
    assert names() == ["a", "z"]


class Reads(FaultyStore):
    """Notes what is read; ``then`` is called after each reading of many."""

    def __init__(self, world: World) -> None:
        super().__init__(world.memory)
        self.paths: list[str] = []
        self.then: Callable[[Sequence[str]], object] = lambda paths: None

    def get_many(self, paths: Sequence[str]) -> list[Versioned | None]:
        self.paths += paths
        found = super().get_many(paths)
        self.then(paths)
        return found


@contextmanager
def following(store: Store, cluster: Cluster) -> Iterator[ClusterFollower]:
    """A follower that has read everything once."""
    synced = threading.Event()
    follower = ClusterFollower(store, cluster, on_synced=synced.set)
    with running_in_a_thread(follower):
        assert synced.wait(60)
        yield follower


@contextmanager
def running_in_a_thread(follower: ClusterFollower) -> Iterator[None]:
    """It follows while the block runs."""

    def run() -> None:
        follower.run()
        connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        follower.stop()
        thread.join(30)
        assert not thread.is_alive()


def test_only_what_changed_is_read_again(world: World, cluster: Cluster) -> None:
    store = Reads(world)
    with following(store, cluster):
        store.paths.clear()
        view = store.get(paths.external_view(TABLE.typed))
        assert view is not None
        assert view.record is not None
        world.memory.put_raw(
            paths.external_view(TABLE.typed), encode(replace(view.record, maps={"a": {"Server_x": "ERROR"}}))
        )
        wait_until(lambda: Segment.objects.filter(name="a", replicas__Server_x="ERROR").exists(), 30)
        assert set(store.paths) == {paths.external_view(TABLE.typed)}
        store.paths.clear()
        world.memory.put_raw(paths.segment(TABLE.typed, "a"), changed(world, "a", "total.docs", "77"))
        wait_until(lambda: Segment.objects.filter(name="a", total_docs=77).exists(), 30)
        assert set(store.paths) == {paths.segment(TABLE.typed, "a")}


def test_sums_of_a_table_stay_those_of_its_segments(world: World, cluster: Cluster) -> None:
    follower = ClusterFollower(world.memory, cluster)
    follower.sync_all()

    def sums() -> tuple[int, ...]:
        table = Table.objects.get()
        return (
            table.segments_total,
            table.segments_visible,
            table.rows_visible,
            table.bytes_total,
            table.replicas_online,
            table.segments_short,
            table.segments_unserved,
            table.segments_without_url,
        )

    def told(size: int) -> tuple[int, ...]:
        rows = list(Segment.objects.all())
        assert len(rows) == size
        shown = [row for row in rows if row.is_visible]
        return (
            len(rows), len(shown), sum(row.total_docs or 0 for row in shown), sum(row.size_bytes or 0 for row in rows),
            sum(row.replicas_online for row in rows), sum(row.replicas_online < row.replicas_wanted for row in rows),
            sum(not row.replicas_online for row in rows), sum(not row.download_url for row in rows),
        )  # fmt: skip

    entry = start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN)
    world.upload("b")
    follower.sync_all()
    assert sums() == told(3)
    end_replace(world.ctx, TABLE, entry, actor=ANN)
    follower.sync_all()
    assert sums() == told(3)
    revert_replace(world.ctx, TABLE, entry, actor=ANN)
    follower.sync_all()
    assert sums() == told(2)
    ClusterFollower(world.memory, cluster).sync_all()
    assert sums() == told(2)


def test_a_change_does_not_wait_for_a_full_read(
    world: World, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.upload(*(f"s{i}" for i in range(30)))
    monkeypatch.setattr(follower_module, "_PIECE", 1)
    store = Reads(world)
    path = paths.segment(TABLE.typed, "a")

    def change_once(read: Sequence[str]) -> None:
        """At the first piece of the full read another change happens, and is reported."""
        if len(read) == 1 and read[0].startswith(paths.segments(TABLE.typed)) and not order:
            order.append("changed")
            world.memory.put_raw(path, changed(world, "a", "total.docs", "77"))
            wait_until(lambda: follower._pending._now.tables, 30)

    order: list[str] = []
    with following(store, cluster) as follower:
        store.paths.clear()
        store.then = change_once
        follower._pending.mark(None)
        wait_until(lambda: Segment.objects.filter(name="a", total_docs=77).exists(), 60)
        wait_until(lambda: {paths.segment(TABLE.typed, f"s{i}") for i in range(30)} <= set(store.paths), 60)
    pieces = [read for read in store.paths if read.startswith(paths.segments(TABLE.typed))]
    assert pieces[1] == path, "it comes before all that is left of the look"


def test_what_was_lost_while_nothing_was_reported_is_found(world: World, cluster: Cluster) -> None:
    with following(world.memory, cluster) as follower:
        put_unnoticed(world, paths.segment(TABLE.typed, "a"), changed(world, "a", "crc", "8"))
        world.memory.tree.nodes.pop(paths.segment(TABLE.typed, "z"))
        follower._pending.mark(None)
        wait_until(lambda: Segment.objects.filter(name="a", crc=8).exists(), 60)
        wait_until(lambda: Segment.objects.filter(name="z", crc=None).exists(), 60)
        world.upload("z")
        wait_until(lambda: Segment.objects.filter(name="z", crc__isnull=False).exists(), 60)


def put_unnoticed(world: World, path: str, data: bytes) -> None:
    """As if the connection had been lost meanwhile."""
    world.memory.tree.nodes[path] = replace(world.memory.tree.nodes[path], data=data)


def test_a_table_that_could_not_be_read_is_read_whole_when_it_can(world: World, cluster: Cluster) -> None:
    reported: list[str] = []
    follower = ClusterFollower(world.memory, cluster, report=reported.append)
    path, config = paths.ideal_state(TABLE.typed), paths.table_config(TABLE.typed)
    good, config_data = decode(world.memory.tree.nodes[path].data), world.memory.tree.nodes[config].data
    assert good is not None
    with running_in_a_thread(follower):
        wait_until(lambda: reported and names() == ["a", "z"], 60)
        world.memory.put_raw(path, b"no record")
        wait_until(lambda: "cannot be mirrored" in reported[-1], 60)
        put_unnoticed(world, path, encode(with_rows(good, {"n": {"Server_a_1": "ONLINE"}})))
        world.memory.put_raw(config, config_data)
        wait_until(lambda: reported[-1] == "" and names() == ["a", "n", "z"], 60)


def test_a_large_table_whose_records_are_costly_is_compared_alongside_the_changes(
    world: World, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of all records hangs; a change is followed meanwhile; what the list shows in the end is read."""
    monkeypatch.setattr(follower_module, "_LARGE", 1)
    monkeypatch.setattr(follower_module, "_REREAD_S", -1.0)
    store, go = Reads(world), threading.Event()
    store.is_costly = True  # type: ignore[attr-defined]
    with following(store, cluster) as follower:
        store.then = lambda read: threading.current_thread().name.startswith("compare-") and go.wait(60)
        put_unnoticed(world, paths.segment(TABLE.typed, "z"), changed(world, "z", "crc", "9"))
        follower._pending.mark(None)
        wait_until(lambda: any(t.name.startswith("compare-") for t in threading.enumerate()), 30)
        world.memory.put_raw(paths.segment(TABLE.typed, "a"), changed(world, "a", "total.docs", "77"))
        wait_until(lambda: Segment.objects.filter(name="a", total_docs=77).exists(), 30)
        assert not Segment.objects.filter(name="z", crc=9).exists()
        go.set()
        wait_until(lambda: Segment.objects.filter(name="z", crc=9).exists(), 30)


def test_where_reading_is_costly_a_full_read_reads_no_document_again(
    world: World, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower_module, "_SWEEP_S", (300.0, 0.2))
    store = Reads(world)
    store.is_costly = True  # type: ignore[attr-defined]
    with following(store, cluster):
        store.paths.clear()
        wait_until(lambda: len(store.paths) >= 2, 30)
        assert set(store.paths) == {paths.segment(TABLE.typed, name) for name in ("a", "z")}


def test_where_reading_is_costly_what_is_wanted_of_a_large_table_is_shown_before_what_servers_have(
    world: World, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower_module, "_LARGE", 1)
    store, go = Reads(world), threading.Event()
    store.is_costly = True  # type: ignore[attr-defined]
    ideal, view = paths.ideal_state(TABLE.typed), paths.external_view(TABLE.typed)
    with following(store, cluster) as follower:
        store.then = lambda read: view in read and go.wait(60)
        node = world.memory.get(ideal)
        assert node is not None
        assert node.record is not None
        put_unnoticed(world, ideal, encode(with_rows(node.record, {"n": {"Server_x_1": "ONLINE"}})))
        put_unnoticed(world, view, encode(ZNRecord(TABLE.typed, maps={"n": {"Server_x_1": "ONLINE"}})))
        with follower._pending._lock:  # both are found by one read
            follower._pending.mark(view)
            follower._pending.mark(ideal)
        wait_until(lambda: Segment.objects.filter(name="n", replicas_wanted=1, replicas_online=0).exists(), 60)
        go.set()
        wait_until(lambda: Segment.objects.filter(name="n", replicas_online=1).exists(), 60)


def changed(world: World, segment: str, field: str, value: str) -> bytes:
    """A segment's record with another value."""
    node = world.memory.get(paths.segment(TABLE.typed, segment))
    assert node is not None
    assert node.record is not None
    return encode(node.record.with_simple_items({f"segment.{field}": value}))
