"""Kills at random while rows stream in: no row is lost or doubled, and consumption goes on within 30 seconds of every
kill.

Two minutes by default; ``make chaos`` sets CHAOS_SECONDS to half an hour. A table with pauseless commits is next to the
standard one, unless CHAOS_PAUSELESS is 0. Now and then the deep store hangs for some seconds instead, while parts are
killed as before. A failure names its seed; CHAOS_SEED repeats a run's choices.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bench.realtime_table import RedisFeed, Table
from tests.background import Background
from tests.chaos.hanging_store import HangingStore
from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = pytest.mark.integration

SECONDS = float(os.environ.get("CHAOS_SECONDS", "120"))
SEED = int(os.environ.get("CHAOS_SEED", str(random.SystemRandom().randrange(10**6))))
PAUSELESS = os.environ.get("CHAOS_PAUSELESS", "1") == "1"
#: Rows a second and partition; a segment ends every ten seconds or so.
RATE, FLUSH = 200, 2_000
GOES_ON_S = 30.0
DEEP_STORE = "deep store"


class Producer:
    """Sends batches at a steady rate; one whose answer was lost is searched for in the stream before it is resent."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._began, self._sent = time.monotonic(), 0
        self._background = Background(self._catch_up, 0.02).start()

    def stop(self) -> None:
        """End; raises what went wrong."""
        self._background.stop()

    def _catch_up(self) -> None:
        due = int((time.monotonic() - self._began) * RATE) - self._sent
        for partition in range(self.table.partitions):
            self._send(partition, due)
        self._sent += due

    def _send(self, partition: int, count: int) -> None:
        """Rows are numbered, so the last entry of the stream shows how many of them arrived."""
        assert isinstance(self.table.feed, RedisFeed)
        goal = self.table.sent[partition] + count
        deadline = time.monotonic() + 60
        while self.table.sent[partition] < goal:
            try:
                self.table.send(partition, goal - self.table.sent[partition])
            except Exception:
                if time.monotonic() > deadline:
                    raise
                self._background.stopping.wait(0.2)
                poll(lambda: self._look(partition), 60, "the stream answers")

    def _look(self, partition: int) -> bool:
        import orjson

        assert isinstance(self.table.feed, RedisFeed)
        last = self.table.feed.client.xrevrange(f"{self.table.name}-{partition}", count=1)
        self.table.sent[partition] = orjson.loads(last[0][1][b"value"])["n"] + 1 if last else 0
        return True


class Chaos:
    """The installation, what may be killed of it, and its deep store, which may hang."""

    def __init__(self, installation: Installation, store: HangingStore) -> None:
        self.installation, self._store = installation, store
        self.random = random.Random(SEED)
        self.done: list[str] = []
        self._hangs_until: float | None = None

    def victims(self) -> dict[str, int]:
        """{name: pid} of all that may be killed."""
        found: dict[str, Any] = self.installation.endpoints
        pids = {
            name: pid
            for name, pid in found["pids"].items()
            if name in ("web", "zookeeper", "redis", "mirror", "worker")
        }
        servers = {s["instance"]: s["pid"] for s in found["servers"] if s["pid"]}
        # Servers and the controller's process matter most.
        return {**pids, **servers}

    def strike(self) -> str:
        """kill -9 of one of them, or the deep store stands still for some seconds."""
        if self._hangs_until is not None and time.monotonic() > self._hangs_until:
            self.let_store_go()
        victims = poll(self.victims, 60, "endpoints.json")
        weights = [4 if name.startswith("Server_") or name == "web" else 1 for name in victims]
        name = self.random.choices([*victims, DEEP_STORE], [*weights, 1])[0]
        if name == DEEP_STORE:
            self._store.hang()
            self._hangs_until = time.monotonic() + self.random.uniform(5, 40)
        else:
            os.kill(victims[name], signal.SIGKILL)
        self.done.append(name)
        return name

    def let_store_go(self) -> None:
        """The deep store answers again."""
        self._store.release()
        self._hangs_until = None


def visible(client: Client, table: Table) -> int:
    """Rows, or -1 while nothing answers."""
    try:
        return int(client.sql(f"select count(*) from {table.name}")[0][0])
    except Exception:  # noqa: BLE001  web, servers or ZooKeeper may be down right now
        return -1


def has_rows(client: Client, tables: Sequence[Table], goals: Sequence[int]) -> bool:
    """Are so many rows of each table visible?"""
    return all(visible(client, table) >= goal for table, goal in zip(tables, goals, strict=True))


def create_tables(client: Client, feed: RedisFeed) -> list[Table]:
    """A table of the standard protocol, and a pauseless one where that is wanted."""
    tables = [Table(client, feed, "chaos", 2).create(rows=FLUSH, replication=2)]
    if PAUSELESS:
        table = Table(client, feed, "pauseless", 2)
        tables.append(table.create(rows=FLUSH, replication=2, is_pauseless=True, peerSegmentDownloadScheme="http"))
    return tables


@pytest.mark.timeout(SECONDS + 480)
def test_random_kills_lose_and_double_nothing_and_consumption_goes_on(tmp_path: Path) -> None:
    store = HangingStore(tmp_path)
    settings = {**store.settings, "PINOTADMIN_DEEP_STORE_TIMEOUT_S": "3"}
    installation = Installation(tmp_path / "data", settings=settings).start()
    opened = ExitStack()
    try:
        client = Client(installation.endpoints)
        feed = RedisFeed(installation.endpoints["redis"])
        opened.callback(feed.client.close)
        tables = create_tables(client, feed)
        producers, chaos = [Producer(table) for table in tables], Chaos(installation, store)
        poll(lambda: all(visible(client, table) > 0 for table in tables), 60, "the first rows")
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            before = [visible(client, table) for table in tables]
            name = chaos.strike()
            goals = [max(rows, sum(table.sent.values())) for rows, table in zip(before, tables, strict=True)]
            poll(
                lambda goals=goals: has_rows(client, tables, goals),
                GOES_ON_S,
                f"seed {SEED}: rows after the kill of {name} ({chaos.done})",
            )
            threading.Event().wait(chaos.random.uniform(0.5, 4))
        chaos.let_store_go()
        for producer in producers:
            producer.stop()
        for table in tables:
            ends_whole(client, table, chaos)
    finally:
        opened.close()
        store.release()
        installation.stop()


def ends_whole(client: Client, table: Table, chaos: Chaos) -> None:
    """All rows that were sent, each once, in a chain of segments without a hole."""
    total, what = sum(table.sent.values()), f"{table.name}, seed {SEED}:"
    assert total > SECONDS * RATE
    poll(lambda: visible(client, table) >= total, 60, f"{what} all {total} rows after {chaos.done}")
    poll(table.whole, 20, f"{what} every row exactly once after {chaos.done}")
    chain_is_whole(client, table)


def chain_is_whole(client: Client, table: Table) -> None:
    """Per partition: sequences without a hole, and each segment starts where the one before ended."""
    ideal = client.call("GET", f"/tables/{table.name}/idealstate").json()["REALTIME"]
    for partition in range(table.partitions):
        names = sorted((s for s in ideal if s.split("__")[1] == str(partition)), key=lambda s: int(s.split("__")[2]))
        assert [int(s.split("__")[2]) for s in names] == list(range(len(names)))
        records = [client.call("GET", f"/segments/{table.name}_REALTIME/{s}/metadata").json() for s in names]
        for old, new in itertools.pairwise(records):
            assert old["segment.realtime.endOffset"] == new["segment.realtime.startOffset"]
