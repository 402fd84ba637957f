"""A million segments in forty tables, records without files, in a real ZooKeeper and a PostgreSQL: how long the mirror
takes that finds an empty database, what web process and mirror hold in memory, how quickly 10,000 segments of one table
are replaced and how quickly pages answer.

``python -m bench.scale.million [SEGMENTS]``. What holds the segments are entries in ZooKeeper (see ``bench._large``);
no file is read and no query is sent.
"""

from __future__ import annotations

import os
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from bench._large import SERVERS, timed
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.ideal_state import ONLINE, SEGMENT_CRC, external_view, with_rows
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.store import paths
from segments.store.base import Create, Store
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.on_zookeeper.login import parse_login
from segments.store.update import update_record
from tests.integration.running import Client, Installation
from tests.postgresql.server import MISSING, running_postgresql
from tests.waiting import poll

TABLES, SEGMENTS, REPLACED = 40, 1_000_000, 10_000
FIELDS = {"segment.total.docs": "50000", "segment.size.in.bytes": "1000000", "segment.crc": "1234567890"}
_SESSIONS = {server: f"{number}abc" for number, server in enumerate(SERVERS, 1)}


def main(segments: int) -> int:
    """0; 75 where no PostgreSQL is installed."""
    with running_postgresql() as database, tempfile.TemporaryDirectory() as folder:
        if database is None:
            print(MISSING)
            return 75
        settings = {"DATABASE_URL": database.url, "PINOTADMIN_SILENCE_S": "3600"}
        installation = Installation(Path(folder) / "data", settings=settings).start()
        try:
            _fill(installation, segments)
            assert installation.stop() == 0
            with psycopg.connect(database.url) as connection:
                connection.execute("truncate segments_segment, segments_table cascade")
            installation.settings["PINOTADMIN_SILENCE_S"] = "60"
            _measure(installation, database.url, segments)
        finally:
            if installation.process is not None and installation.process.poll() is None:
                installation.stop()
    return 0


def names(table: int, count: int, push: int) -> list[str]:
    """As a push with a time column and a postfix names them."""
    return [f"events{table}_2026-01-01_2026-01-02_17000000{push:05d}_{i}" for i in range(count)]


def _fill(installation: Installation, segments: int) -> None:
    """The mirror stands still meanwhile."""
    client, store = Client(installation.endpoints), _store(installation.endpoints)
    mirror = installation.endpoints["pids"]["mirror"]
    began = time.perf_counter()
    for table in range(TABLES):
        client.create(f"events{table}")
    os.kill(mirror, signal.SIGSTOP)
    _join(store)
    for table in range(TABLES):
        register(store, f"events{table}_OFFLINE", names(table, segments // TABLES, 1))
    os.kill(mirror, signal.SIGCONT)
    store.close()
    print(f"{segments:,} segments of {TABLES} tables written in {time.perf_counter() - began:.0f} s", flush=True)


def _store(endpoints: dict[str, Any]) -> ZooKeeperStore:
    login = parse_login(endpoints["zookeeper_auth"])
    return ZooKeeperStore(endpoints["zookeeper"], endpoints["cluster"], login=login, session_timeout=40.0)


def _join(store: Store) -> None:
    for server, session in _SESSIONS.items():
        store.create(paths.live_instance(server), ZNRecord(server, {"SESSION_ID": session}), ephemeral=True)


def register(store: Store, typed: str, segments: list[str]) -> None:
    """Records, rows of the ideal state, CURRENTSTATES and external view, as if two servers had loaded them."""
    for start in range(0, len(segments), 500):
        chunk = segments[start : start + 500]
        store.transaction([Create(paths.segment(typed, s), SegmentMetadata(s, FIELDS).to_record()) for s in chunk])
    row = dict.fromkeys(SERVERS, ONLINE)
    update_record(store, paths.ideal_state(typed), lambda node: with_rows(node.record, dict.fromkeys(segments, row)))
    reported = {s: {"CURRENT_STATE": ONLINE, SEGMENT_CRC: FIELDS["segment.crc"]} for s in segments}
    for server, session in _SESSIONS.items():

        def state(node: Any, session: str = session) -> ZNRecord:
            before = node.record.maps if node else {}
            return ZNRecord(typed, {"SESSION_ID": session}, {**before, **reported})

        update_record(store, paths.current_state(server, session, typed), state)
    ideal = store.get(paths.ideal_state(typed)).record
    update_record(store, paths.external_view(typed), lambda _: external_view(ideal, ideal.maps))


def _measure(installation: Installation, database: str, segments: int) -> None:
    began = time.perf_counter()
    installation.start(seconds=600)
    print(f"start, until all is healthy: {time.perf_counter() - began:.1f} s", flush=True)
    store = _store(installation.endpoints)
    _join(store)

    def mirrored() -> int:
        with psycopg.connect(database) as connection:
            found = connection.execute("select count(*) from segments_segment").fetchone()
        return int(found[0]) if found else 0

    poll(lambda: mirrored() == segments, 1800, f"{segments} rows")
    print(f"first sync of the mirror, from that start: {time.perf_counter() - began:.1f} s   aim 300 s", flush=True)
    _memory(installation.endpoints)
    client = Client(installation.endpoints)
    count = min(REPLACED, segments // TABLES)
    old, new = names(0, count, 1), names(0, count, 2)
    entry = timed("start of a replacement", installation.endpoints, lambda: client.start("events0", old, new))
    register(store, "events0_OFFLINE", new)
    timed("its end", installation.endpoints, lambda: client.end("events0", entry))
    poll(lambda: mirrored() >= segments + count, 300, "its rows")
    _pages(client)
    _memory(installation.endpoints)
    store.close()


def _memory(endpoints: dict[str, Any]) -> None:
    """What each process holds now, and held at most."""
    for name in ("web", "mirror", "zookeeper"):
        status = Path(f"/proc/{endpoints['pids'][name]}/status").read_text()
        now, most = (int(status.partition(f"{key}:")[2].split()[0]) / 1e6 for key in ("VmRSS", "VmHWM"))
        aim = "" if name == "zookeeper" else "   aim 1.5 GB"
        print(f"memory of {name:<9} {now:.2f} GB, at most {most:.2f} GB{aim}", flush=True)


def _pages(client: Client) -> None:
    for path in (
        "/console/",
        "/console/tables/events1_OFFLINE/segments",
        "/api/v1/tables",
        "/api/v1/segments?page=100",
    ):
        took = []
        for _ in range(5):
            began = time.perf_counter()
            answer = client.http.get(client.base + path, timeout=120)
            took.append(time.perf_counter() - began)
        print(
            f"  {path:<50} {answer.status_code} {statistics.median(took) * 1000:6.0f} ms, {len(answer.content):,} bytes"
        )


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else SEGMENTS))
