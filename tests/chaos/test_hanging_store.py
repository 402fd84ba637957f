"""A deep store that hangs for half a minute (HANGING_SECONDS; ten minutes in ``make chaos``): what does not need it
goes on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.realtime_table import RedisFeed, Table
from tests.background import Background
from tests.chaos.hanging_store import HangingStore
from tests.chaos.outside_files import OutsideFiles
from tests.integration.running import Client, Installation
from tests.waiting import poll

SECONDS = float(os.environ.get("HANGING_SECONDS", "30"))
pytestmark = [pytest.mark.integration, pytest.mark.timeout(SECONDS + 300)]
#: Rows a second; a segment ends every ten seconds, and its upload fails.
RATE, FLUSH = 50, 500


@pytest.fixture
def store(tmp_path: Path) -> HangingStore:
    return HangingStore(tmp_path)


@pytest.fixture
def installation(store: HangingStore, tmp_path: Path) -> Iterator[Installation]:
    settings = {**store.settings, "PINOTADMIN_DEEP_STORE_TIMEOUT_S": "3", "PINOTADMIN_ENTRY_LEASE_S": "4"}
    started = Installation(tmp_path / "data", settings=settings).start()
    yield started
    store.release()
    assert started.stop() == 0


def state_of(client: Client, table: str, entry: str) -> str:
    lineage = client.call("GET", f"/segments/{table}/lineage", params={"type": "OFFLINE"}).json()
    return str(lineage["lineageEntries"][entry]["state"])


def is_committing(client: Client, table: Table) -> bool:
    """Is a segment there that consumes no more and is not committed?"""
    rows = client.call("GET", f"/tables/{table.name}/idealstate").json()["REALTIME"]
    ended = [s for s, states in rows.items() if "CONSUMING" not in states.values()]
    return any(table.status(s) != "DONE" for s in ended)


def flowing_table(client: Client, feed: RedisFeed, *, is_pauseless: bool) -> Table:
    """Its segments may live on servers only."""
    table = Table(client, feed, "pauseless" if is_pauseless else "flowing", 1)
    return table.create(rows=FLUSH, replication=2, is_pauseless=is_pauseless, peerSegmentDownloadScheme="http")


def wait_rows(tables: Sequence[Table], rows: Sequence[int], seconds: float) -> None:
    """Until so many of each table are visible."""
    for table, count in zip(tables, rows, strict=True):
        table.wait_rows(count, seconds)


def ends_whole(client: Client, tables: Sequence[Table]) -> None:
    """Every row once, and no commit that has not ended."""
    for table in tables:
        poll(table.whole, 90, f"every row of {table.name} exactly once")
        poll(lambda table=table: not is_committing(client, table), 90, f"the ends of the commits of {table.name}")


def a_round(client: Client, table: str, paused: Table) -> None:
    """A planned resume and a lapsed lease come to their ends, queries are right, and the worker of passes works."""
    client.call("POST", f"/tables/{paused.name}/pauseConsumption", params={"comment": "a test", "resumeAfter": "5s"})
    silent = client.start(table, ["a"], ["never"])
    client.call("POST", f"/api/v1/lineage/{table}/{silent}/heartbeat")
    status = f"/tables/{paused.name}/pauseStatus"
    poll(lambda: not client.call("GET", status).json()["pauseFlag"], 60, "the planned resume")
    poll(lambda: state_of(client, table, silent) == "REVERTED", 60, "the entry of a silent client reverted")
    assert client.counts(table) == {"a": 10}
    passes: Any = next(w for w in client.call("GET", "/health/workers").json()["workers"] if w["name"] == "passes")
    assert passes["ok"], passes


def test_what_does_not_need_the_deep_store_goes_on_while_it_hangs(
    installation: Installation, store: HangingStore, tmp_path: Path
) -> None:
    """Consumption with either kind of commit, pushes to other tables, ends in the background, resumes, the reaper."""
    client = Client(installation.endpoints)
    client.create("kept")
    client.create("beside")
    (tmp_path / "outside").mkdir()
    outside, pushed = OutsideFiles(tmp_path / "outside", "beside"), list[str]()
    client.upload("kept", "a", "b")
    client.online("kept", "a", "b")
    feed = RedisFeed(installation.endpoints["redis"])
    flowing = [flowing_table(client, feed, is_pauseless=is_pauseless) for is_pauseless in (False, True)]
    paused = Table(client, feed, "resting", 1).create(rows=100_000)
    stream = Background(lambda: [table.send(0, int(RATE * 0.2)) for table in flowing], 0.2).start()
    wait_rows(flowing, [10, 10], 60)
    store.hang()
    client.call("DELETE", "/segments/kept/b", params={"type": "OFFLINE"})
    try:
        refused = client.call("GET", "/segments/kept/a", 503).json()
        assert "The deep store has not answered" in str(refused)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            sent = [sum(table.sent.values()) for table in flowing]
            outside.replace(client, pushed[-1:], f"s{len(pushed)}")
            pushed.append(f"s{len(pushed)}")
            a_round(client, "kept", paused)
            wait_rows(flowing, sent, 30)
    finally:
        store.release()
        stream.stop()
        outside.close()
    ends_whole(client, flowing)
    deleted = installation.folder / "deepstore" / "Deleted_Segments" / "kept"
    poll(
        lambda: deleted.exists() and list(deleted.iterdir()), 120, "the deletion that waited for the store is finished"
    )
