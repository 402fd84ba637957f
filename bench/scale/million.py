"""A million segments in forty tables, records without files, in a real ZooKeeper and a PostgreSQL: how soon pages and
queries answer after a start with an empty database, how long the mirror takes to fill it, what web process and mirror
hold in memory, how quickly 10,000 segments of one table are replaced.

``python -m bench.scale.million [SEGMENTS]``. What holds the segments are entries in ZooKeeper (see
``bench.scale.filling``); no file is read and no query is sent.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg
import requests

from bench._large import timed
from bench.scale.filling import Filler, join
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.on_zookeeper.login import parse_login
from tests.integration.running import Client, Installation, administrator
from tests.postgresql.server import MISSING, running_postgresql
from tests.real_parts import start_zookeeper
from tests.waiting import poll

TABLES, SEGMENTS, REPLACED = 40, 1_000_000, 10_000
_LOGIN = "digest:bench:of-the-bench"


def main(segments: int) -> int:
    """0; 75 where no PostgreSQL is installed."""
    with running_postgresql() as database, tempfile.TemporaryDirectory() as name:
        if database is None:
            print(MISSING)
            return 75
        zookeeper = start_zookeeper(Path(name) / "zookeeper", login=parse_login(_LOGIN))
        settings = {"DATABASE_URL": database.url, "ZOOKEEPER_URL": zookeeper.hosts, "ZOOKEEPER_AUTH": _LOGIN}
        installation = Installation(Path(name) / "data", settings=settings)
        try:
            _fill(installation, segments)
            with psycopg.connect(database.url) as connection:
                connection.execute("truncate segments_segment, segments_table cascade")
            _measure(installation, zookeeper.pid, database.url, segments)
        finally:
            if installation.process is not None and installation.process.poll() is None:
                installation.stop()
            zookeeper.stop()
    return 0


def names(table: int, count: int, push: int) -> list[str]:
    """As a push with a time column and a postfix names them."""
    return [f"events{table}_2026-01-01_2026-01-02_17000000{push:05d}_{i}" for i in range(count)]


def _fill(installation: Installation, segments: int) -> None:
    """The tables are made as a user does, the segments while nothing runs."""
    client = Client(installation.start(seconds=180).endpoints)
    for table in range(TABLES):
        client.create(f"events{table}")
    endpoints = installation.endpoints
    assert installation.stop() == 0
    began = time.perf_counter()
    filler = Filler(endpoints["zookeeper"], endpoints["cluster"], parse_login(_LOGIN))
    for table in range(TABLES):
        filler.register(f"events{table}_OFFLINE", names(table, segments // TABLES, 1))
    filler.close()
    print(f"{segments:,} segments of {TABLES} tables written in {time.perf_counter() - began:.0f} s", flush=True)


def _measure(installation: Installation, zookeeper: int, database: str, segments: int) -> None:
    began = time.perf_counter()
    installation.start(seconds=600)
    endpoints = installation.endpoints
    print(f"start, until all is healthy: {time.perf_counter() - began:.1f} s", flush=True)
    store = ZooKeeperStore(endpoints["zookeeper"], endpoints["cluster"], login=parse_login(_LOGIN))
    join(store)
    print("while the mirror reads:")
    client = Client(endpoints)
    _pages(client, endpoints)
    poll(lambda: _mirrored(database) == segments, 1800, f"{segments} rows")
    print(f"first sync of the mirror, from that start: {time.perf_counter() - began:.1f} s   aim 300 s", flush=True)
    _memory(endpoints["pids"] | {"zookeeper": zookeeper})
    count = min(REPLACED, segments // TABLES)
    old, new = names(0, count, 1), names(0, count, 2)
    print(f"{count:,} segments by {count:,}:")
    entry = timed("start of a replacement", endpoints, lambda: client.start("events0", old, new))
    filler = Filler(endpoints["zookeeper"], endpoints["cluster"], parse_login(_LOGIN))
    filler.register("events0_OFFLINE", new)
    filler.close()
    timed("its end", endpoints, lambda: client.end("events0", entry))
    ended = time.perf_counter()
    poll(lambda: _mirrored(database, "and is_visible and name = %s", new[-1]) == 1, 300, "the switch in the database")
    print(f"  the mirror has it after a further {time.perf_counter() - ended:.1f} s", flush=True)
    _pages(client, endpoints)
    _memory(endpoints["pids"] | {"zookeeper": zookeeper})
    store.close()


def _mirrored(database: str, condition: str = "", *values: str) -> int:
    with psycopg.connect(database) as connection:
        found = connection.execute(f"select count(*) from segments_segment where true {condition}", values).fetchone()  # type: ignore[arg-type]  # our own text
    return int(found[0]) if found else 0


def _memory(pids: dict[str, int]) -> None:
    """What each process holds now, and held at most."""
    for name in ("web", "mirror", "server-1", "passes", "zookeeper"):
        if name not in pids:
            continue
        status = Path(f"/proc/{pids[name]}/status").read_text()
        now, most = (int(status.partition(f"{key}:")[2].split()[0]) / 1e6 for key in ("VmRSS", "VmHWM"))
        aim = "   aim 1.5 GB" if name in ("web", "mirror") else ""
        print(f"memory of {name:<9} {now:.2f} GB, at most {most:.2f} GB{aim}", flush=True)


def _pages(client: Client, endpoints: dict[str, Any]) -> None:
    """What a person who signed in sees, how fast; then REST and metrics."""
    base, (user, password) = client.base, administrator(endpoints)
    browser = requests.Session()
    browser.get(f"{base}/login/", timeout=120)
    known = {"username": user, "password": password, "csrfmiddlewaretoken": browser.cookies["csrftoken"]}
    browser.post(f"{base}/login/", data=known, headers={"Referer": f"{base}/login/"}, timeout=120).raise_for_status()
    for asked, path in (
        (browser, "/"),
        (browser, "/console/tables/events1_OFFLINE/"),
        (browser, "/console/tables/events1_OFFLINE/segments/"),
        (client.http, "/tables"),
        (client.http, "/segments/events1"),
        (client.http, "/metrics"),
    ):
        took = list[float]()
        for _ in range(5):
            began = time.perf_counter()
            answer = asked.get(base + path, timeout=120, allow_redirects=False)
            took.append(time.perf_counter() - began)
        milliseconds = statistics.median(took) * 1000
        print(f"  {path:<45} {answer.status_code} {milliseconds:6.0f} ms, {len(answer.content):,} bytes", flush=True)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else SEGMENTS))
