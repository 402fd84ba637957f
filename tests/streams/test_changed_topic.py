"""A table that really consumes is paused, made to read another topic with other offsets and resumed: no row skipped or
doubled, no loss.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segments.errors import StateConflict
from segments.gateways.streams import open_stream
from segments.models import Finding
from segments.names import REALTIME, TableName
from segments.services.core.context import Actor
from segments.services.realtime import consumption
from segments.services.realtime.consuming_segments import StartFrom
from segments.services.realtime.realtime_validation import run
from segments.services.realtime.resume_plan import plan_resume
from segments.services.tables import schemas, tables
from segments.store.records.data_loss import read_data_loss
from tests.dataplane.consuming_world import RT, SCHEMA, ConsumingWorld
from tests.dataplane.world import poll
from tests.streams.conftest import ACCESS, RedisWorld

pytestmark = pytest.mark.django_db
ANN, TABLE, SMALLEST = Actor("ann", "because"), TableName("r", REALTIME), StartFrom("smallest", is_chosen=True)


class RedisOpener:
    """Stands where the world's stream in memory does."""

    def open(self, config: Any) -> Any:
        return open_stream(config, ACCESS)


@pytest.fixture
def redis(valkey: int) -> RedisWorld:
    return RedisWorld(valkey)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConsumingWorld]:
    """Servers and services on the real Valkey."""
    made = ConsumingWorld(tmp_path)
    made.stream = RedisOpener()  # type: ignore[assignment]
    made.ctx = made.controller.ctx = replace(made.ctx, streams=made.stream.open)
    yield made
    made.close()


def rows(start: int, count: int) -> list[bytes]:
    return [json.dumps({"id": f"i{n}", "n": n, "ts": 1_700_000_000_000}).encode() for n in range(start, start + count)]


def add(redis: RedisWorld, topic: str, first_ms: int, values: list[bytes], removed: int = 0) -> None:
    """Entries with ids from this time on; so many entries before them came and are gone."""
    key = f"{topic}-0"
    for number in range(removed):
        redis.client.xadd(key, {"value": b"{}"}, id=f"{first_ms - removed + number}-0")
    if removed:
        redis.client.xtrim(key, maxlen=0, approximate=False)
    for number, value in enumerate(values):
        redis.client.xadd(key, {"value": value}, id=f"{first_ms + number}-0")


def config_of(redis: RedisWorld, topic: str) -> dict[str, Any]:
    maps = {**redis.config(topic).raw, "stream.redis.consumer.prop.auto.offset.reset": "smallest"}
    return {
        "tableName": "r", "tableType": "REALTIME", "tenants": {}, "tableIndexConfig": {}, "metadata": {},
        "segmentsConfig": {"timeColumnName": "ts", "replication": "1"},
        "ingestionConfig": {"streamIngestionConfig": {"streamConfigMaps": [maps]}},
    }  # fmt: skip


def shows(world: ConsumingWorld, count: int) -> None:
    """Each row once; rows carry numbers from 0 on."""
    poll(lambda: sum(world.rows_of(1).values()) >= count, what=f"{count} rows")
    assert sorted(world.ids_of(1)) == sorted(f"i{n}" for n in range(count))


@pytest.mark.parametrize(("first_ms", "removed"), [(1_000, 0), (9_000_000, 7)], ids=["before", "behind"])
def test_a_table_goes_over_to_another_topic_whose_ids_lie_before_or_behind(
    world: ConsumingWorld, redis: RedisWorld, topic: str, first_ms: int, removed: int
) -> None:
    old, new = topic, f"{topic}new"
    add(redis, old, 5_000_000, rows(0, 60))
    world.start_server()
    schemas.create_schema(world.ctx, SCHEMA.body, override=False, actor=ANN)
    tables.create_table(world.ctx, config_of(redis, old), actor=ANN)
    shows(world, 60)
    consumption.pause_table(world.ctx, TABLE, actor=ANN)
    poll(lambda: world.fields(world.chain()[0])["segment.realtime.status"] == "DONE", what="everything committed")
    add(redis, new, first_ms, rows(60, 40), removed)
    tables.update_table(world.ctx, "r", config_of(redis, new), actor=ANN)
    for ask in (
        lambda: plan_resume(world.ctx, TABLE, StartFrom()),
        lambda: consumption.resume_table(world.ctx, TABLE, actor=ANN),
    ):
        with pytest.raises(StateConflict, match=f"stopped in redis topic '{old}'"):
            ask()
    planned = plan_resume(world.ctx, TABLE, SMALLEST)[0]
    assert (planned.start, planned.skipped, planned.repeated) == (f"{first_ms}-0", None, None)
    assert "another stream" in planned.note
    consumption.resume_table(world.ctx, TABLE, start=SMALLEST, actor=ANN)
    shows(world, 100)
    run(world.ctx, TABLE)
    assert read_data_loss(world.store, RT) == []
    assert not Finding.objects.filter(table_name=RT, closed_at__isnull=True).exists()
