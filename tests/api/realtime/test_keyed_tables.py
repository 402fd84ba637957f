"""What a table in which a primary key has one row does whole and what it refuses, as use case and over REST."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from segments import wiring
from segments.clusters.embedded.rebalance.jobs import advance
from segments.domain.segments.ideal_state import with_rows
from segments.domain.tables.schema import parse_schema
from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput
from segments.segmentfile.packed.tar import write_tar
from segments.segmentfile.writer import build_segment
from segments.services.replacement import protocol
from segments.services.segments.uploads import upload_tar
from segments.services.tables import schemas
from segments.store import paths
from segments.store.records.instances import join
from segments.store.update import update_record
from tests.api.cluster import basic
from tests.services.realtime_world import ANN, SCHEMA, TABLE, RealtimeWorld, config_of

pytestmark = pytest.mark.django_db
KEYED_SCHEMA = {**SCHEMA, "primaryKeyColumns": ["id"]}
KINDS = [
    pytest.param({"upsertConfig": {"mode": "FULL"}}, id="upsert"),
    pytest.param({"dedupConfig": {"dedupEnabled": True}}, id="dedup"),
]


@pytest.fixture
def client(db: None) -> Client:
    User.objects.create_superuser("root", password="a long enough secret")
    return Client(headers={"Authorization": basic("root", "a long enough secret")})


@pytest.fixture(params=KINDS)
def world(tmp_path: Path, request: Any, db: None) -> Iterator[RealtimeWorld]:
    """A table of two partitions on two servers."""
    made = RealtimeWorld(tmp_path, create=False)
    schemas.create_schema(made.ctx, KEYED_SCHEMA, override=True, actor=ANN)
    made.create(replication=1, routing={"instanceSelectorType": "strictReplicaGroup"}, **request.param)
    with wiring.use(made.ctx):
        yield made


def refused(answer: Any, status: int, sentence: str) -> None:
    """Is it this refusal?"""
    assert answer.status_code == status, answer.content
    assert sentence in answer.json()["error"]


def tar_of(folder: Path) -> Path:
    """A segment that did not come from the stream."""
    rows = pa.table({"id": ["a"], "ts": [1_700_000_000_000]})
    build_segment(
        rows, parse_schema(KEYED_SCHEMA), parse_table_config(config_of()), "pushed", folder / "b", creation_time_ms=1
    )
    write_tar(folder / "b" / "pushed", folder / "pushed.tar.gz")
    return folder / "pushed.tar.gz"


def test_a_rebalance_moves_its_partitions_whole_with_what_they_consume(world: RealtimeWorld, client: Client) -> None:
    before = world.ideal.maps
    join(world.memory, "Server_s_8100", "s", 8100, ["DefaultTenant_REALTIME"])
    answer = client.post("/tables/t/rebalance?type=REALTIME&dryRun=true&preChecks=true").json()
    assert answer["rebalanceSummaryResult"]["segmentInfo"]["totalSegmentsToBeMoved"] >= 1
    assert "each partition moves whole" in answer["preChecksResult"]["replicaGroupsInfo"]["message"]
    assert world.ideal.maps == before
    assert client.post("/tables/t/rebalance?type=REALTIME").status_code == 200
    advance(world.ctx, TABLE)
    moved = [s for s, row in world.ideal.maps.items() if row != before[s]]
    assert moved
    assert all(set(before[s]) < set(world.ideal.maps[s]) for s in moved)


def test_a_rebalance_is_refused_where_a_partition_is_switched_off_in_part(world: RealtimeWorld, client: Client) -> None:
    (segment, *_), join_as = sorted(world.ideal.maps), "Server_s_8100"
    join(world.memory, join_as, "s", 8100, ["DefaultTenant_REALTIME"])
    row = {"Server_s_8098": "OFFLINE", "Server_s_8099": "CONSUMING"}
    update_record(world.memory, paths.ideal_state(TABLE.typed), lambda _: with_rows(world.ideal, {segment: row}))
    for more in ("", "&dryRun=true", "&downtime=true"):
        answer = client.post(f"/tables/t/rebalance?type=REALTIME{more}")
        refused(answer, 409, "switched off on some of its servers, so its partition cannot move whole")
    assert world.ideal.maps[segment] == row


def test_its_segments_are_not_replaced(world: RealtimeWorld, client: Client) -> None:
    sentence = "cannot be replaced: its rows decide about one another"
    with pytest.raises(InvalidInput, match=sentence):
        protocol.start_replace(world.ctx, TABLE, [], ["new"], actor=ANN)
    body = json.dumps({"segmentsFrom": [], "segmentsTo": ["new"]})
    answer = client.post("/segments/t/startReplaceSegments?type=REALTIME", body, "application/json")
    refused(answer, 400, sentence)
    assert world.memory.get(paths.lineage(TABLE.typed)) is None


def test_it_takes_no_segment_that_did_not_come_from_its_stream(
    world: RealtimeWorld, client: Client, tmp_path: Path
) -> None:
    tar, records = tar_of(tmp_path), world.records
    sentence = "its rows have no place among those of the stream"
    with pytest.raises(InvalidInput, match=sentence):
        upload_tar(world.ctx, TABLE, tar, actor=ANN)
    body = {"pushed": SimpleUploadedFile("pushed.tar.gz", tar.read_bytes(), "application/octet-stream")}
    refused(client.post("/v2/segments?tableName=t&tableType=REALTIME", body), 400, sentence)
    assert world.records == records
    assert list(world.ctx.deep_store.files("t")) == []


def test_keys_without_effect_are_named_when_a_config_is_saved(world: RealtimeWorld, client: Client) -> None:
    config = client.get("/tables/t?type=REALTIME").json()["REALTIME"]
    section = "upsertConfig" if "upsertConfig" in config else "dedupConfig"
    config[section] |= {"hashFunction": "MURMUR3", "enablePreload": True}
    answer = client.put("/tables/t_REALTIME", json.dumps(config), "application/json")
    assert answer.status_code == 200, answer.content
    named = [w["key"] for w in answer.json()["warnings"]]
    assert named == [f"{section}.hashFunction", f"{section}.enablePreload"]
    assert "128 bits" in answer.json()["warnings"][0]["problem"]
