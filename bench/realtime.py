"""Times realtime ingestion of a whole installation, beside what Apache Pinot 1.5.1 took on the same kind of machine (2
cores).

Usage: ``python -m bench.realtime [WORK ...] [--kafka HOST:PORT] [--seconds 30] [--rounds 10]``. Works: ingest, stall,
pauseless, fresh, commit, pause, kill, memory, peer; all of them unless named; only when named: hang (the deep store
hangs for ``--hang-s``, and its calls end only then) and slow (for ``--seconds`` each upload takes ``--upload-s``). The
stream is the installation's Redis, or the Kafka broker given. Every work ends with a check that no row is lost or
doubled.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.realtime_table import Feed, KafkaFeed, Producing, QuickSql, RedisFeed, Table, once, spread
from bench.stalls.visible_rows import SEGMENT_ROWS, figures, watch
from tests.chaos.hanging_store import HangingStore
from tests.integration.running import Client, Installation
from tests.waiting import poll

#: What Apache Pinot 1.5.1 took (Kafka).
PINOT = {
    "ingest": "85,000-100,000 rows/s, with a commit every 100,000 rows 63,000-74,000",
    "ingest two": "126,000-151,000 rows/s",
    "stall": "491-553 / 797-838 ms; rows went back 13-29 times in 90 s",
    "pauseless": "355-387 / 1,498-1,738 ms",
    "fresh": "12-14 / 460-510 ms",
    "commit": "not measured",
    "pause": "15-21 ms",
    "pause idle": "5,232 ms",
    "pause loaded": "3,232 ms",
    "resume": "183 / 406 ms",
    "force commit": "5,196 ms",
    "kill": "every query fails for 23-33 s",
}
_names = itertools.count()


class Bench:
    """One installation and its stream."""

    def __init__(self, installation: Installation, store: HangingStore, feed: Feed, given: argparse.Namespace) -> None:
        self.installation, self.store, self.feed = installation, store, feed
        self.seconds, self.rounds = given.seconds, given.rounds
        self.hang_s, self.upload_s = given.hang_s, given.upload_s

    def client(self) -> Client:
        """One per thread."""
        return Client(self.installation.endpoints)

    def table(self, partitions: int) -> Table:
        """A table that is not created yet; its topic is empty."""
        return Table(self.client(), self.feed, f"bench{next(_names)}", partitions)

    def ingest(self) -> None:
        """A topic full of rows, then a table over it: rows a second from the first visible row to the last."""
        for title, partitions, each, flush, rival in (
            ("one partition, no commit", 1, 600_000, 10_000_000, PINOT["ingest"]),
            ("one partition, a commit every 100,000 rows", 1, 600_000, 100_000, PINOT["ingest"]),
            ("two partitions", 2, 500_000, 10_000_000, PINOT["ingest two"]),
        ):
            table = self.table(partitions)
            for partition in range(partitions):
                table.send(partition, each)
            table.create(rows=flush)
            poll(lambda table=table: table.rows() > 0, 60, "the first row")
            began, first = time.perf_counter(), table.rows()
            while (seen := table.rows()) < partitions * each:
                time.sleep(0.05)
            rate = (seen - first) / (time.perf_counter() - began)
            print(f"  ingest, {title}: {rate:,.0f} rows/s   Pinot 1.5.1: {rival}")
            self.check(table)
            table.drop()

    def stall(self) -> None:
        """2,000 rows/s on two partitions and two replicas, segments of 5,000 rows: how long rows stand still at a
        commit.
        """
        self._stall("a commit", PINOT["stall"], self.table(2).create(rows=SEGMENT_ROWS, replication=2))

    def pauseless(self) -> None:
        """The same at pauseless commits."""
        table = self._pauseless_table()
        self._stall("a pauseless commit", PINOT["pauseless"], table)

    def _stall(self, what: str, rival: str, table: Table) -> None:
        """Rows of a segment come into sight one after another: the pauses where one segment follows the other."""
        table.send(0, 10)
        table.send(1, 10)
        table.wait_rows(20)
        quick, until = QuickSql(self.installation.endpoints), time.monotonic() + self.seconds
        with self.producing(table, 1_000):
            seen = watch(table, quick, lambda: time.monotonic() >= until)
        print("\n".join(figures(what, rival, seen)))
        self.check(table)
        table.drop()

    def _pauseless_table(self) -> Table:
        table = self.table(2)
        return table.create(rows=SEGMENT_ROWS, replication=2, is_pauseless=True, peerSegmentDownloadScheme="http")

    def _is_committed(self, table: Table) -> bool:
        rows = table.client.call("GET", f"/tables/{table.name}/idealstate").json()["REALTIME"]
        ended = [name for name, row in rows.items() if set(row.values()) == {"ONLINE"}]
        return all(table.status(name) == "DONE" for name in ended)

    def hang(self) -> None:
        """The same while the deep store hangs: uploads take that long, and several commits wait for each other."""
        what = f"a deep store that hangs for {self.hang_s:.0f} s"
        self._without_store(what, self.hang_s, self.store.hang, self.store.release)

    def slow(self) -> None:
        """The same while each upload takes long."""
        begin, end = (lambda: self.store.slow(self.upload_s)), (lambda: self.store.slow(0))
        self._without_store(f"uploads that take {self.upload_s:.0f} s", self.seconds, begin, end)

    def _without_store(self, what: str, seconds: float, begin: Callable[[], None], end: Callable[[], None]) -> None:
        table = self._pauseless_table()
        table.send(0, 10)
        table.send(1, 10)
        table.wait_rows(20)
        pids = [server["pid"] for server in self.installation.endpoints["servers"]]
        quick, until = QuickSql(self.installation.endpoints), time.monotonic() + seconds
        before = sum(map(_rss, pids))
        begin()
        try:
            with self.producing(table, 1_000):
                seen = watch(table, quick, lambda: time.monotonic() >= until)
                grown = sum(map(_rss, pids)) - before
        finally:
            end()
        print("\n".join(figures(what, "not measured", seen)))
        print(f"  the longest of all: {seen.longest:.2f} s; memory of the servers grew by {grown / 1e6:,.0f} MB")
        began = time.perf_counter()
        poll(lambda: self._is_committed(table), 300, "all commits ended")
        print(f"  all commits ended {time.perf_counter() - began:.1f} s after that")
        self.check(table)
        table.drop()

    def fresh(self) -> None:
        """Produce one row more under 2,000 rows/s and ask until it is seen."""
        table = self.table(3).create(rows=1_000_000, replication=2)
        for partition in range(3):
            table.send(partition, 1)
        table.wait_rows(3)
        waits = []
        with self.producing(table, 1_000, partitions=(0, 1)):
            time.sleep(1)
            until = time.monotonic() + self.seconds
            sql, wanted = f"select max(n) from {table.name}", 1_000_000_000
            quick = QuickSql(self.installation.endpoints)
            while time.monotonic() < until:
                wanted += 1
                began = time.perf_counter()
                table.mark(2, wanted)
                while quick.sql(sql)[0][0] < wanted:
                    pass
                waits.append(time.perf_counter() - began)
                time.sleep(0.02)
        print(f"  produce to queryable, the query included: {spread(waits)}   Pinot 1.5.1: {PINOT['fresh']}")
        self.check(table)
        table.drop()

    def commit(self) -> None:
        """A segment of 500,000 rows: force commit until every replica serves what was committed."""
        table = self.table(1)
        table.send(0, 500_000)
        table.create(rows=10_000_000, replication=2)
        table.wait_rows(500_000)
        segment = table.consuming()[0]

        def act() -> None:
            table.client.call("POST", f"/tables/{table.name}/forceCommit")
            poll(lambda: table.status(segment) == "DONE" and table.online(segment), 120, "ONLINE")

        print(
            f"  commit of 500,000 rows, from the request to ONLINE on both servers: {once(act):.2f} s   Pinot "
            f"1.5.1: {PINOT['commit']}"
        )
        self.check(table)
        table.drop()

    def memory(self) -> None:
        """What a server's process grows by per consuming row, against the rows' size in Arrow."""
        table = self.table(1)
        table.send(0, 20_000)
        table.create(rows=10_000_000)
        table.wait_rows(20_000)
        pid = next(
            s["pid"]
            for s in self.installation.endpoints["servers"]
            if s["instance"] == self._consumers(table)[0]["server"]
        )
        before, first = _rss(pid), self._consumers(table)[0]["bytes"]
        table.send(0, 800_000)
        table.wait_rows(820_000)
        arrow = self._consumers(table)[0]["bytes"] - first
        print(
            f"  memory of 800,000 consuming rows: {(_rss(pid) - before) / arrow:.2f} x their {arrow / 1e6:.0f} "
            "MB in Arrow   aim 2"
        )
        self.check(table)
        table.drop()

    def peer(self) -> None:
        """A committed segment streamed from one server to another process on this machine, packed as servers pack it
        for each other.
        """
        table = self.table(1)
        table.send(0, 800_000)
        table.create(rows=10_000_000, replication=2, peerSegmentDownloadScheme="http")
        table.wait_rows(800_000)
        segment = table.consuming()[0]
        table.client.call("POST", f"/tables/{table.name}/forceCommit")
        poll(lambda: table.status(segment) == "DONE" and table.online(segment), 120, "ONLINE")
        server = self.installation.endpoints["servers"][0]["admin"]
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "copy.tar.lz4"

            def copy() -> None:
                url = f"{server}/segments/{table.name}_REALTIME/{segment}?compression=lz4"
                with table.client.http.get(url, stream=True, timeout=60) as answer, target.open("wb") as out:
                    assert answer.status_code == 200, answer.text[:300]
                    for chunk in answer.iter_content(1 << 20):
                        out.write(chunk)

            copy()
            seconds = min(once(copy) for _ in range(5))
            record = table.client.call("GET", f"/segments/{table.name}_REALTIME/{segment}/metadata").json()
            unpacked = int(record["segment.size.in.bytes"])
            tar, whole = (size / seconds / 1e6 for size in (target.stat().st_size, unpacked))
            print(f"  copy from a server: {tar:.0f} MB/s of tar, {whole:.0f} MB/s of segment   aim 100")
        self.check(table)
        table.drop()

    def _consumers(self, table: Table) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = table.client.call("GET", f"/api/v1/tables/{table.name}/consumers").json()[
            "consumers"
        ]
        return found

    def pause(self) -> None:
        """Pause and resume, idle and under load; force commit."""
        table = self.table(2).create(rows=1_000_000, replication=2)
        table.send(0, 10)
        table.wait_rows(10)
        self._pauses(table, "idle")
        with self.producing(table, 1_000):
            self._pauses(table, "loaded")
        commits = []
        for _ in range(self.rounds):
            segments = table.consuming()
            began = time.perf_counter()
            table.client.call("POST", f"/tables/{table.name}/forceCommit")
            poll(lambda segments=segments: all(table.status(s) == "DONE" for s in segments), 60, "DONE")
            commits.append(time.perf_counter() - began)
            poll(lambda: len(table.consuming()) == 2, 30, "two consuming segments")
        print(f"  force commit until DONE, idle: {spread(commits)}   Pinot 1.5.1: {PINOT['force commit']}")
        self.check(table)
        table.drop()

    def _pauses(self, table: Table, how: str) -> None:
        answered, stopped, resumed, first = [], [], [], []
        quick = QuickSql(self.installation.endpoints)
        for _ in range(self.rounds):
            began = time.perf_counter()
            table.client.call("POST", f"/tables/{table.name}/pauseConsumption", params={"comment": "bench"})
            answered.append(time.perf_counter() - began)
            poll(lambda: not table.consuming(), 60, "nothing consuming")
            stopped.append(time.perf_counter() - began)
            poll(lambda: set(self._states(table)) == {"ONLINE"}, 60, "all ONLINE")
            newest = table.newest(quick).get(0, -1)
            table.send(0, 1)
            began = time.perf_counter()
            table.client.call("POST", f"/tables/{table.name}/resumeConsumption")
            resumed.append(time.perf_counter() - began)
            while table.newest(quick).get(0, -1) <= newest:
                pass
            first.append(time.perf_counter() - began)
            poll(lambda: len(table.consuming()) == 2, 30, "two consuming segments")
        print(f"  pause answered, {how}: {spread(answered)}   Pinot 1.5.1: {PINOT['pause']}")
        print(f"  pause to nothing consuming, {how}: {spread(stopped)}   Pinot 1.5.1: {PINOT[f'pause {how}']}")
        print(f"  resume answered, {how}: {spread(resumed)}")
        print(f"  resume to the first new row, {how}: {spread(first)}   Pinot 1.5.1: {PINOT['resume']}")

    def _states(self, table: Table) -> list[str]:
        view = table.client.call("GET", f"/tables/{table.name}/externalview").json()["REALTIME"] or {}
        return [state for row in view.values() for state in row.values()]

    def kill(self) -> None:
        """kill -9 of one of two servers under 1,000 rows/s: failed queries, and how long rows stand still."""
        table = self.table(2).create(rows=20_000, replication=2)
        table.send(0, 10)
        table.wait_rows(10)
        name = self.installation.endpoints["servers"][0]["instance"]
        failed: list[float] = []
        changes: list[float] = []
        with self.producing(table, 500):
            time.sleep(1)
            killed, last = time.monotonic(), -1
            thread = threading.Thread(target=lambda: self.installation.manage("server", "kill", name))
            thread.start()
            while time.monotonic() < killed + max(15.0, self.seconds):
                body = table.client.call(
                    "POST", "/query/sql", json={"sql": f"select count(*) from {table.name}"}
                ).json()
                if body.get("exceptions"):
                    failed.append(time.monotonic() - killed)
                elif (rows := body["resultTable"]["rows"][0][0]) > last:
                    last = rows
                    changes.append(time.monotonic())
                time.sleep(0.01)
            thread.join()
        longest = max(b - a for a, b in itertools.pairwise(changes))
        span = f"from {failed[0]:.1f} to {failed[-1]:.1f} s" if failed else ""
        print(
            f"  kill -9 of one of two servers: {len(failed)} failed queries {span}; longest stall {longest:.2f} "
            f"s   Pinot: {PINOT['kill']}"
        )
        self.installation.manage("server", "start", name)
        poll(
            lambda: {s["instance"] for s in self.installation.endpoints["servers"] if s["pid"]} >= {name},
            60,
            "the server again",
        )
        self.check(table)
        table.drop()

    def producing(self, table: Table, rate: int, partitions: tuple[int, ...] = (0, 1)) -> Producing:
        """Rows to each of the partitions, ``rate`` a second each, until the end of the block."""
        return Producing(table, rate, partitions)

    def check(self, table: Table) -> None:
        """Every row once."""
        poll(table.whole, 60, f"every row of {table.name} exactly once ({table.sent})")


def _rss(pid: int) -> int:
    """Bytes of memory that a process really has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Parse arguments, start, measure."""
    works: dict[str, Callable[[Bench], None]] = {
        "ingest": Bench.ingest, "stall": Bench.stall, "pauseless": Bench.pauseless, "fresh": Bench.fresh,
        "commit": Bench.commit, "pause": Bench.pause, "kill": Bench.kill, "memory": Bench.memory, "peer": Bench.peer,
        "hang": Bench.hang, "slow": Bench.slow,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("works", nargs="*", metavar="WORK", help=", ".join(works))
    parser.add_argument("--kafka", default="", metavar="HOST:PORT")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--hang-s", type=float, default=30, help="seconds for which the deep store hangs (work: hang)")
    parser.add_argument("--upload-s", type=float, default=30, help="seconds that each upload takes (work: slow)")
    parser.add_argument("--settle", type=float, default=25, help="seconds between the start and the first figure")
    given = parser.parse_args()
    unknown = set(given.works) - set(works)
    if unknown:
        parser.error(f"unknown work: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        store = HangingStore(Path(folder))
        is_faulty = not {"hang", "slow"}.isdisjoint(given.works)
        installation = Installation(Path(folder) / "data", settings=store.settings if is_faulty else {})
        try:
            installation.start()
            # The worker starts a Spark ahead of the first push, which keeps a core busy for a while.
            time.sleep(given.settle)
            feed: Feed = KafkaFeed(given.kafka) if given.kafka else RedisFeed(installation.endpoints["redis"])
            bench = Bench(installation, store, feed, given)
            print(f"realtime on {feed.kind} (median / p99)")
            for name in given.works or [w for w in works if w not in ("hang", "slow")]:
                works[name](bench)
        finally:
            installation.stop()


if __name__ == "__main__":
    main()
