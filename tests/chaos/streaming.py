"""Rows that stream in while parts are killed, and whether all of them are there in the end."""

from __future__ import annotations

import itertools
import time

import orjson

from bench.realtime_table import RedisFeed, Table
from tests.background import Background
from tests.integration.running import Client
from tests.waiting import poll


class Producer:
    """Sends batches at a steady rate, rows a second and partition; one whose answer was lost is searched for in the
    stream before it is resent.
    """

    def __init__(self, table: Table, rate: float) -> None:
        self.table, self._rate = table, rate
        self._began, self._sent = time.monotonic(), 0
        self._background = Background(self._catch_up, 0.02).start()

    def stop(self) -> None:
        """End; raises what went wrong."""
        self._background.stop()

    def _catch_up(self) -> None:
        due = int((time.monotonic() - self._began) * self._rate) - self._sent
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
        assert isinstance(self.table.feed, RedisFeed)
        last = self.table.feed.client.xrevrange(f"{self.table.name}-{partition}", count=1)
        self.table.sent[partition] = orjson.loads(last[0][1][b"value"])["n"] + 1 if last else 0
        return True


def visible(client: Client, table: Table) -> int:
    """Rows, or -1 while nothing answers."""
    try:
        return int(client.sql(f"select count(*) from {table.name}")[0][0])
    except Exception:  # noqa: BLE001  web, servers or ZooKeeper may be down right now
        return -1


def chain_is_whole(client: Client, table: Table) -> None:
    """Per partition: sequences without a hole, and each segment starts where the one before ended."""
    ideal = client.call("GET", f"/tables/{table.name}/idealstate").json()["REALTIME"]
    for partition in range(table.partitions):
        names = sorted((s for s in ideal if s.split("__")[1] == str(partition)), key=lambda s: int(s.split("__")[2]))
        assert [int(s.split("__")[2]) for s in names] == list(range(len(names)))
        records = [client.call("GET", f"/segments/{table.name}_REALTIME/{s}/metadata").json() for s in names]
        for old, new in itertools.pairwise(records):
            assert old["segment.realtime.endOffset"] == new["segment.realtime.startOffset"]
