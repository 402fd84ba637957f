"""Times pushes of 1,010,328 rows (the flights of 2013 three times, 8 CSV files, about 100 MB) from the request to the
first right answer.

Usage: ``python -m bench.push [--data-dir DIR] [--warm 3]``. Starts an installation in a temporary folder, or uses the
``up`` that runs on DIR. Cold: Spark's JVM was just killed, the push has to start another. Warm: Spark is running.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

from segments.demo import flights
from tests.integration.running import Client, Installation
from tests.waiting import poll

TABLE = "pushbench"
ROWS = 1_010_328
#: Seconds; Apache Pinot 1.5.1, standalone job, consistent push in metadata mode, 2 threads, 2 cores, from command to
#: queryable.
PINOT_S = 15.6
TARGETS = {"warm": 3.1, "cold": 11.7}


def write_files(folder: Path) -> int:
    """The year's 8 files, each three times as long; returns their bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    header, months = flights.read_months()
    total = 0
    for group in flights.YEAR_FILES:
        total += (folder / f"flights-{group[0]:02d}.csv").write_bytes(header + b"".join(months[m] for m in group) * 3)
    return total


def create_table(client: Client) -> None:
    """The demo's table under another name, replication 2; left as it is when it is there."""
    if client.http.get(client.base + f"/tables/{TABLE}").status_code == 200:
        return
    client.call("POST", "/schemas", json={**flights.schema(), "schemaName": TABLE})
    client.call("POST", "/tables", json={**flights.table_config(), "tableName": f"{TABLE}_OFFLINE"})


def push(client: Client, folder: Path) -> tuple[float, dict[str, Any]]:
    """Push and query until the new rows are there; seconds, and the push as it ended."""
    spec = {**flights.job_spec(folder), "tableSpec": {"tableName": TABLE}}
    began = time.perf_counter()
    made = client.call("POST", "/api/v1/pushes", 201, json=spec).json()
    while True:
        found: dict[str, Any] = client.call("GET", f"/api/v1/pushes/{made['id']}").json()
        if found["state"] in ("FAILED", "CANCELLED"):
            raise SystemExit(f"The push is {found['state']}: {found['error']}")
        if found["state"] == "DONE":
            break
        time.sleep(0.02)
    answer = client.call("POST", "/query/sql", json={"sql": f"SELECT COUNT(*) FROM {TABLE}"}).json()
    seconds = time.perf_counter() - began
    rows = answer["resultTable"]["rows"][0][0]
    if rows != ROWS:
        raise SystemExit(f"A query right after the push saw {rows} rows instead of {ROWS}.")
    return seconds, found


def kill_spark(worker: int) -> bool:
    """Kill the JVM that the worker started; False when it has none."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == worker and b"SparkSubmit" in (entry / "cmdline").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
                return True
        except (OSError, IndexError):
            continue
    return False


def report(kind: str, seconds: float, found: dict[str, Any]) -> None:
    """One line of figures."""
    stages = ", ".join(f"{k.lower()} {v:.2f}" for k, v in found["stageSeconds"].items())
    print(
        f"  {kind:<5} {seconds:5.2f} s  {ROWS / seconds:>9,.0f} rows/s  {PINOT_S / seconds:4.1f} x Pinot 1.5.1 "
        f"({PINOT_S} s)"
        f"  target {TARGETS[kind]} s: {'met' if seconds <= TARGETS[kind] else 'MISSED'}  [{stages}]"
    )


def measure(endpoints: dict[str, Any], folder: Path, warm: int) -> None:
    """Cold, then warm."""
    client = Client(endpoints)
    create_table(client)
    print(f"{ROWS:,} rows, {write_files(folder):,} bytes, 8 files, replication 2")
    poll(lambda: kill_spark(endpoints["pids"]["worker"]), 60, "the worker's Spark")
    report("cold", *push(client, folder))
    for _ in range(warm):
        report("warm", *push(client, folder))


def main() -> None:
    """Parse arguments, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--warm", type=int, default=3)
    given = parser.parse_args()
    if given.data_dir is not None:
        measure(Installation(given.data_dir).endpoints, given.data_dir / "input" / TABLE, given.warm)
        return
    with tempfile.TemporaryDirectory() as temporary:
        installation = Installation(Path(temporary) / "data").start()
        try:
            measure(installation.endpoints, installation.folder / "input" / TABLE, given.warm)
        finally:
            installation.stop()


if __name__ == "__main__":
    main()
