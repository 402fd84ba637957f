"""What tests share whose processes are cut at named points: the installation, a table of its own for each, and what is
whole again.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import time
from dataclasses import dataclass, field
from typing import Any

from bench.realtime_table import RedisFeed, Table
from tests.chaos.cut_points import CutPoints
from tests.chaos.test_chaos import chain_is_whole
from tests.integration.running import Client, Installation
from tests.waiting import poll

#: Rows of a segment; every cut table has one full segment and a part of the next.
FLUSH = 100
BEFORE, MORE = 40, 100
#: A commit is its committer's own business for so long (the cluster's setting below), in seconds.
COMPLETION_S = 3.0
#: Within which a pass that was begun has repaired what it repairs.
PASS_S = 25.0
#: Within which a commit that needs no pass is mended by those who take part in it.
ALONE_S = 45.0
_numbers = itertools.count(1)


@dataclass
class World:
    """The installation, its points, and the table of the test."""

    installation: Installation
    points: CutPoints
    client: Client
    table: Table = field(init=False)

    def create(self, *, is_pauseless: bool = True) -> None:
        """A table of one partition on two servers that has read its first rows."""
        feed = RedisFeed(self.installation.endpoints["redis"])
        self.table = Table(self.client, feed, f"cut_{next(_numbers)}", 1).create(
            rows=FLUSH,
            replication=2,
            is_pauseless=is_pauseless,
            stream={"realtime.segment.pauseless.download.timeoutSeconds": "2"},
            peerSegmentDownloadScheme="http",
        )
        self.table.send(0, BEFORE)
        poll(self.is_settled, 60, "consuming")
        self.table.wait_rows(BEFORE, 30)

    def fill(self) -> None:
        """The first segment gets full."""
        self.table.send(0, MORE)

    @property
    def typed(self) -> str:
        return f"{self.table.name}_REALTIME"

    @property
    def first(self) -> str:
        """The segment that is cut."""
        return self.segments[0]

    @property
    def segments(self) -> list[str]:
        ideal = self.client.call("GET", f"/tables/{self.table.name}/idealstate").json()["REALTIME"]
        return sorted(ideal, key=lambda s: int(s.split("__")[2]))

    def record(self) -> dict[str, str]:
        """Of the segment that is cut."""
        found: dict[str, str] = self.client.call("GET", f"/segments/{self.typed}/{self.first}/metadata").json()
        return found

    def status(self) -> str:
        return self.record()["segment.realtime.status"]

    def findings(self) -> dict[str, str]:
        """{kind: text} of what people see about the table."""
        path = f"/api/v1/tables/{self.typed}/findings"
        return {f["kind"]: f["message"] for f in self.client.call("GET", path).json()["findings"]}

    def committing(self) -> list[str]:
        """What Pinot's own call says is being committed."""
        answer: Any = self.client.call("GET", f"/tables/{self.table.name}/pauselessDebugInfo").json()
        return list(answer["committingSegments"])

    def is_settled(self) -> bool:
        """Does every replica do what it should?"""
        ideal, view = (
            self.client.call("GET", f"/tables/{self.table.name}/{of}").json()["REALTIME"] or {}
            for of in ("idealstate", "externalview")
        )
        return bool(ideal) and ideal == view

    def in_error(self) -> bool:
        """Is every replica of the cut segment in ERROR?"""
        view = self.client.call("GET", f"/tables/{self.table.name}/externalview").json()["REALTIME"] or {}
        return list(view.get(self.first, {}).values()) == ["ERROR", "ERROR"]

    @property
    def server_pids(self) -> list[int]:
        """Of those that run."""
        return [server["pid"] for server in self.installation.endpoints["servers"] if server["pid"]]

    def restarted(self, pid: int) -> None:
        """Wait until the process that was cut has a successor; ``endpoints.json`` names it until its death is seen."""
        poll(lambda: pid not in self._pids(), 60, "its death is seen")
        self.installation.wait_healthy()

    def _pids(self) -> set[int]:
        """Every number in ``endpoints.json``; none while a part is down."""
        try:
            return {int(number) for number in re.findall(r"\d+", json.dumps(self.installation.endpoints))}
        except FileNotFoundError:
            return set()

    def kill_servers(self) -> None:
        """kill -9 of both, as simultaneously as can be."""
        for pid in self.server_pids:
            os.kill(pid, signal.SIGKILL)

    def is_late(self) -> None:
        """Wait until the commit is not its committer's own business any more."""
        late = time.monotonic() + COMPLETION_S + 1
        poll(lambda: time.monotonic() > late, 30, "the commit is late")

    def run_pass(self) -> None:
        """One of the realtime validation, over this table."""
        names = {"taskname": "RealtimeSegmentValidationManager", "tableName": self.table.name, "type": "REALTIME"}
        self.client.call("GET", "/periodictask/run", params=names)

    def is_mended(self) -> bool:
        """Is the segment committed, the next one consuming, every row visible once, and all at its place?"""
        is_done = self.status() == "DONE" and len(self.segments) == 2 and self.committing() == []
        return is_done and self.is_settled() and self.table.whole()


def ends_whole(world: World, *, passes: int = 0, rows: int = BEFORE + MORE) -> None:
    """Every row once, by count, ids and sequence, in a chain without a hole; by itself, or within so many passes."""
    for _ in range(passes):
        world.run_pass()
        try:
            poll(world.is_mended, PASS_S, "mended by a pass")
            break
        except AssertionError:
            continue
    poll(world.is_mended, 1 if passes else ALONE_S, f"mended within {passes} passes")
    sql = f"select count(*), distinctcount(id), min(n), max(n), sum(n) from {world.table.name}"
    assert [int(v) for v in world.client.sql(sql)[0]] == [rows, rows, 0, rows - 1, sum(range(rows))]
    chain_is_whole(world.client, world.table)
