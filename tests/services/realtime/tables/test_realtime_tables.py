"""REALTIME tables as use cases: born with their first consuming segments in one transaction, and dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segments.domain.realtime.llc_name import parse_llc_name
from segments.errors import InvalidInput, StateConflict, Unavailable
from segments.services.realtime.consuming_segments import ensure_consuming
from segments.services.tables import tables
from segments.services.tables.edits.preview import preview_edit
from segments.services.tables.tables import delete_table
from segments.store import paths
from segments.store.update import update_record
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld, config_of

pytestmark = pytest.mark.django_db


def test_every_partition_of_a_new_table_consumes_from_its_first_offset(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, create=False)
    world.streams.topics["a"] = {0: [5, 9], 1: [7, 7]}
    world.create()
    assert [parse_llc_name(s).sequence for s in world.consuming] == [0, 0]
    assert [world.fields(s)["segment.realtime.startOffset"] for s in world.consuming] == ["5", "7"]
    for segment in world.consuming:
        assert world.ideal.maps[segment] == {"Server_s_8098": "CONSUMING", "Server_s_8099": "CONSUMING"}
        fields = world.fields(segment)
        assert fields["segment.realtime.status"] == "IN_PROGRESS"
        assert fields["segment.realtime.numReplicas"] == "2"
        assert fields["segment.flush.threshold.size"] == "1000"
    assert world.ideal.simple["REPLICAS"] == "2"


def test_a_table_that_starts_at_the_largest_offset_skips_what_is_there(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, create=False)
    world.streams.topics["a"] = {0: [5, 9]}
    world.create(stream={"stream.memory.consumer.prop.auto.offset.reset": "largest"})
    assert [world.fields(s)["segment.realtime.startOffset"] for s in world.consuming] == ["9"]


def test_a_realtime_table_is_born_in_one_write(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, create=False)
    store = FaultyStore(world.memory)
    tables.create_table(world.over(store), config_of(), actor=ANN)
    assert len(store.writes) == 1
    assert len([w for w in store.writes[0] if w.path.startswith(paths.segments(TABLE.typed))]) == 2


def test_partitions_of_two_topics_have_ids_ten_thousand_apart(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, topics=2, partitions=1)
    assert sorted(parse_llc_name(s).partition for s in world.consuming) == [0, 10000]


def test_more_partitions_than_fit_one_transaction_all_consume(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=650)
    assert sorted(parse_llc_name(s).partition for s in world.consuming) == list(range(650))


def test_partitions_beyond_one_transaction_begin_where_the_table_says_too(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, create=False)
    world.streams.topics["a"] = {p: [5, 9] for p in range(650)}
    world.create(stream={"stream.memory.consumer.prop.auto.offset.reset": "largest"})
    assert {world.fields(s)["segment.realtime.startOffset"] for s in world.consuming} == {"9"}
    assert world.ideal.lists == {}


def test_partitions_whose_creation_was_cut_begin_where_the_table_asked_when_it_was_created(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, create=False)
    world.streams.topics["a"] = {p: [5, 9] for p in range(301)}
    config = config_of(stream={"stream.memory.consumer.prop.auto.offset.reset": "largest"})
    store = FaultyStore(world.memory, Plan(faults={2: Fault.CUT_BEFORE}))
    with pytest.raises(Cut):
        tables.create_table(world.over(store), config, actor=ANN)
    assert len(world.consuming) == 300
    world.streams.topics["a"] = {p: [5, 20] for p in range(302)}  # the last one is new
    ensure_consuming(world.ctx, TABLE)
    starts = {parse_llc_name(s).partition: world.fields(s)["segment.realtime.startOffset"] for s in world.consuming}
    assert (starts[299], starts[300], starts[301]) == ("9", "9", "5")


def test_rows_of_the_flush_threshold_are_shared_by_the_partitions_of_a_server(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, create=False, servers=4)
    config = config_of()
    stream = config["ingestionConfig"]["streamIngestionConfig"]["streamConfigMaps"][0]
    del stream["realtime.segment.flush.threshold.segment.rows"]
    world.streams.topics["a"] = {p: [0, 0] for p in range(3)}
    tables.create_table(world.ctx, {**config}, actor=ANN)
    assert {world.fields(s)["segment.flush.threshold.size"] for s in world.consuming} == {str(5_000_000 // 2)}


def test_servers_of_another_tenant_hold_nothing(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, create=False)
    with pytest.raises(StateConflict, match="2 replicas"):
        world.create(tenants={"server": "other"})
    assert tables.list_tables(world.ctx) == []


def test_a_table_is_not_made_while_its_stream_does_not_answer(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, create=False)
    world.streams.is_down = True
    with pytest.raises(Unavailable):
        world.create()
    assert tables.list_tables(world.ctx) == []


def test_a_topic_that_was_just_made_is_asked_again(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, create=False)
    world.streams.misses = 2
    world.create()
    assert len(world.consuming) == 2


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"segments": {"timeColumnName": None}}, "time column"),
        ({"segments": {"peerSegmentDownloadScheme": "ftp"}}, "peerSegmentDownloadScheme"),
        ({"segments": {"peerSegmentDownloadScheme": "http"}, "replication": 1}, "peerSegmentDownloadScheme"),
        ({"streaming": {"pauselessConsumptionEnabled": True}}, "peerSegmentDownloadScheme"),
        ({"streaming": {"pauselessConsumptionEnabled": True}, "topics": 2}, "Multiple stream configs"),
        ({"streaming": {"streamConfigMaps": []}}, "stream"),
        ({"upsertConfig": {"mode": "FULL"}}, "must have primary key columns"),
        ({"dedupConfig": {"dedupEnabled": True}}, "must have primary key columns"),
        ({"stream": {"streamType": "pulsar"}}, "streamType"),
        ({"tableName": "t_"}, "cannot have consuming segments"),
        ({"tableName": "a__b"}, "cannot have consuming segments"),
        ({"segments": {"replicasPerPartition": "none"}}, "replicasPerPartition"),
    ],
)
def test_configs_that_cannot_work_are_refused_by_key(tmp_path: Path, change: dict[str, Any], word: str) -> None:
    world = RealtimeWorld(tmp_path, create=False)
    with pytest.raises(InvalidInput, match=word):
        world.create(**change)
    assert tables.list_tables(world.ctx) == []


def test_a_pauseless_table_of_one_replica_needs_no_peers_and_consumes_as_any_other(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, streaming={"pauselessConsumptionEnabled": True}, replication=1)
    assert {world.fields(s)["segment.realtime.status"] for s in world.consuming} == {"IN_PROGRESS"}
    assert len(world.consuming) == 2


def test_the_older_key_for_the_number_of_replicas_counts(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, segments={"replicasPerPartition": "1"})
    assert {len(row) for row in world.ideal.maps.values()} == {1}


def test_dropping_a_realtime_table_leaves_nothing(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path)
    delete_table(world.ctx, TABLE, actor=ANN)
    assert [p for p in world.memory.tree.nodes if TABLE.typed in p] == []
    world.create()
    assert len(world.consuming) == 2


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER])
def test_a_creation_cut_anywhere_makes_a_whole_table_or_none(tmp_path: Path, fault: Fault) -> None:
    world = RealtimeWorld(tmp_path, create=False)
    with pytest.raises(Cut):
        tables.create_table(world.over(FaultyStore(world.memory, Plan({1: fault}))), config_of(), actor=ANN)
    if fault is Fault.CUT_BEFORE:
        assert [p for p in world.memory.tree.nodes if TABLE.typed in p] == []
    else:
        assert len(world.consuming) == 2
        assert world.records == world.consuming


def test_no_change_asks_for_more_replicas_than_the_tenant_has_servers(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, servers=2)
    with pytest.raises(StateConflict, match="wants 3 replicas, but its tenant has 2 servers") as refused:
        tables.update_table(world.ctx, "t", config_of(replication=3), actor=ANN)
    assert refused.value.data["field"] == "segmentsConfig.replication"
    found = preview_edit(world.ctx, TABLE, config_of(replication=3))
    assert [(r.field, r.is_conflict) for r in found.refusals] == [("config.segmentsConfig.replication", True)]
    update_record(
        world.memory,
        paths.participant("Server_s_8099"),
        lambda found: found.record.with_simple(HELIX_ENABLED="false"),  # type: ignore[union-attr]
    )
    tables.update_table(world.ctx, "t", config_of(description="it has too few by now"), actor=ANN)
    tables.update_table(world.ctx, "t", config_of(replication=1), actor=ANN)
