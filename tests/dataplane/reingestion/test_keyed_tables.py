"""Lost segments of tables in which a primary key has one row: read again where the order of reading does not matter,
or where the table or the cluster says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segments.clusters.embedded.realtime.committing import UNRECOVERABLE, repair_committing
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.repair.recovery_mode import ALWAYS, RECOVERY_MODE_KEY
from segments.services.core.context import Actor
from segments.services.realtime.reingestion import broken_segments, jobs
from segments.store import paths
from segments.store.records.reingestions import read_job
from tests.dataplane.consuming.keyed_world import KeyedWorld, Row
from tests.dataplane.consuming_world import RT
from tests.dataplane.reingestion.lost import GIVES_UP_SOON, PEERS, TABLE, back, change, lose
from tests.dataplane.world import poll

ME = Actor("ada", "the disks are gone")
FULL = {"upsertConfig": {"mode": "FULL", "deleteRecordColumn": "gone"}}
DEDUP = {"dedupConfig": {"dedupEnabled": True}}
PARTIAL = {
    "upsertConfig": {"mode": "PARTIAL", "partialUpsertStrategies": {"n": "OVERWRITE"}},
    "tableIndexConfig": {"nullHandlingEnabled": True},
}


@pytest.fixture
def world(tmp_path: Path, events: object) -> Iterator[KeyedWorld]:
    """An empty cluster."""
    made = KeyedWorld(tmp_path)
    yield made
    made.close()


def committed(world: KeyedWorld, config: dict[str, Any], *rows: Row) -> list[str]:
    """Two servers that have committed segments of ten rows each; the names of all segments."""
    world.create_keyed(config, rows=10, servers=(1, 2), segments=PEERS, stream=GIVES_UP_SOON)
    world.start_server(1)
    world.start_server(2)
    world.put(*rows)
    poll(lambda: len(world.chain()) == len(rows) // 10 + 1, 15, "the commits")
    world.settled()
    return world.chain()


def test_a_lost_segment_of_a_full_upsert_table_is_read_again_and_each_key_shows_its_newest_version(
    world: KeyedWorld,
) -> None:
    # The lost segment has newest rows ("a" 9), rows that later ones replace, late rows and a delete.
    lost = [("a", 9, 10, False), ("b", 2, 11, False), ("c", 0, 12, False), ("d", 5, 13, True)]
    rows = [("a", 1, 0, False), ("b", 1, 1, False), ("c", 1, 2, False), ("d", 1, 3, False)]
    filled = [(f"x{n}", 1, n, False) for n in range(20)]
    chain = committed(
        world, FULL, *rows, *filled[:6], *lost, *filled[6:12], ("a", 3, 20, False), ("b", 3, 21, False), *filled[12:],
    )  # fmt: skip
    broker = world.start_broker()
    world.shows(broker)
    lose(world, chain[1])
    done, _ = repair_committing(world.ctx, TABLE)
    assert "is read from the stream again by" in done[0]
    back(world, chain[1])
    world.shows(broker)
    world.put(("a", 8, 30, False), ("c", 2, 31, False), ("d", 4, 32, False))
    world.shows(broker)


@pytest.mark.parametrize("config", [DEDUP, PARTIAL], ids=["dedup", "partial upsert"])
@pytest.mark.parametrize("allowed_by", ["the table", "the cluster", "a person"])
def test_where_the_order_of_rows_matters_a_lost_segment_is_read_again_only_when_somebody_says_so(
    world: KeyedWorld, config: dict[str, Any], allowed_by: str
) -> None:
    chain = committed(world, config, *((f"k{n}", 1, n, False) for n in range(20)))
    broker = world.start_broker()
    every = [[f"k{n}", n] for n in range(20)]
    world.shows(broker, sorted(every))
    lose(world, chain[0])
    done, (finding,) = repair_committing(world.ctx, TABLE)
    assert (done, finding.code) == ([], UNRECOVERABLE)
    assert "unless its disasterRecoveryMode is ALWAYS" in finding.message
    assert read_job(world.store, RT, chain[0]) is None
    (shown,) = broken_segments.preview(world.ctx, TABLE, [chain[0]])
    assert "partial upsert or deduplication" in shown.notes[0]

    allow(world, chain[0], allowed_by)
    back(world, chain[0])
    world.shows(broker, sorted(every))


def allow(world: KeyedWorld, segment: str, who: str) -> None:
    """Have it read again."""
    if who == "a person":
        jobs.reingest(world.ctx, TABLE, segment, actor=ME)
        return
    if who == "the cluster":
        world.ctx.engine.instances.change_settings(world.ctx, {RECOVERY_MODE_KEY: ALWAYS})
    else:
        change(world, paths.table_config(RT), with_mode_always)
    assert "is read from the stream again by" in repair_committing(world.ctx, TABLE)[0][0]


def with_mode_always(config: ZNRecord) -> ZNRecord:
    """The table's config with that mode."""
    ingestion = json.loads(config.simple["ingestionConfig"])
    ingestion["streamIngestionConfig"]["disasterRecoveryMode"] = ALWAYS
    return config.with_simple(ingestionConfig=json.dumps(ingestion))
