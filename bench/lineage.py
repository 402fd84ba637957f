"""Times start, end and revert of a replacement, each with the first query after it, quiet and under readers in processes of their own.

Usage: ``python -m bench.lineage [--cycles 40] [--readers 2]``. Starts an installation in a temporary folder, prints milliseconds
(median / p99) beside what Apache Pinot 1.5.1 took on the same kind of machine (2 cores).
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

from tests.integration.running import Client, Installation

OLD, NEW, TABLE = ["a1", "a2", "a3"], ["b1", "b2"], "bench"
SNAPSHOTS = ({"a1": 10, "a2": 10, "a3": 10}, {"b1": 10, "b2": 10})
#: Apache Pinot 1.5.1, quiet machine: the call, then the time until the first right answer (median / p99, ms).
PINOT = {"start": "7 / 18", "end": "17 + 22 / 34 + 62", "revert": "16 + 22 / 27 + 58"}


def read(endpoints: dict[str, Any], stop: Event, counts: Any) -> None:
    """Query until told to stop; counts[0] answers, counts[1] answers that are neither snapshot."""
    client = Client(endpoints)
    answers = wrong = 0
    while not stop.is_set():
        answers += 1
        wrong += client.counts(TABLE) not in SNAPSHOTS
    with counts.get_lock():
        counts[0] += answers
        counts[1] += wrong


def cycle(client: Client) -> dict[str, float]:
    """One push and its rollback: seconds per step; ``stale`` counts first answers that were not the new side."""
    found = {"stale": 0.0}
    began = time.perf_counter()
    entry = client.start(TABLE, OLD, NEW)
    found["start"] = time.perf_counter() - began
    client.upload(TABLE, *NEW)
    client.online(TABLE, *NEW)
    for name, act, right in (("end", client.end, SNAPSHOTS[1]), ("revert", client.revert, SNAPSHOTS[0])):
        began = time.perf_counter()
        act(TABLE, entry)
        found[name] = time.perf_counter() - began
        found["stale"] += client.counts(TABLE) != right
        found[name + " + query"] = time.perf_counter() - began
    return found


def measure(client: Client, cycles: int) -> None:
    """Print one block of figures."""
    runs = [cycle(client) for _ in range(cycles)]
    for name in ("start", "end", "end + query", "revert", "revert + query"):
        times = sorted(r[name] * 1000 for r in runs)
        p99 = times[min(len(times) - 1, int(len(times) * 0.99))]
        print(f"  {name:<15} {statistics.median(times):6.1f} / {p99:6.1f} ms   Pinot 1.5.1: {PINOT.get(name.split(' ')[0], '')}")
    print(f"  first answers that showed the old side: {int(sum(r['stale'] for r in runs))} of {2 * cycles}")


def main() -> None:
    """Parse arguments, start, measure quiet and loaded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=40)
    parser.add_argument("--readers", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        installation = Installation(Path(folder) / "data").start()
        try:
            client = Client(installation.endpoints)
            client.create(TABLE)
            client.upload(TABLE, *OLD)
            client.online(TABLE, *OLD)
            cycle(client)
            print(f"quiet, {given.cycles} cycles (median / p99)")
            measure(client, given.cycles)
            stop, counts = multiprocessing.Event(), multiprocessing.Array("q", 2)
            readers = [multiprocessing.Process(target=read, args=(installation.endpoints, stop, counts)) for _ in range(given.readers)]
            for reader in readers:
                reader.start()
            print(f"{given.readers} readers, {given.cycles} cycles (median / p99)")
            measure(client, given.cycles)
            stop.set()
            for reader in readers:
                reader.join()
            print(f"  answers of the readers that are neither snapshot: {counts[1]} of {counts[0]}")
        finally:
            installation.stop()


if __name__ == "__main__":
    main()
