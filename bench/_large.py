"""A replacement of 50,000 segments by 50,000: start and end over REST on an installation, with segments that are
registered without files.

What is real: the requests, the web process with its broker, ZooKeeper, the records and their sizes, the waiting for
replicas and for the broker's acknowledgement. What is not: the two servers that hold the segments are entries in
ZooKeeper (live node, CURRENTSTATES, external view) without a process, so no file is read and no query is sent. Nothing
else of start or end reads a file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.segments.ideal_state import ONLINE, SEGMENT_CRC, external_view, with_rows
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.store import paths
from segments.store.base import Create, Store
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.on_zookeeper.login import parse_login
from segments.store.update import update_record
from tests.integration.running import Client

TABLE, TYPED = "large", "large_OFFLINE"
SERVERS = ("Server_large_1", "Server_large_2")
AIM_S = 3.0


def names(push: int, count: int) -> list[str]:
    """As a push with a time column and a postfix names them."""
    return [f"large_2026-01-01_2026-01-02_17000000{push:05d}_{i}" for i in range(count)]


def measure(client: Client, endpoints: dict[str, Any], count: int) -> None:
    """Register one snapshot, then start, register the other, end; print seconds and the sizes of all records."""
    client.create(TABLE)
    store = ZooKeeperStore(endpoints["zookeeper"], endpoints["cluster"], login=parse_login(endpoints["zookeeper_auth"]))
    sessions = {s: f"{i}abc" for i, s in enumerate(SERVERS, 1)}
    for server, session in sessions.items():
        store.create(paths.live_instance(server), ZNRecord(server, {"SESSION_ID": session}), ephemeral=True)
    old, new = names(1, count), names(2, count)
    register(store, sessions, old)
    print(f"{count} segments replaced by {count}, registered without files", flush=True)
    entry = timed("start", endpoints, lambda: client.start(TABLE, old, new))
    register(store, sessions, new)
    timed("end", endpoints, lambda: client.end(TABLE, entry))
    timed("revert, deletions included", endpoints, lambda: client.revert(TABLE, entry))
    lineage = client.call("GET", f"/segments/{TABLE}/lineage", params={"type": "OFFLINE"}).json()["lineageEntries"][
        entry
    ]
    print(f"  the entry is {lineage['state']}, {len(lineage['segmentsFrom'])} by {len(lineage['segmentsTo'])}")
    sizes = {p: raw_size(endpoints, p) for p in largest(sessions)}
    for path, size in sorted(sizes.items(), key=lambda item: -item[1]):
        print(f"  {size / 1024:8.0f} KiB  {path}")
    print(f"  largest znode {max(sizes.values())} bytes, ZooKeeper's limit 1,048,575")
    store.close()


def timed(name: str, endpoints: dict[str, Any], call: Callable[[], Any]) -> Any:
    """Call it; print seconds, and how many of them the web process computed: what is left on a busy machine is waiting
    for its turn.
    """
    web = Path(f"/proc/{endpoints['pids']['web']}/stat")

    def used() -> float:
        fields = web.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before, began = used(), time.perf_counter()
    result = call()
    took = time.perf_counter() - began
    print(f"  {name:<27} {took:5.2f} s, of it computed by web {used() - before:5.2f} s   aim {AIM_S:.0f} s", flush=True)
    return result


def largest(sessions: dict[str, str]) -> list[str]:
    """Records that grow with the number of segments."""
    fixed = [paths.ideal_state(TYPED), paths.external_view(TYPED), paths.lineage(TYPED), paths.pending_deletions(TYPED)]
    return [*fixed, *(paths.current_state(s, session, TYPED) for s, session in sessions.items())]


def raw_size(endpoints: dict[str, Any], path: str) -> int:
    """Bytes of a znode as they lie in ZooKeeper; 0 for none."""
    from kazoo.client import KazooClient

    client = KazooClient(endpoints["zookeeper"], **parse_login(endpoints["zookeeper_auth"]).client_options())
    client.start()
    try:
        stat = client.exists(f"/{endpoints['cluster']}{path}")
        return stat.dataLength if stat else 0
    finally:
        client.stop()
        client.close()


def register(store: Store, sessions: dict[str, str], segments: list[str]) -> None:
    """Records, ideal-state rows, CURRENTSTATES and external view, as if two servers had loaded them."""
    crcs = {s: str(1_000_000_000 + hash(s) % 3_000_000_000) for s in segments}
    for start in range(0, len(segments), 500):
        chunk = segments[start : start + 500]
        fields = {"segment.total.docs": "10", "segment.size.in.bytes": "1000"}
        store.transaction(
            [
                Create(paths.segment(TYPED, s), SegmentMetadata(s, {**fields, "segment.crc": crcs[s]}).to_record())
                for s in chunk
            ]
        )
    row = dict.fromkeys(SERVERS, ONLINE)
    update_record(store, paths.ideal_state(TYPED), lambda node: with_rows(node.record, dict.fromkeys(segments, row)))
    for server, session in sessions.items():
        reported = {s: {"CURRENT_STATE": ONLINE, SEGMENT_CRC: crcs[s]} for s in segments}

        def state(node: Any, reported: dict[str, Any] = reported, session: str = session) -> ZNRecord:
            before = node.record.maps if node else {}
            return ZNRecord(TYPED, {"SESSION_ID": session}, {**before, **reported})

        update_record(store, paths.current_state(server, session, TYPED), state)
    ideal = store.get(paths.ideal_state(TYPED)).record
    update_record(store, paths.external_view(TYPED), lambda _: external_view(ideal, ideal.maps))
