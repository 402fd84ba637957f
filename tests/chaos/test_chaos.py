"""Kills at random while rows stream in: no row is lost or doubled, and consumption goes on within 30 seconds of every
kill, or the time in which the whole installation starts, if the machine takes longer than that.

A minute by default; ``make chaos`` sets CHAOS_SECONDS to half an hour. A table with pauseless commits is next to the
standard one, unless CHAOS_PAUSELESS is 0. Now and then the deep store hangs for some seconds instead, while parts are
killed as before. A failure names its seed; CHAOS_SEED repeats a run's choices.
"""

from __future__ import annotations

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
from tests.chaos.hanging_store import HangingStore
from tests.chaos.streaming import Producer, chain_is_whole, visible
from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = pytest.mark.integration

SECONDS = float(os.environ.get("CHAOS_SECONDS", "60"))
SEED = int(os.environ.get("CHAOS_SEED", str(random.SystemRandom().randrange(10**6))))
PAUSELESS = os.environ.get("CHAOS_PAUSELESS", "1") == "1"
#: Rows a second and partition; a segment ends every ten seconds or so.
RATE, FLUSH = 200, 2_000
GOES_ON_S = 30.0
DEEP_STORE = "deep store"


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
        producers, chaos = [Producer(table, RATE) for table in tables], Chaos(installation, store)
        poll(lambda: all(visible(client, table) > 0 for table in tables), 60, "the first rows")
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            before = [visible(client, table) for table in tables]
            name = chaos.strike()
            goals = [max(rows, sum(table.sent.values())) for rows, table in zip(before, tables, strict=True)]
            poll(
                lambda goals=goals: has_rows(client, tables, goals),
                max(GOES_ON_S, installation.start_s),
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
