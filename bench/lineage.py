"""Times start, end and revert of a replacement, and counts what must never happen, beside the figures of Apache Pinot
1.5.1.

Usage: ``python -m bench.lineage [--modes quiet,loaded,...] [--cycles 40] [--readers 2] ...``. Readers and clients are
processes of their own. Modes (default ``quiet,loaded,clients``):

* ``quiet``     start, end and revert, each with the first query after it
* ``loaded``    the same under readers, and ended right after the upload
* ``switches``  ``--switches`` switches under readers until ``--answers`` answers: stale first answers, answers that are
  neither snapshot
* ``clients``   ``--clients`` processes replace disjoint sets of one table: time per call, lost entries
* ``large``     ``--segments`` segments replaced by as many, registered without files
* ``races``     ``--races`` races of several controllers on one lineage, straight on ZooKeeper: lost entries, deleted
  live segments
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from bench import _large, _races
from bench._snapshots import NEW, OLD, SNAPSHOTS, TABLE, PlainClient, Readers, Tars, in_processes, p99, row, tars
from tests.integration.running import Client, Installation
from tests.waiting import poll

#: Apache Pinot 1.5.1 on the same kind of machine (2 cores), ms, median and p99; end and revert include the first right
#: answer.
QUIET = {"start": (7, 18), "end + query": (39, 96), "revert + query": (38, 85)}
LOADED = {
    "start": None,
    "end + query": (49, 256),
    "revert + query": (60, 255),
    "end + query, asked at once": (1040, 1040),
}
#: Seconds between the start of an installation and the first figure.
_SETTLE_S = 25
AIMS = {"start": "7 / 15", "end + query": "35 / 75", "revert + query": "35 / 75"}


def cycle(client: Client, built: Tars, found: dict[str, list[float]], *, at_once: bool = False) -> int:
    """One push and its rollback; adds seconds per step, returns how many first answers were not the new side."""
    tail, stale = ", asked at once" if at_once else "", 0
    began = time.perf_counter()
    entry = client.start(TABLE, OLD, NEW)
    found.setdefault("start", []).append(time.perf_counter() - began)
    built.put(client, TABLE, *NEW)
    if not at_once:
        client.online(TABLE, *NEW)
    for name, act, right in (("end", client.end, SNAPSHOTS[1]), ("revert", client.revert, SNAPSHOTS[0])):
        began = time.perf_counter()
        act(TABLE, entry)
        found.setdefault(name + tail, []).append(time.perf_counter() - began)
        stale += client.counts(TABLE) != right
        found.setdefault(name + " + query" + tail, []).append(time.perf_counter() - began)
    return stale


def timed(client: Client, built: Tars, given: argparse.Namespace, readers: int) -> None:
    """Cycles, quiet or under readers, printed with Pinot's figures."""
    pinot, found, stale = (LOADED if readers else QUIET), {}, 0
    print(f"{f'{readers} readers' if readers else 'quiet'}, {given.cycles} cycles (median / p99)")
    with Readers(given.endpoints, readers) if readers else nullcontext() as load:
        for _ in range(given.cycles):
            stale += cycle(client, built, found)
        for _ in range(given.cycles if readers else 0):
            stale += cycle(client, built, found, at_once=True)
    for name, times in found.items():
        if name.startswith("revert") and name.endswith("at once"):
            continue
        aim = (
            ""
            if name in ("end", "revert") or (readers and name == "start")
            else "100"
            if readers
            else AIMS.get(name, "")
        )
        row(name, times, pinot.get(name), aim)
    print(f"  first answers that showed the old side: {stale} of {len(found['end']) * 2 * (2 if readers else 1)}")
    if load is not None:
        print(f"  answers of the readers that are neither snapshot: {load.wrong} of {load.answers}")


def switches(client: Client, built: Tars, given: argparse.Namespace) -> None:
    """Switch until there are enough switches and enough answers."""
    found: dict[str, list[float]] = {}
    done = stale = 0
    with Readers(given.endpoints, max(1, given.readers)) as load:
        while done < given.switches or load.answers < given.answers:
            stale += cycle(client, built, found)
            done += 2
    print(f"{done} switches under {max(1, given.readers)} readers")
    print(
        f"  first answers that showed the old side: {stale} of {done}   Pinot 1.5.1: 5-7 of 10, 5-6 of 10 loaded "
        "  aim 0 of 1,000"
    )
    print(
        f"  answers that are neither snapshot: {load.wrong} of {load.answers}   Pinot 1.5.1: 3 of 8,234 and 4 of "
        "400   aim 0 of 100,000"
    )


def replace_own(number: int, endpoints: dict[str, object], rounds: int) -> dict[str, list[float]]:
    """One of many clients: replaces its own segment over and over; seconds per call, and its entries."""
    client, found = PlainClient(endpoints), {"start": [], "end": [], "ids": []}
    with tars(*(f"own{number}_{i}" for i in range(rounds + 1))) as built:
        built.put(client, TABLE, f"own{number}_0")
        for i in range(rounds):
            new = f"own{number}_{i + 1}"
            began = time.perf_counter()
            entry = client.start(TABLE, [f"own{number}_{i}"], [new])
            found["start"].append(time.perf_counter() - began)
            built.put(client, TABLE, new)
            began = time.perf_counter()
            client.end(TABLE, entry)
            found["end"].append(time.perf_counter() - began)
            found["ids"].append(entry)
    return found


def clients(client: Client, built: Tars, given: argparse.Namespace) -> None:
    """Many clients at once on one table, each with its own segments."""
    runs = in_processes(given.clients, replace_own, given.endpoints, given.rounds)
    print(f"{given.clients} clients, each replaces its own segment of one table {given.rounds} times")
    row("start", [t for r in runs for t in r["start"]])
    row("end (all replicas online, all brokers)", [t for r in runs for t in r["end"]])
    worst = p99([t for r in runs for t in r["start"] + r["end"]])
    print(f"  p99 of all calls: {worst * 1000:.0f} ms   aim 500")
    lineage = client.call("GET", f"/segments/{TABLE}/lineage", params={"type": "OFFLINE"}).json()["lineageEntries"]
    lost = [e for r in runs for e in r["ids"] if lineage.get(e, {}).get("state") != "COMPLETED"]
    listed = client.call(
        "GET", f"/segments/{TABLE}", params={"type": "OFFLINE", "excludeReplacedSegments": "true"}
    ).json()[0]["OFFLINE"]
    missing = {f"own{i}_{given.rounds}" for i in range(given.clients)} - set(listed)
    print(
        f"  lost entries: {len(lost)}, lost segments: {len(missing)}   Pinot 1.5.1: 10 of 28 such races lose an entry"
    )


def installed(given: argparse.Namespace, run: Callable[[Client], None], folder: Path) -> None:
    """Run in an installation of its own."""
    installation = Installation(folder / "data").start()
    # The worker starts a Spark ahead of the first push, which keeps a core busy for a while.
    time.sleep(_SETTLE_S)
    try:
        given.endpoints = installation.endpoints
        run(PlainClient(installation.endpoints))
    finally:
        installation.stop()


def on_installation(given: argparse.Namespace, client: Client) -> None:
    """The modes that need one table with two snapshots, then the large one."""
    client.create(TABLE)
    with tars(*OLD, *NEW) as built:
        built.put(client, TABLE, *OLD)
        client.online(TABLE, *OLD)
        poll(lambda: client.counts(TABLE) == SNAPSHOTS[0], 20, "first snapshot")
        for _ in range(3):
            cycle(client, built, {})
        if "quiet" in given.modes:
            timed(client, built, given, 0)
        if "loaded" in given.modes:
            timed(client, built, given, given.readers)
        if "switches" in given.modes:
            switches(client, built, given)
        if "clients" in given.modes:
            clients(client, built, given)
    if "large" in given.modes:
        _large.measure(client, given.endpoints, given.segments)


def main() -> None:
    """Parse arguments and run the modes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", default="quiet,loaded,clients")
    for name, default in (
        ("cycles", 40),
        ("readers", 2),
        ("switches", 1000),
        ("answers", 100_000),
        ("clients", 20),
        ("rounds", 5),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--segments", type=int, default=50_000)
    parser.add_argument("--races", type=int, default=1000)
    given = parser.parse_args()
    given.modes = set(given.modes.split(","))
    with tempfile.TemporaryDirectory() as folder:
        if given.modes - {"races"}:
            installed(given, lambda client: on_installation(given, client), Path(folder))
        if "races" in given.modes:
            _races.measure(Path(folder), given.races)


if __name__ == "__main__":
    main()
