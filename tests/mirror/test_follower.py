"""The mirror: rows follow ZooKeeper, only what changed is written, a restart finds what happened meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from segments.domain.ideal_state import new_ideal_state, with_rows
from segments.domain.pause import PauseState, with_pause
from segments.domain.segment_metadata import SegmentMetadata
from segments.domain.table_config import parse_table_config
from segments.mirror import database
from segments.mirror.follower import Follower
from segments.models import Cluster, ConsumingSegment, LineageEntry, Segment, Table
from segments.services import deletion
from segments.services.replacement import end_replace, revert_replace, start_replace
from segments.store import paths
from tests.real_parts import wait_until
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "store").upload("a", "z")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="test")


@pytest.fixture
def running(world: World, cluster: Cluster) -> Iterator[Follower]:
    synced = threading.Event()
    follower = Follower(world.memory, cluster, on_synced=synced.set)

    def run() -> None:
        follower.run()
        connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    assert synced.wait(10)
    yield follower
    follower.stop()
    thread.join(10)
    assert not thread.is_alive()


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
    Follower(world.memory, cluster).sync_all()
    world.upload("b")
    with CaptureQueriesContext(connections["default"]) as queries:
        Follower(world.memory, cluster).sync_all()
    inserts = [q["sql"] for q in queries if q["sql"].startswith('INSERT INTO "segments_segment"')]
    assert len(inserts) == 1
    assert "'b'" in inserts[0]
    assert "'a'" not in inserts[0]
    assert names() == ["a", "b", "z"]


def test_a_table_that_can_not_be_read_does_not_stop_the_others(world: World, cluster: Cluster) -> None:
    world.memory.put_raw(paths.table_config("broken_OFFLINE"), b"no record")
    Follower(world.memory, cluster).sync_all()
    assert list(Table.objects.values_list("name", flat=True)) == ["t_OFFLINE"]


def test_consuming_segments_and_the_pause_of_a_realtime_table_are_mirrored(world: World, cluster: Cluster) -> None:
    name, typed = "r__3__7__20260801T1000Z", "r_REALTIME"
    body = {"tableName": "r", "tableType": "REALTIME", "segmentsConfig": {"replication": "1"}}
    stream = {"streamType": "redis", "stream.redis.topic.name": "r", "stream.redis.decoder.class.name": "json"}
    config = parse_table_config({**body, "tableIndexConfig": {"streamConfigs": stream}, "tenants": {}, "metadata": {}})
    ideal = with_rows(new_ideal_state(typed, 1), {name: {"Server_h_1": "CONSUMING"}})
    fields = {"segment.realtime.startOffset": "5-0", "segment.realtime.status": "IN_PROGRESS", "segment.flush.threshold.size": "100"}
    world.memory.create(paths.table_config(typed), config.to_record())
    world.memory.create(paths.ideal_state(typed), with_pause(ideal, PauseState(paused=True, comment="why")))
    world.memory.create(paths.segment(typed, name), SegmentMetadata(name, fields).to_record())
    Follower(world.memory, cluster).sync_all()
    row = ConsumingSegment.objects.get()
    assert (row.name, row.partition, row.sequence, row.status) == (name, 3, 7, "IN_PROGRESS")
    assert (row.start_offset, row.end_offset, row.flush_rows, row.replicas) == ("5-0", "", 100, {"Server_h_1": "OFFLINE"})
    table = Table.objects.get(name=typed)
    assert (table.is_paused, table.pause["comment"], table.consuming_segments, table.is_disabled) == (True, "why", 1, False)


def test_a_large_change_is_written_in_pieces_and_whole_in_the_end(world: World, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_BATCH", 5), ("_PIECE", 4), ("_PAUSE_S", 0.0)):
        monkeypatch.setattr(database, name, value)
    follower = Follower(world.memory, cluster)
    world.upload(*(f"s{i}" for i in range(23)))
    with CaptureQueriesContext(connections["default"]) as asked:
        follower.sync_all()
    assert set(names()) == {"a", "z", *(f"s{i}" for i in range(23))}
    written = [q["sql"] for q in asked if "INSERT" in q["sql"] and "segments_segment" in q["sql"]]
    assert len(written) == 7
    deletion.remove_segments(world.ctx, TABLE, [f"s{i}" for i in range(23)], actor=ANN)
    follower.sync_all()
    assert names() == ["a", "z"]
