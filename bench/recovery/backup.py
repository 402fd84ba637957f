"""Seconds of a backup and of its restore: records of many segments (without files) in a real ZooKeeper, and as many
audit records in SQLite.

``python -m bench.recovery.backup [SEGMENTS]``, 100,000 of one table. Servers and their files have no part in it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # our modules are loaded once Django knows its settings
    from segments.store.base import Store

SEGMENTS = 100_000
_TOGETHER = 100


def main(segments: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "pinotadmin.settings",
            "DATABASE_URL": f"sqlite:///{folder}/db.sqlite3",
            "PINOTADMIN_DATA_DIR": str(folder),
        }
        import django

        django.setup()
        _measure(folder, segments)


def _measure(folder: Path, segments: int) -> None:
    from dataclasses import replace

    from django.core.management import call_command

    from segments.models import AuditEvent
    from segments.services.backup.backup import make_backup
    from segments.services.backup.restore import Wanted, restore
    from segments.store.on_zookeeper.client import ZooKeeperStore
    from segments.store.records.cluster_setup import ensure_cluster
    from tests.real_parts import start_zookeeper
    from tests.services.world import ANN, World

    call_command("migrate", verbosity=0)
    zookeeper = start_zookeeper(folder / "zookeeper")
    try:
        one, two = (
            ZooKeeperStore(zookeeper.hosts, name, session_timeout=40.0, connect_timeout=60.0) for name in ("one", "two")
        )
        for cluster, store in (("one", one), ("two", two)):
            ensure_cluster(store, cluster)
        _fill(one, segments)
        AuditEvent.objects.bulk_create([AuditEvent(actor="ann", action="a", target=str(n)) for n in range(segments)])
        ctx = replace(World(folder / "store").ctx, cluster="one", store=one)
        file = folder / "backup.gz"
        _timed(f"backup, {segments:,} segments", lambda: make_backup(ctx, file, ANN, "bench"))
        print(f"{file.stat().st_size / 1e6:.1f} MB")
        there = replace(ctx, cluster="two", store=two)
        moved = {"Server_10.0.0.1_8098": "Server_10.9.0.1_8098", "Server_10.0.0.2_8098": "Server_10.9.0.2_8098"}
        _timed("restore at another address", lambda: restore(there, file, Wanted(replace=True, servers=moved), ANN))
        for store in (one, two):
            store.close()
    finally:
        zookeeper.stop()


def _fill(store: Store, segments: int) -> None:
    from segments.domain.formats.znrecord import ZNRecord
    from segments.store import paths
    from segments.store.base import Create

    fields = {
        "segment.crc": "1234567890", "segment.total.docs": "50000", "segment.size.in.bytes": "1000000",
        "segment.creation.time": "1700000000000", "segment.push.time": "1700000000000", "segment.start.time": "1",
        "segment.end.time": "2", "segment.time.unit": "DAYS", "segment.index.version": "v3",
    }  # fmt: skip
    names = [f"events_{n:07}" for n in range(segments)]
    for start in range(0, segments, _TOGETHER):
        records = [
            ZNRecord(name, {**fields, "segment.download.url": f"store:///segments/events/{name}"})
            for name in names[start : start + _TOGETHER]
        ]
        store.transaction([Create(paths.segment("events_OFFLINE", r.id), r) for r in records])
    servers = {"Server_10.0.0.1_8098": "ONLINE", "Server_10.0.0.2_8098": "ONLINE"}
    store.create(paths.ideal_state("events_OFFLINE"), ZNRecord("events_OFFLINE", maps=dict.fromkeys(names, servers)))
    for server in servers:
        store.create(f"{paths.INSTANCES}/{server}", None)


def _timed(what: str, work: Callable[[], object]) -> None:
    began = time.perf_counter()
    work()
    print(f"{what}: {time.perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SEGMENTS)
