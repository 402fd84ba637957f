"""The stores of a Pinot cluster read and report changes alike, over ZooKeeper of any age and over REST; none is ever
written.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from segments.domain.formats.znrecord import ZNRecord, encode
from segments.errors import Forbidden, RecordCorrupt, Unavailable
from segments.store import paths
from segments.store.base import Check, Store
from segments.store.on_pinot import zookeeper as pinot_zookeeper
from segments.store.on_pinot.controller import ControllerStore
from segments.store.on_pinot.poll_interval import Terms
from segments.store.on_pinot.zookeeper import PinotZooKeeper
from tests.pinot_cluster.fake_rest import CLUSTER, FakePinot, controller
from tests.real_parts import ZooKeeperProcess, start_zookeeper
from tests.waiting import wait_until

TABLE = "flights_OFFLINE"
#: As Helix leaves them: pretty-printed, keys of its own, fields that are null.
FOREIGN = json.dumps(
    {
        "id": TABLE,
        "simpleFields": {"BUCKET_SIZE": "0"},
        "mapFields": {"s0": {"Server_a": "ONLINE"}},
        "listFields": None,
        "deltaList": [],
    },
    indent=2,
).encode()


#: Polls that nobody has to wait for.
QUICK = Terms(idle_s=0.05, quick_s=0.05, per_minute=60_000, burst=1_000)


class Pinot:
    """A Pinot cluster as its own controller sees it: ``put`` writes, ``store`` is how we read it."""

    def __init__(self, store: Store, put: Callable[[str, bytes], None]) -> None:
        self.store, self.put = store, put


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    """One for the tests of this module."""
    process = start_zookeeper(tmp_path_factory.mktemp("zookeeper"))
    yield process
    process.stop()


_names = iter(range(1000))


@pytest.fixture(
    params=[
        "rest",
        pytest.param("zookeeper", marks=pytest.mark.integration),
        pytest.param("old", marks=pytest.mark.integration),
    ]
)
def pinot(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pinot]:
    """The same cluster over REST, over a ZooKeeper, and over one from before 3.6."""
    with ExitStack() as closing:
        if request.param == "rest":
            fake = FakePinot()
            fake.store.put_raw(paths.IDEAL_STATES, b"")
            store: Store = ControllerStore(controller(fake), terms=QUICK)
            closing.callback(store.close)
            yield Pinot(store, fake.store.put_raw)
            return
        if request.param == "old":
            monkeypatch.setattr(pinot_zookeeper, "_NEW", (99, 0))
        hosts = request.getfixturevalue("zookeeper").hosts
        cluster = f"{CLUSTER}{next(_names)}"
        client = KazooClient(hosts)
        client.start()
        closing.callback(client.close)
        closing.callback(client.stop)

        def put(path: str, data: bytes) -> None:
            full = f"/{cluster}{path}"
            client.set(full, data) if client.exists(full) else client.create(full, data or None, makepath=True)

        put(paths.IDEAL_STATES, b"")
        store = PinotZooKeeper(hosts, lambda: cluster)
        closing.callback(store.close)
        yield Pinot(store, put)


def test_records_are_read_as_helix_leaves_them(pinot: Pinot) -> None:
    pinot.put(paths.ideal_state(TABLE), FOREIGN)
    pinot.put(paths.segment(TABLE, "s0"), gzip.compress(encode(ZNRecord("s0", {"segment.crc": "1"}))))
    pinot.put(paths.segment(TABLE, "s1"), b"")
    found = pinot.store.get(paths.ideal_state(TABLE))
    assert found is not None
    assert found.record is not None
    assert found.record.maps == {"s0": {"Server_a": "ONLINE"}}
    assert found.record.lists == {}
    packed, empty, missing = pinot.store.get_many([paths.segment(TABLE, s) for s in ("s0", "s1", "s2")])
    assert packed is not None
    assert packed.record is not None
    assert packed.record.simple == {"segment.crc": "1"}
    assert empty is None or empty.record is None
    assert missing is None
    alone = pinot.store.get(paths.segment(TABLE, "s1"))
    assert alone is not None
    assert alone.record is None
    assert pinot.store.children(paths.segments(TABLE)) == ["s0", "s1"]
    assert pinot.store.children("/NOWHERE") == []
    assert pinot.store.exists(paths.ideal_state(TABLE)) == 0
    assert pinot.store.exists("/NOWHERE") is None


def test_many_records_of_a_table_are_read_at_once(pinot: Pinot) -> None:
    names = [f"s{n}" for n in range(60)]
    for name in names:
        pinot.put(paths.segment(TABLE, name), encode(ZNRecord(name, {"segment.total.docs": name[1:]})))
    found = pinot.store.get_many([paths.segment(TABLE, name) for name in [*names, "none"]])
    assert [node.record.simple["segment.total.docs"] for node in found[:-1] if node and node.record] == [
        name[1:] for name in names
    ]
    assert found[-1] is None


def test_what_is_no_record_hides_no_other_segment_but_is_reported_where_it_matters(pinot: Pinot) -> None:
    pinot.put(paths.lineage(TABLE), b"no record")
    with pytest.raises(RecordCorrupt):
        pinot.store.get(paths.lineage(TABLE))


def test_a_change_is_reported(pinot: Pinot) -> None:
    pinot.put(paths.ideal_state(TABLE), FOREIGN)
    pinot.put(paths.segment(TABLE, "s0"), encode(ZNRecord("s0")))
    told: list[str | None] = []
    watches = [pinot.store.watch(prefix, told.append) for prefix in (paths.IDEAL_STATES, paths.LINEAGE, paths.SEGMENTS)]
    wait_until(lambda: told.count(None) == 3, 30.0)
    pinot.put(paths.ideal_state(TABLE), FOREIGN.replace(b"s0", b"s1"))
    wait_until(lambda: paths.ideal_state(TABLE) in told, 30.0)
    pinot.put(paths.lineage(TABLE), encode(ZNRecord(TABLE)))
    wait_until(lambda: paths.lineage(TABLE) in told, 30.0)
    pinot.put(paths.segment(TABLE, "s1"), encode(ZNRecord("s1")))
    wait_until(lambda: any(path and path.startswith(paths.segments(TABLE)) for path in told), 30.0)
    for watch in watches:
        watch.close()


def test_a_record_that_was_written_in_place_is_reported(pinot: Pinot) -> None:
    pinot.put(
        f"{paths.EXTERNAL_VIEWS}/brokerResource",
        encode(ZNRecord("brokerResource", maps={TABLE: {"Broker_a": "ONLINE"}})),
    )
    pinot.put(f"{paths.messages('Broker_a')}/0", encode(ZNRecord("0")))
    for name in ("s0", "s1"):
        pinot.put(paths.segment(TABLE, name), encode(ZNRecord(name)))
    told: list[str | None] = []
    watch = pinot.store.watch(paths.SEGMENTS, told.append)
    wait_until(lambda: None in told, 30.0)
    pinot.put(paths.segment(TABLE, "s1"), encode(ZNRecord("s1", {"segment.crc": "8"})))
    pinot.put(f"{paths.messages('Broker_a')}/1", encode(ZNRecord("1")))
    wait_until(lambda: paths.segment(TABLE, "s1") in told, 60.0)
    assert paths.segment(TABLE, "s0") not in told
    watch.close()


def test_each_of_many_changes_of_one_document_is_followed_to_the_last(pinot: Pinot) -> None:
    told: list[str | None] = []
    watch = pinot.store.watch(paths.IDEAL_STATES, told.append)
    wait_until(lambda: None in told, 30.0)
    path = paths.ideal_state("new_OFFLINE")
    last: list[object] = []

    def follow(number: int) -> bool:
        """Reading after what was reported ends with what was written last."""
        if path in told:
            told.remove(path)
            node = pinot.store.get(path)
            last[:] = [node.record.simple["n"] if node and node.record else None]
        return last == [str(number)]

    for number in range(30):
        pinot.put(path, encode(ZNRecord("new_OFFLINE", {"n": str(number)})))
        if number % 7 == 0:
            wait_until(lambda number=number: follow(number), 30.0)  # type: ignore[misc]  # the default binds the loop's value
    wait_until(lambda: follow(29), 30.0)
    watch.close()


def test_every_write_to_pinot_is_refused(pinot: Pinot) -> None:
    pinot.put(paths.lineage(TABLE), encode(ZNRecord(TABLE)))
    record, path = ZNRecord(TABLE), paths.lineage(TABLE)
    writes: list[Callable[[], object]] = [
        lambda: pinot.store.create(path + "2", record),
        lambda: pinot.store.replace(path, record, 0),
        lambda: pinot.store.delete(path),
        lambda: pinot.store.delete_tree(path),
        lambda: pinot.store.transaction([Check(path, 0)]),
    ]
    for write in writes:
        with pytest.raises(Forbidden, match="belongs to Pinot"):
            write()
    assert pinot.store.exists(path) == 0


def test_a_zookeeper_without_the_cluster_is_no_empty_cluster(zookeeper: ZooKeeperProcess) -> None:
    store = PinotZooKeeper(zookeeper.hosts, lambda: "nowhere")
    with pytest.raises(Unavailable, match="holds no Pinot cluster 'nowhere'"):
        store.children(paths.TABLE_CONFIGS)
    store.close()


def test_a_zookeeper_that_is_unreachable_is_not_waited_for_again_and_again() -> None:
    now = [0.0]
    store = PinotZooKeeper("127.0.0.1:1", lambda: CLUSTER, clock=lambda: now[0])
    with pytest.raises(Unavailable):
        store.children("/")
    started = time.monotonic()
    for _ in range(5):
        with pytest.raises(Unavailable):
            store.children("/")
    assert time.monotonic() - started < 1.0
    store.close()


# An old ZooKeeper, and one whose cluster lies below a path


@pytest.fixture(
    params=[
        pytest.param("zookeeper", marks=pytest.mark.integration),
        pytest.param("old", marks=pytest.mark.integration),
    ]
)
def age(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A ZooKeeper as it is, or read as one from before 3.6."""
    if request.param == "old":
        monkeypatch.setattr(pinot_zookeeper, "_NEW", (99, 0))
    return str(request.param)


@contextmanager
def writer(hosts: str) -> Iterator[KazooClient]:
    """Who writes what is watched."""
    client = KazooClient(hosts)
    client.start(30)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def test_documents_that_come_go_and_come_again_are_reported(zookeeper: ZooKeeperProcess, age: str) -> None:
    root = f"/{age}-comes"
    with writer(zookeeper.hosts) as client, ExitStack() as closing:
        client.create(f"{root}{paths.IDEAL_STATES}", makepath=True)
        store = PinotZooKeeper(zookeeper.hosts, lambda: root[1:])
        closing.callback(store.close)
        told: list[str | None] = []
        store.watch(paths.LINEAGE, told.append)  # its parent is not there yet
        other: list[str | None] = []
        store.watch(paths.lineage(TABLE), other.append)
        wait_until(lambda: None in told and None in other, 30.0)
        path = f"{root}{paths.lineage(TABLE)}"
        for act in (
            lambda: client.create(path, b"{}", makepath=True),
            lambda: client.delete(path),
            lambda: client.create(path, b"{}"),
        ):
            told.clear()
            other.clear()
            act()
            wait_until(lambda: paths.lineage(TABLE) in told and paths.lineage(TABLE) in other, 30.0)


@pytest.mark.integration
def test_watches_of_an_old_zookeeper_outlive_a_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinot_zookeeper, "_NEW", (99, 0))
    process = start_zookeeper(tmp_path / "zookeeper")
    try:
        root = f"/{CLUSTER}"
        with writer(process.hosts) as client:
            client.create(f"{root}{paths.ideal_state(TABLE)}", b"{}", makepath=True)
        store = PinotZooKeeper(process.hosts, lambda: CLUSTER)
        told: list[str | None] = []
        store.watch(paths.IDEAL_STATES, told.append)
        wait_until(lambda: None in told, 30.0)
        told.clear()
        process.restart()
        wait_until(lambda: None in told, 60.0)
        with writer(process.hosts) as client:
            client.set(f"{root}{paths.ideal_state(TABLE)}", b"{ }")
        wait_until(lambda: paths.ideal_state(TABLE) in told, 30.0)
        store.close()
    finally:
        process.stop()


def test_a_cluster_below_a_path_of_zookeeper_is_read_and_watched(zookeeper: ZooKeeperProcess, age: str) -> None:
    root = f"/teams/{age}/{CLUSTER}"
    with writer(zookeeper.hosts) as client, ExitStack() as closing:
        for table in ("a_OFFLINE", "b_OFFLINE"):
            client.create(f"{root}{paths.ideal_state(table)}", encode(ZNRecord(table)), makepath=True)
        store = PinotZooKeeper(f"{zookeeper.hosts}/teams/{age}", lambda: CLUSTER)
        closing.callback(store.close)
        found = store.get_many([paths.ideal_state(table) for table in ("a_OFFLINE", "b_OFFLINE")])
        assert [node.record.id for node in found if node and node.record] == ["a_OFFLINE", "b_OFFLINE"]
        told: list[str | None] = []
        store.watch(paths.IDEAL_STATES, told.append)
        wait_until(lambda: None in told, 30.0)
        client.set(f"{root}{paths.ideal_state('a_OFFLINE')}", encode(ZNRecord("a_OFFLINE", {"n": "1"})))
        wait_until(lambda: paths.ideal_state("a_OFFLINE") in told, 30.0)


# What reading over REST costs


def test_an_unchanged_record_is_not_fetched_again_over_rest() -> None:
    fake = FakePinot()
    fake.store.put_raw(paths.ideal_state(TABLE), FOREIGN)
    store = ControllerStore(controller(fake))
    for _ in range(5):
        store.get(paths.ideal_state(TABLE))
    assert fake.calls["/zk/get"] == 1
    fake.store.put_raw(paths.ideal_state(TABLE), FOREIGN.replace(b"s0", b"s1"))
    found = store.get(paths.ideal_state(TABLE))
    assert found is not None
    assert found.record is not None
    assert set(found.record.maps) == {"s1"}
    assert fake.calls["/zk/get"] == 2
    store.close()


def test_a_thousand_segments_are_one_request_over_rest() -> None:
    fake = FakePinot()
    for n in range(1000):
        fake.store.put_raw(paths.segment(TABLE, f"s{n}"), encode(ZNRecord(f"s{n}")))
    store = ControllerStore(controller(fake))
    found = store.get_many([paths.segment(TABLE, f"s{n}") for n in range(1000)])
    assert all(node and node.record for node in found)
    assert fake.calls.total() <= 4
    store.close()
