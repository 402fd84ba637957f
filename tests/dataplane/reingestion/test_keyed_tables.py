"""Lost segments of tables in which a primary key has one row: read again where the order of reading does not matter,
or where the table or the cluster says so.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segments.clusters.embedded.realtime.committing import UNRECOVERABLE, repair_committing
from segments.dataplane.server.consuming.commit.building import Builder
from segments.dataplane.server.reingestion import rows_before
from segments.dataplane.server.reingestion.job_run import JobRun
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.repair.recovery_mode import ALWAYS, RECOVERY_MODE_KEY
from segments.domain.upkeep.run_properties import RunProperties
from segments.services.core.context import Actor
from segments.services.realtime.reingestion import broken_segments, jobs
from segments.store import paths
from segments.store.records.reingestions import read_job
from tests.dataplane.consuming.keyed.keyed_world import KeyedWorld, Row
from tests.dataplane.consuming_world import RT, rows_of
from tests.dataplane.reingestion.lost import GIVES_UP_SOON, PEERS, TABLE, back, change, lose
from tests.dataplane.world import poll

ME = Actor("ada", "the disks are gone")
FULL = {"upsertConfig": {"mode": "FULL", "deleteRecordColumn": "gone"}}
DEDUP = {"dedupConfig": {"dedupEnabled": True}, "tableIndexConfig": {"nullHandlingEnabled": True}}
LATE_DROPPED = {
    "upsertConfig": {"mode": "FULL", "dropOutOfOrderRecord": True},
    "tableIndexConfig": {"nullHandlingEnabled": True},
}
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


@pytest.mark.parametrize("config", [DEDUP, PARTIAL, LATE_DROPPED], ids=["dedup", "partial upsert", "late rows dropped"])
@pytest.mark.parametrize("is_two", [False, True], ids=["one segment", "two in a row"])
def test_rows_read_again_are_merged_with_the_rows_before_them_as_at_first(
    world: KeyedWorld, config: dict[str, Any], is_two: bool
) -> None:
    """The segment that comes back has the very bytes of the lost one, and what comes later counts as if it had never
    been away.
    """
    expected = Expected(config)
    world.create_keyed(config, rows=10, servers=(1, 2), segments=PEERS, stream=GIVES_UP_SOON)
    world.start_server(1)
    world.start_server(2)
    broker = world.start_broker()
    while len(world.chain()) < 5:
        expected.put(world, 10)
        expected.wait(broker)
    world.settled()
    lost = world.chain()[1:3] if is_two else world.chain()[1:2]
    crcs = [world.fields(s)["segment.crc"] for s in lost]
    for segment in reversed(lost):
        lose(world, segment)
    if config is not LATE_DROPPED:
        assert repair_committing(world.ctx, TABLE)[0] == []
    world.ctx = replace(world.ctx, run_properties=RunProperties(repairs_ordered=True))
    done, findings = repair_committing(world.ctx, TABLE)
    assert [lost[0] in text for text in done] == [True]
    waiting = [f for f in findings if f"It is read again when {lost[0]}" in f.message]
    assert [f.subject for f in waiting] == lost[1:]
    for segment in lost:
        poll(lambda: not repair_committing(world.ctx, TABLE)[1], 30, f"{segment} to be read again")
        back(world, segment)
    assert [world.fields(s)["segment.crc"] for s in lost] == crcs
    expected.wait(broker)
    expected.put(world, 25)
    expected.wait(broker)


def test_of_two_that_are_read_again_at_once_the_later_waits_for_the_earlier_as_long_as_that_takes(
    world: KeyedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = committed(world, DEDUP, *((f"k{n}", 1, n, False) for n in range(20)))
    broker = world.start_broker()
    every = sorted([f"k{n}", n] for n in range(20))
    world.shows(broker, every)
    for segment in chain[:2]:
        lose(world, segment)
    is_late, is_read, build = threading.Event(), JobRun._is_read, Builder.build

    def asked(run: JobRun, segment: str) -> bool:
        is_late.set()
        return is_read(run, segment)

    def slow(builder: Builder) -> Any:
        is_late.wait(20)
        return build(builder)

    monkeypatch.setattr(rows_before, "_LONGEST_WAIT_S", 0.2)
    monkeypatch.setattr(JobRun, "_is_read", asked)
    monkeypatch.setattr(Builder, "build", slow)
    started = jobs.reingest_all(world.ctx, TABLE, None, actor=ME)
    assert ([job.segment for job in started.jobs], started.refused) == (chain[:2], {})
    for segment in chain[:2]:
        back(world, segment)
    world.shows(broker, every)


class Expected:
    """What queries should see: the model."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config, self.pick = config, random.Random(5)
        self.state: dict[str, tuple[int, int | None]] = {}

    def put(self, world: KeyedWorld, count: int) -> None:
        """Random rows, into the stream and into the model."""
        pick = self.pick
        rows: list[dict[str, Any]] = [
            {"id": f"k{pick.randrange(90)}", "ts": 10**12 + pick.randrange(30), "n": pick.choice([None, 1, 2, 5])}
            for _ in range(count)
        ]
        world.put_json(rows)
        for row in rows:
            key, version, n = row["id"], row["ts"], row["n"]
            before = self.state.get(key)
            if self.config is DEDUP:
                self.state.setdefault(key, (version, n))
            elif before is None or version >= before[0]:
                keeps = self.config is PARTIAL and n is None and before is not None
                self.state[key] = (version, before[1] if keeps and before is not None else n)

    def wait(self, broker: Any) -> None:
        """Until queries see it."""
        wanted = [[key, -(2**63) if n is None else n] for key, (_, n) in sorted(self.state.items())]
        sql = "select id, n from r order by id limit 1000"
        try:
            poll(lambda: rows_of(broker, sql) == wanted, 20, "one row of each key")
        except AssertionError as error:
            raise AssertionError(f"{error}: {rows_of(broker, sql)} for {wanted}") from error


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


def test_a_key_that_was_repeated_while_its_segment_was_lost_shows_its_first_row_once_that_is_read_again(
    world: KeyedWorld,
) -> None:
    chain = committed(world, DEDUP, *((f"k{n}", 1, n, False) for n in range(20)))
    lose(world, chain[0])
    broker = world.start_broker()
    # Nobody knows the first ten keys any more.
    world.put(*((f"k{n}", 1, 100 + n, False) for n in range(5, 25)))
    poll(lambda: all(sum(world.rows_of(n).values()) == 20 for n in (1, 2)), 15, "repeated keys that came in")
    allow(world, chain[0], "a person")
    back(world, chain[0])
    world.shows(broker, sorted([f"k{n}", n if n < 20 else 100 + n] for n in range(25)))
    assert rows_of(broker, "SET skipUpsert=true; select count(*) from r") == [[30]]
    world.put(*((f"k{n}", 1, 200 + n, False) for n in range(26)))
    world.shows(broker, sorted([f"k{n}", n if n < 20 else 100 + n if n < 25 else 200 + n] for n in range(26)))
