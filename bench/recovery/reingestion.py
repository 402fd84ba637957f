"""Times the reingestion of a segment of 100,000 rows that is gone everywhere, from the button to all replicas ONLINE.

Usage: ``python -m bench.recovery.reingestion [--rows 100000] [--rounds 3]``. Two servers, two replicas, the
installation's Redis. Ends with a check that no row is lost or doubled.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from bench.realtime_table import RedisFeed, Table, spread
from tests.chaos.lost_segment import lose
from tests.integration.running import Client, Installation
from tests.waiting import poll

#: Seconds that it is to take at most.
WANTED_S = 5.0


def measure(installation: Installation, rows: int, rounds: int) -> list[float]:
    """Seconds of each round."""
    table = Table(Client(installation.endpoints), RedisFeed(installation.endpoints["redis"]), "reingested", 1)
    table.create(rows=rows, replication=2, peerSegmentDownloadScheme="http")
    table.send(0, rows + 1)
    poll(lambda: len(_segments(table)) == 2 and table.status(_segments(table)[0]) == "DONE", 120, "the commit")
    segment, seconds = _segments(table)[0], []
    for _ in range(rounds):
        poll(lambda: set(_states(table, segment)) == {"ONLINE"}, 60, "all replicas")
        lose(installation, f"{table.name}_REALTIME", segment)
        began = time.perf_counter()
        table.client.call("POST", f"/api/v1/tables/{table.name}/reingestions/{segment}", json={})
        while set(_states(table, segment)) != {"ONLINE"}:
            time.sleep(0.01)
        seconds.append(time.perf_counter() - began)
    table.wait_rows(rows + 1, 60)
    assert table.whole(), "a row is lost or doubled"
    return seconds


def _segments(table: Table) -> list[str]:
    found = table.client.call("GET", f"/tables/{table.name}/idealstate").json()["REALTIME"]
    return sorted(found, key=lambda s: int(s.split("__")[2]))


def _states(table: Table, segment: str) -> list[str]:
    view = table.client.call("GET", f"/tables/{table.name}/externalview").json()["REALTIME"] or {}
    return list(view.get(segment, {}).values())


def main() -> None:
    """Print the figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        installation = Installation(Path(folder) / "data").start()
        try:
            seconds = measure(installation, given.rows, given.rounds)
        finally:
            installation.stop()
    print(f"reingestion of {given.rows:,} rows, button to ONLINE: {spread(seconds)}   wanted: {WANTED_S:.0f} s")


if __name__ == "__main__":
    main()
