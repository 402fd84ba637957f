"""Times the mirror of a Pinot cluster with 100,000 segments: first sync, changes until they are seen, pages, calls on
the controller.

Usage: ``python -m bench.pinot_mirror [--segments 100000] [--modes zookeeper,old,rest] [--idle-s 60]``. Modes:
``zookeeper`` reads a real ZooKeeper with lasting watches, ``old`` the same one as if it were from before 3.6, ``rest``
a controller only. One table has 60 % of the segments, the others 1,000 each. A change is a new segment in the large
table, or then its replicas, one right after the other and each after some seconds in which nothing changed; a refresh
is an upload over a segment of a small table. What is real: ZooKeeper, the mirror with its database, the pages. What is
not: the controller, which answers from memory, and Pinot's servers, which are rows in the external views. ``--real``
has the ZooKeeper (3.5) and the controller of a real Pinot 0.11.0 instead; without brokers, so that nobody reports
uploads over a segment.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from bench._real_controller import RealController
from tests.real_pinot.cluster import CLUSTER
from tests.waiting import wait_until

TABLE = "large_OFFLINE"
TABLE_SUFFIX = "_OFFLINE"
AIMS = {"first sync": 60.0, "change": 2.0, "refresh": 10.0, "page": 0.3}
#: Seconds without a change after which polls are as seldom as they get.
REST_S = 4.0
SMALL, BROKER = "small_0_OFFLINE", "Broker_a_8099"
Node = tuple[str, bytes]


def main() -> None:
    """Fill, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segments", type=int, default=100_000)
    parser.add_argument("--modes", default="zookeeper,old,rest")
    parser.add_argument("--changes", type=int, default=20)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--idle-s", type=float, default=60.0)
    options = parser.parse_args()
    from tests.real_parts import start_zookeeper

    with tempfile.TemporaryDirectory(prefix="pinot-mirror-") as folder:
        zookeeper = start_zookeeper(Path(folder))
        try:
            _settle_settings(Path(folder), zookeeper.hosts)
            with RealController.running() if options.real else nullcontext() as real:
                _measure_all(real.zookeeper if real else zookeeper.hosts, real, options)
        finally:
            zookeeper.stop()


def _measure_all(hosts: str, real: RealController | None, options: argparse.Namespace) -> None:
    nodes = list(cluster_nodes(options.segments))
    began = time.perf_counter()
    _fill(hosts, nodes)
    print(f"{options.segments} segments in {hosts}, written in {time.perf_counter() - began:.1f} s", flush=True)
    for mode in options.modes.split(","):
        _Run(mode, hosts, nodes, options, real).measure()


def _settle_settings(folder: Path, hosts: str) -> None:
    """An installation of its own in a temporary folder, before Django reads its settings."""
    os.environ.update(
        DJANGO_SETTINGS_MODULE="pinotadmin.settings",
        PINOTADMIN_DATA_DIR=str(folder),
        DATABASE_URL=f"sqlite://{folder}/db.sqlite3",
        ZOOKEEPER_URL=hosts,
        DEEP_STORE_URL=f"file://{folder}/deep",
        PINOTADMIN_LOG_LEVEL="WARNING",
    )
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    import pinotadmin.urls
    import pinotadmin.urls_of_cluster  # noqa: F401  a page's first view must not be timed with its imports


def cluster_nodes(count: int) -> Iterator[Node]:
    """Znodes of a Pinot cluster in Helix's layout."""
    from segments.domain.formats.znrecord import ZNRecord, encode
    from segments.domain.segments.ideal_state import external_view, new_ideal_state, with_rows
    from segments.store import paths

    large = int(count * 0.6)
    sizes = {TABLE: large, **{f"small_{n}_OFFLINE": 1000 for n in range((count - large) // 1000)}}
    yield f"{paths.CLUSTER_CONFIGS}/{CLUSTER}", encode(ZNRecord(CLUSTER))
    for table, size in sizes.items():
        config = {
            "tableName": table,
            "tableType": "OFFLINE",
            "segmentsConfig": '{"replication":"2"}',
            "tenants": "{}",
            "tableIndexConfig": "{}",
            "metadata": "{}",
        }
        yield paths.table_config(table), encode(ZNRecord(table, config))
        names = [f"{table}_2026-01-01_2026-01-02_{n}" for n in range(size)]
        for name in names:
            yield paths.segment(table, name), segment_node(name)
        rows = {name: {"Server_a_8098": "ONLINE", "Server_b_8098": "ONLINE"} for name in names}
        ideal = with_rows(new_ideal_state(table, 2), rows)
        yield paths.ideal_state(table), encode(ideal)
        yield paths.external_view(table), encode(external_view(ideal, ideal.maps))
    resource = paths.BROKER_RESOURCE.rpartition("/")[2]
    yield paths.external_view(resource), encode(ZNRecord(resource, maps={table: {BROKER: "ONLINE"} for table in sizes}))
    yield f"{paths.messages(BROKER)}/0", encode(ZNRecord("0"))


def segment_node(name: str, crc: int = 3735928559) -> bytes:
    """A record with the fields that Pinot writes for an uploaded segment."""
    from segments.domain.formats.znrecord import ZNRecord, encode

    fields = {
        "segment.crc": str(crc), "segment.creation.time": "1767225600000", "segment.push.time": "1767225600001",
        "segment.start.time": "1767225600000", "segment.end.time": "1767311999999", "segment.time.unit": "MILLISECONDS",
        "segment.total.docs": "250000", "segment.size.in.bytes": "8000000", "segment.index.version": "v3",
        "segment.download.url": f"http://controller:9000/segments/large/{name}", "segment.tier": "null",
    }  # fmt: skip
    return encode(ZNRecord(name, fields))


def _fill(hosts: str, nodes: list[Node]) -> None:
    from kazoo.client import KazooClient

    client = KazooClient(hosts)
    client.start()
    # What a real cluster has itself stays as it is.
    nodes = [node for node in nodes if TABLE_SUFFIX in node[0] or client.exists(f"/{CLUSTER}{node[0]}") is None]
    parents = {f"/{CLUSTER}{path}".rpartition("/")[0] for path, _ in nodes}
    for parent in sorted(parents):
        client.ensure_path(parent)
    client.ensure_path(f"/{CLUSTER}/PROPERTYSTORE/SEGMENT_LINEAGE")
    # Small transactions: ZooKeeper keeps the last 500 of them in its memory, of which the embedded one has little.
    for start in range(0, len(nodes), 50):
        batch, size = client.transaction(), 0
        for path, data in nodes[start : start + 50]:
            if size + len(data) > 700_000:
                _commit(batch)
                batch, size = client.transaction(), 0
            batch.create(f"/{CLUSTER}{path}", data)
            size += len(data) + 200
        _commit(batch)
    client.stop()
    client.close()


def _commit(batch: Any) -> None:
    failed = [result for result in batch.commit() if isinstance(result, Exception)]
    assert not failed, failed[:3]


class _Run:
    """One way of reading the cluster."""

    def __init__(
        self, mode: str, hosts: str, nodes: list[Node], options: argparse.Namespace, real: RealController | None
    ) -> None:
        from bench._fake_controller import FakeController

        self.mode, self.hosts, self.options, self.count = mode, hosts, options, options.segments
        self.is_real, self.by_path = real is not None, dict(nodes)
        self.controller: FakeController | RealController = real or FakeController(CLUSTER)
        if isinstance(self.controller, FakeController):
            name = f"{paths_of().CLUSTER_CONFIGS}/{CLUSTER}"
            self.controller.put(nodes if mode == "rest" else [(name, self.by_path[name])])

    def measure(self) -> None:
        """Everything, then remove the cluster again."""
        from segments import wiring
        from segments.mirror.pinot import PinotMirror
        from segments.models import Cluster, Segment
        from segments.services.clusters import clusters
        from segments.services.clusters.clusters import ClusterSpec
        from segments.services.core.context import Actor
        from segments.store.on_pinot import zookeeper as pinot_zookeeper

        # That of a real 0.11.0 is from before 3.6 anyway.
        pinot_zookeeper._NEW = (99, 0) if self.mode == "old" else (3, 6)
        name, actor = f"bench-{self.mode}", Actor("bench", "figures")
        address = {} if self.mode == "rest" else {"zookeeper": self.hosts}
        _compare_nothing()
        clusters.add_cluster(
            ClusterSpec(name, (self.controller.url,), zookeeper_cluster=CLUSTER if address else "", **address), actor
        )
        mirror = PinotMirror(name)
        cpu, began = time.process_time(), time.perf_counter()
        mirror.start()
        rows = Segment.objects.filter(table__cluster__name=name)
        named = Cluster.objects.filter(name=name, mirrored_at__isnull=False)
        wait_until(lambda: rows.count() >= self.count and named.exists(), 600, every_s=0.5)
        tell(self.mode, "first sync", [time.perf_counter() - began], AIMS["first sync"])
        calls = sum(self.controller.calls().values())
        print(f"  {'':<11}its processor time {time.process_time() - cpu:.1f} s, calls on the controller {calls}")
        self._changes(rows)
        if not self.is_real:
            times = [self._refresh(rows, n) for n in range(self.options.changes // 4 + 1)]
            tell(self.mode, "refresh", times, AIMS["refresh"])
        self._pages(name)
        self._idle()
        mirror.stop()
        clusters.remove_cluster(name, actor)
        wiring.close()
        self.controller.stop()

    def _refresh(self, rows: Any, number: int) -> float:
        """An upload over a segment, as Pinot writes it: its record, then a message to the broker."""
        paths, name, crc = (
            paths_of(),
            f"{SMALL}_2026-01-01_2026-01-02_{number}",
            zlib.crc32(f"{self.mode} {number}".encode()),
        )
        time.sleep(REST_S)
        self._put(
            [
                (paths.segment(SMALL, name), segment_node(name, crc)),
                (f"{paths.messages(BROKER)}/{self.mode}{number}", b"{}"),
            ]
        )
        began = time.perf_counter()
        wait_until(lambda: rows.filter(name=name, crc=crc).exists(), 300)
        return time.perf_counter() - began

    def _changes(self, rows: Any) -> None:
        """New segments in the large table: as Pinot makes them, one right after the other and each after a rest, and
        all at once.
        """
        count = self.options.changes
        for turn, after_s in enumerate((0.0, REST_S)):
            rest = f", after {REST_S:g} s" if after_s else ""
            took = [self._upload(rows, turn * count + n, after_s) for n in range(count)]
            tell(self.mode, f"new segment{rest}", [wanted for wanted, _ in took], AIMS["change"])
            tell(self.mode, f"its replicas{rest}", [served for _, served in took], AIMS["change"])
        at_once = [self._upload(rows, 2 * count + n, REST_S, is_at_once=True) for n in range(count)]
        tell(self.mode, "both at once: new segment", [wanted for wanted, _ in at_once], AIMS["change"])
        tell(self.mode, "both at once: its replicas", [served for _, served in at_once], AIMS["change"])

    def _upload(self, rows: Any, number: int, after_s: float, *, is_at_once: bool = False) -> tuple[float, float]:
        """A new segment in the large table, as an upload of Pinot writes it: record and ideal state, and when servers
        have it the external view; ``is_at_once``: no moment in between. Seconds until it is seen, and until its
        replicas are.
        """
        from segments.domain.formats.znrecord import decode, encode
        from segments.domain.segments.ideal_state import external_view, with_rows

        paths, name = paths_of(), f"new_{self.mode}_{number}"
        ideal = decode(self.by_path[paths.ideal_state(TABLE)])
        assert ideal is not None
        after = with_rows(ideal, {name: {"Server_a_8098": "ONLINE", "Server_b_8098": "ONLINE"}})
        wanted = [(paths.segment(TABLE, name), segment_node(name)), (paths.ideal_state(TABLE), encode(after))]
        served = [(paths.external_view(TABLE), encode(external_view(after, after.maps)))]
        self.by_path.update([*wanted, *served])
        time.sleep(after_s)
        self._put([*wanted, *served] if is_at_once else wanted)
        began = time.perf_counter()
        wait_until(lambda: rows.filter(name=name, replicas_wanted=2).exists(), 120)
        seen = time.perf_counter() - began
        if not is_at_once:
            time.sleep(after_s)
            self._put(served)
            began = time.perf_counter()
        wait_until(lambda: rows.filter(name=name, replicas_online=2).exists(), 120)
        return seen, time.perf_counter() - began

    def _put(self, nodes: list[Node]) -> None:
        if self.mode == "rest" and not isinstance(self.controller, RealController):
            self.controller.put(nodes)
            return
        from kazoo.client import KazooClient

        client = KazooClient(self.hosts)
        client.start()
        for path, data in nodes:
            full = f"/{CLUSTER}{path}"
            client.set(full, data) if client.exists(full) else client.create(full, data)
        client.stop()
        client.close()

    def _pages(self, name: str) -> None:
        """Pages of the large table, as a person who is logged in gets them, and what they cost the controller."""
        from django.contrib.auth.models import User
        from django.test import Client

        user, _ = User.objects.get_or_create(username="bench", defaults={"is_superuser": True, "is_staff": True})
        client = Client()
        client.force_login(user)
        before, seen = sum(self.controller.calls().values()), 0
        for page in (
            "",
            f"tables/{TABLE}/",
            f"tables/{TABLE}/segments/",
            f"tables/{TABLE}/segments/?page=100",
            f"tables/{TABLE}/lineage/",
        ):
            took: list[float] = []
            client.get(f"/console/c/{name}/{page}", follow=True)  # templates are read once per process
            for _ in range(10):
                began = time.perf_counter()
                response = client.get(f"/console/c/{name}/{page}", follow=True)
                took.append(time.perf_counter() - began)
                assert response.status_code == 200, (page, response.status_code)
                seen += 1
            tell(self.mode, f"page /{page.replace(TABLE, 'T')}", took, AIMS["page"])
        print(
            f"  {'':<11}{seen} pages made {sum(self.controller.calls().values()) - before} calls, the mirror's "
            "own of that time included"
        )

    def _idle(self) -> None:
        before, began = self.controller.calls(), time.perf_counter()
        cpu = time.process_time()
        time.sleep(self.options.idle_s)
        after, minutes = self.controller.calls(), (time.perf_counter() - began) / 60
        made = {
            path: round((n - before.get(path, 0)) / minutes) for path, n in after.items() if n > before.get(path, 0)
        }
        share = (time.process_time() - cpu) / (minutes * 60)
        print(
            f"  {self.mode:<11}idle: {sum(made.values())} calls per minute {made}, the mirror uses {share:.1%} "
            "of a core",
            flush=True,
        )


def _compare_nothing() -> None:
    """The fake's numbers of writes are not ZooKeeper's: nothing to compare here."""
    from segments.clusters.pinot.connections import check

    check._is_same = lambda *_: None


def paths_of() -> Any:
    """The module of znode paths, once Django is settled."""
    from segments.store import paths

    return paths


def tell(mode: str, what: str, took: list[float], aim: float) -> None:
    """One line: median and worst beside the aim."""
    worst = max(took)
    verdict = "" if worst <= aim else "   MISSED"
    print(
        f"  {mode:<11}{what:<34} median {statistics.median(took):7.3f} s  worst {worst:7.3f} s  aim {aim:g} s{verdict}",
        flush=True,
    )


if __name__ == "__main__":
    main()
