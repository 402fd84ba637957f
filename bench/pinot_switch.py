"""Times rollbacks on a real Apache Pinot 0.11.0: its own REST call, and the same through this installation, until
queries see the old side.

Usage: ``python -m bench.pinot_switch [--cycles 20]``. Says so and ends when Pinot's jars are not there (``make
test-real`` fetches them).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import requests

from bench._snapshots import p99
from tests.integration.running import Client, Installation
from tests.maven import PINOT
from tests.real_pinot.cluster import RealPinot, running
from tests.waiting import poll

OLD, NEW = ["a1", "a2"], ["b1", "b2"]


class Ways:
    """A table per way to the same Pinot; queries always go straight to its broker."""

    def __init__(self, pinot: RealPinot, installation: Installation) -> None:
        ends, self._pinot, self._http = installation.endpoints, pinot, requests.Session()
        direct = Client({**ends, "controller": pinot.controller})
        del direct.http.headers["Authorization"]
        self.clients = {"Pinot's own REST": direct}
        for name, title in (("real", "through us"), ("restonly", "through us, without ZooKeeper")):
            self.clients[title] = Client({**ends, "controller": f"{ends['controller']}/clusters/{name}"})
        self.tables = {title: f"switch_{number}" for number, title in enumerate(self.clients)}
        for title, client in self.clients.items():
            client.create(self.tables[title])
            client.upload(self.tables[title], *OLD)
            poll(lambda title=title: self.seen(title) == set(OLD), 60, "the first rows")  # type: ignore[misc]  # binds the loop's value

    def seen(self, way: str) -> set[str]:
        """The segments that answer now."""
        sql = f"select v, count(*) from {self.tables[way]} group by v limit 100"  # a name of ours
        found = self._http.post(f"{self._pinot.broker}/query/sql", json={"sql": sql}, timeout=60).json()
        return {row[0] for row in (found.get("resultTable") or {}).get("rows", [])}

    def roll_back(self, way: str, number: int) -> tuple[float, float, bool]:
        """(seconds of the call, until the first right answer, was the very first one right?)"""
        client, table, new = self.clients[way], self.tables[way], [f"{name}_{number}" for name in NEW]
        entry = client.start(table, OLD, new)
        client.upload(table, *new)
        client.online(table, *new)
        client.end(table, entry)
        poll(lambda: self.seen(way) == set(new), 60, "the new side")
        began = time.perf_counter()
        client.revert(table, entry)
        returned = time.perf_counter()
        is_first = self.seen(way) == set(OLD)
        while not is_first and self.seen(way) != set(OLD):
            pass
        return returned - began, time.perf_counter() - began, is_first


def main() -> None:
    """Measure and print a line per way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", type=int, default=20)
    given = parser.parse_args()
    if not PINOT.is_complete:
        print(f"{PINOT.name} is not in {PINOT.folder}; `make test-real` fetches it")
        return
    with running() as pinot, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        installation = Installation(Path(folder) / "data").start(240)
        try:
            reached = ("--controller", pinot.controller, "--broker", pinot.broker)
            installation.manage(
                "cluster", "add", "real", *reached, "--zookeeper", pinot.zookeeper, seconds=120
            ).check_returncode()
            installation.manage("cluster", "add", "restonly", *reached, seconds=120).check_returncode()
            measure(Ways(pinot, installation), given.cycles)
        finally:
            installation.stop()


def measure(ways: Ways, cycles: int) -> None:
    """The ways in turn, so that all have the same load beside them."""
    found = defaultdict(list)
    for number in range(cycles):
        for way in ways.clients:
            found[way].append(ways.roll_back(way, number))
    print(f"rollback on Pinot 0.11.0, {cycles} cycles, ms (median / p99)")
    for way, times in found.items():
        call, shown = ([t[i] for t in times] for i in (0, 1))
        stale = sum(not t[2] for t in times)
        print(
            f"  {way:32} call {row(call)}   until the first right answer {row(shown)}   stale first answers "
            f"{stale} of {cycles}"
        )


def row(seconds: list[float]) -> str:
    """median / p99 in ms."""
    return f"{sorted(seconds)[len(seconds) // 2] * 1000:5.0f} / {p99(seconds) * 1000:5.0f}"


if __name__ == "__main__":
    main()
