"""What the mask costs whoever asks: queries over HTTP of a whole installation, to an upsert table and to one without
keys over the same topic.

Both have one segment of all rows on disk. Keys come again in any order, so that rows which do not count lie anywhere.
The tables take turns. Lone aggregations are asked at three times: as the first query after the segment was loaded, as
the first one of its kind when the column was read already, and after further rows came that replace as many.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench.realtime_ingest import SCHEMA, message
from bench.realtime_table import QuickSql, RedisFeed
from tests.integration.running import Client, Installation
from tests.waiting import poll

GOAL_RATIO: Final = 1.3
KEYED, PLAIN = "keyed", "plain"
#: Queries of each kind, and times that the segment is loaded again.
TIMES: Final = 40
LOADS: Final = 4
#: Time of the first row; the others follow a millisecond apart.
BEGAN: Final = 1_780_000_000_000
#: Rows that come between two queries.
CHANGED: Final = 1_000
#: Seconds in which a server surely begins with what it was asked for.
SETTLE_S: Final = 1.0
LONE: Final = ("sum(amount)", "avg(amount)", "max(amount)", "sum(count)")
QUERIES: Final = (
    "select count(*) from {}",
    "select sum(amount), max(count) from {}",
    "select city, count(*), sum(amount) from {} group by city order by city limit 1000",
    "select count(*), sum(amount) from {} where device = 'mobile' and count > 30",
    "select distinctcount(user) from {}",
    "select id, amount from {} order by ts desc limit 10",
    "select id, amount from {} where city = 'city-7' limit 100",
)


class Tables:
    """The two tables over one topic, and the rows in it."""

    def __init__(self, installation: Installation, keys: int, rows: int) -> None:
        self.client, self.keys, self.rows = Client(installation.endpoints), keys, rows
        self._feed, self._quick = RedisFeed(installation.endpoints["redis"]), QuickSql(installation.endpoints)
        self._random = np.random.default_rng(0)
        self._feed.create("both", 1)
        again = self._random.integers(0, keys, rows - keys)
        self._send(self._random.permutation(np.concatenate([np.arange(keys), again])).tolist(), 0)
        for name in (KEYED, PLAIN):
            self._create(name)
        self.segments = {name: self._loaded(name) for name in (KEYED, PLAIN)}

    def _send(self, ids: Sequence[int], first: int) -> None:
        self._feed.send("both", 0, (message(own, BEGAN + first + n) for n, own in enumerate(ids)))

    def _create(self, name: str) -> None:
        body = {**SCHEMA.body, "schemaName": name, "primaryKeyColumns": ["id"]}
        self.client.call("POST", "/schemas", json=body)
        limit = {"realtime.segment.flush.threshold.segment.rows": str(self.rows)}
        streams = {"streamConfigMaps": [{**self._feed.config("both"), **limit}]}
        config = {
            "tableName": name, "tableType": "REALTIME", "tenants": {}, "tableIndexConfig": {}, "metadata": {},
            "segmentsConfig": {"timeColumnName": "ts", "replication": "1"},
            "ingestionConfig": {"streamIngestionConfig": streams},
        }  # fmt: skip
        if name == KEYED:
            config |= {"upsertConfig": {"mode": "FULL"}, "routing": {"instanceSelectorType": "strictReplicaGroup"}}
        self.client.call("POST", "/tables", json=config)

    def _loaded(self, name: str) -> str:
        """The segment of all rows, once its file is served."""
        found: list[str] = []

        def look() -> bool:
            view = self.client.call("GET", f"/tables/{name}/externalview").json()["REALTIME"] or {}
            found[:] = [segment for segment, states in view.items() if set(states.values()) == {"ONLINE"}]
            return bool(found)

        poll(look, 240, f"a segment of {name}")
        return found[0]

    def load_again(self) -> None:
        """The server opens the segments' files as if it had not had them. No query sees them before the next one."""
        for name, segment in self.segments.items():
            self.client.call("POST", f"/segments/{name}_REALTIME/{segment}/reset")
        time.sleep(SETTLE_S)
        assert {name: self._loaded(name) for name in self.segments} == self.segments

    def change(self) -> None:
        """Rows that replace as many, until both tables show them."""
        before = self._count(PLAIN)
        self._send(self._random.permutation(self.keys)[:CHANGED].tolist(), before)
        newest = BEGAN + before + CHANGED - 1
        for name in (KEYED, PLAIN):
            poll(lambda name=name: self._quick.sql(f"select max(ts) from {name}") == [[newest]], 30, "new rows")

    def check(self) -> None:
        """One row of each key, and all that were sent."""
        assert self._count(KEYED) == self.keys
        assert self._quick.sql(f"set skipUpsert=true; select count(*) from {KEYED}") == [[self._count(PLAIN)]]

    def ask(self, name: str, sql: str) -> float:
        """Milliseconds."""
        began = time.perf_counter()
        self._quick.sql(sql.format(name))
        return 1000 * (time.perf_counter() - began)

    def _count(self, name: str) -> int:
        return int(self._quick.sql(f"select count(*) from {name}")[0][0])


def measure(tables: Tables) -> Iterator[tuple[str, float, float]]:
    """(what was asked, milliseconds without a mask, with one): medians."""
    for sql in QUERIES:
        yield sql.format("…"), *_turns(tables, sql, TIMES, lambda: None)
    for what in LONE:
        sql = f"select {what} from {{}}"
        if "amount" in what:
            yield f"{what}, first query of a loaded segment", *_turns(tables, sql, LOADS, tables.load_again)
            yield f"{what}, first time, column read before", *_turns(tables, sql, LOADS, lambda: _read_amount(tables))
        yield f"{what}, {CHANGED:,} rows later", *_turns(tables, sql, TIMES // 2, tables.change)
        yield f"{what}, again", *_turns(tables, sql, TIMES, lambda: None)


def _read_amount(tables: Tables) -> None:
    tables.load_again()
    for name in (KEYED, PLAIN):
        tables.ask(name, "select city, sum(amount) from {} group by city limit 1000")


def _turns(tables: Tables, sql: str, times: int, before: Callable[[], Any]) -> tuple[float, float]:
    found: dict[str, list[float]] = {PLAIN: [], KEYED: []}
    for turn in range(times):
        before()
        for name in (PLAIN, KEYED) if turn % 2 else (KEYED, PLAIN):
            found[name].append(tables.ask(name, sql))
    return statistics.median(found[PLAIN]), statistics.median(found[KEYED])


def run(keys: int) -> None:
    """Start, fill, print."""
    with tempfile.TemporaryDirectory() as folder:
        installation = Installation(Path(folder) / "data")
        try:
            tables = Tables(installation.start(), keys, 2 * keys)
            tables.check()
            print(f"{keys:,} keys, {2 * keys:,} rows; milliseconds over HTTP without and with a mask, medians")
            for what, every, masked in measure(tables):
                ratio = f"{masked / every:>7.2f} x   at most {GOAL_RATIO}"
                print(f"{what[:72]:<74}{every:>8.1f}{masked:>8.1f}{ratio}", flush=True)
            tables.check()
        finally:
            installation.stop()
