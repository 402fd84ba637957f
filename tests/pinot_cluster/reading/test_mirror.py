"""The mirror of Pinot clusters beside our own: rows follow, faults are reported with their start time, nobody's fault
is another's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.test import override_settings
from kazoo.client import KazooClient

from segments import wiring
from segments.domain.formats.znrecord import ZNRecord, encode
from segments.domain.replacement import lineage as lineages
from segments.domain.replacement.lineage import Entry, State
from segments.domain.segments.ideal_state import new_ideal_state, with_rows
from segments.gateways.pinot import http_controller
from segments.gateways.pinot.refusals import UP
from segments.mirror.cluster_mirrors import ClusterMirrors
from segments.mirror.pinot import PinotMirror
from segments.models import Cluster, LineageEntry, Segment, Table
from segments.services.clusters import clusters
from segments.services.clusters.clusters import ClusterSpec
from segments.services.core.context import Actor
from segments.store import paths
from segments.store.memory import MemoryStore
from tests.pinot_cluster.fake_rest import FakePinot
from tests.real_parts import start_zookeeper
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

ANN = Actor("ann", "a test")
TABLE = "flights_OFFLINE"
#: As a real controller writes it, with what we would not take ourselves.
CONFIG = {
    "tableName": TABLE,
    "tableType": "OFFLINE",
    "segmentsConfig": '{"replication":"1","schemaName":"flights_v2"}',
    "tenants": "{}",
    "tableIndexConfig": "{}",
    "metadata": '{"customConfigs":{}}',
    "newThing": "plain text",
    "isDimTable": "false",
}


def make_pinot(*segments: str) -> FakePinot:
    """One OFFLINE table with these segments, all online."""
    pinot = FakePinot()
    put = pinot.store.put_raw
    put(paths.table_config(TABLE), encode(ZNRecord(TABLE, CONFIG)))
    put(
        paths.schema("flights_v2"),
        encode(ZNRecord("flights_v2", {"schemaJSON": '{"schemaName":"flights_v2","newFieldSpecs":[]}'})),
    )
    put(f"{paths.CLUSTER_CONFIGS}/{pinot.cluster}", encode(ZNRecord(pinot.cluster)))
    put_segments(pinot, *segments)
    return pinot


def put_segments(pinot: FakePinot, *names: str) -> None:
    rows = {name: {"Server_a_8098": "ONLINE"} for name in names}
    for name in names:
        fields = {"segment.crc": "7", "segment.total.docs": "10", "segment.size.in.bytes": "100"}
        pinot.store.put_raw(paths.segment(TABLE, name), encode(ZNRecord(name, fields)))
    ideal = with_rows(new_ideal_state(TABLE, 1), rows)
    pinot.store.put_raw(paths.ideal_state(TABLE), encode(ideal))
    pinot.store.put_raw(paths.external_view(TABLE), encode(ZNRecord(TABLE, {}, rows)))


def names(cluster: str) -> list[str]:
    return list(Segment.objects.filter(table__cluster__name=cluster).order_by("name").values_list("name", flat=True))


def row(cluster: str) -> Cluster:
    return Cluster.objects.get(name=cluster)


@pytest.fixture
def pinots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> Iterator[dict[str, FakePinot]]:
    """Controllers by host name; whoever opens a client reaches these."""
    settings.DATA_DIR = tmp_path
    settings.DEEP_STORE_URL = f"file://{tmp_path}/deep"
    found: dict[str, FakePinot] = {}

    def handle(request: httpx.Request) -> httpx.Response:
        if request.url.host not in found:
            raise httpx.ConnectError("[Errno -2] Name or service not known", request=request)
        return found[request.url.host].handle(request)

    before = http_controller.open_client

    def opened(connection: Any, **more: Any) -> httpx.Client:
        return before(connection, **{**more, "transport": httpx.MockTransport(handle)})

    monkeypatch.setattr(http_controller, "open_client", opened)
    own = MemoryStore()
    monkeypatch.setattr(wiring._parts, "store", own)
    yield found
    wiring.close()
    own.close()


@pytest.fixture
def mirrors() -> Iterator[ClusterMirrors]:
    running = ClusterMirrors(poll_s=0.05, make=lambda name: PinotMirror(name, health_s=0.1))
    running.start()
    yield running
    running.stop()


def add(name: str, *hosts: str, **more: Any) -> Cluster:
    return clusters.add_cluster(
        ClusterSpec(name, tuple(f"http://{host}:9000" for host in hosts or (name,)), **more), ANN
    )


@pytest.mark.usefixtures("mirrors")
def test_rows_follow_a_cluster_that_is_added_while_the_mirror_runs(pinots: dict[str, FakePinot]) -> None:
    pinots["prod"] = pinot = make_pinot("a", "b")
    add("prod")
    wait_until(lambda: names("prod") == ["a", "b"], 60)
    table = Table.objects.get(cluster__name="prod")
    assert (table.name, table.rows_visible, table.replicas_online) == (TABLE, 20, 2)
    assert table.config["newThing"] == "plain text"
    assert table.schema["schemaName"] == "flights_v2"
    wait_until(lambda: row("prod").state == UP and row("prod").mirrored_at is not None)
    assert (row("prod").version, row("prod").pinot_name, row("prod").mirror_error) == ("1.2.0", "PinotCluster", "")
    entry = Entry("e1", ("a",), ("c",), State.COMPLETED, 1)
    put_segments(pinot, "a", "b", "c")
    pinot.store.put_raw(paths.lineage(TABLE), encode(lineages.to_record(lineages.empty(TABLE).having(entry))))
    wait_until(lambda: names("prod") == ["a", "b", "c"] and LineageEntry.objects.filter(entry_id="e1").exists(), 60)
    wait_until(lambda: list(Segment.objects.filter(is_visible=False).values_list("name", flat=True)) == ["a"], 60)
    assert row("prod").calls_per_minute >= 0


@pytest.mark.usefixtures("mirrors")
def test_all_segments_of_a_table_are_asked_for_once_and_later_only_new_ones(pinots: dict[str, FakePinot]) -> None:
    many = [f"s{n:03}" for n in range(60)]
    pinots["prod"] = pinot = make_pinot(*many)
    add("prod")
    wait_until(lambda: names("prod") == many and row("prod").mirrored_at is not None, 60)
    assert pinot.calls["/zk/getChildren"] == 1
    fetched = pinot.calls["/zk/get"]
    put_segments(pinot, *many, "t")
    wait_until(lambda: names("prod") == [*many, "t"], 60)
    assert pinot.calls["/zk/getChildren"] == 1
    assert (
        pinot.calls["/zk/get"] - fetched <= 8
    )  # ideal state, external view, the new record; each at most seen half-way


@pytest.mark.usefixtures("mirrors")
def test_a_cluster_that_is_removed_while_it_is_followed_leaves_nothing(pinots: dict[str, FakePinot]) -> None:
    pinots["prod"] = make_pinot("a")
    add("prod")
    wait_until(lambda: names("prod") == ["a"], 60)
    clusters.remove_cluster("prod", ANN)
    wait_until(lambda: not Table.objects.filter(cluster__name="prod").exists())
    asked = pinots["prod"].calls.total()
    wait_until(lambda: not any(t.name.startswith("mirror-prod") for t in threading.enumerate()), 30)
    assert names("prod") == []
    assert pinots["prod"].calls.total() <= asked + 5


@pytest.mark.usefixtures("mirrors")
def test_a_cluster_that_is_down_is_reported_since_when_and_hurts_no_other(pinots: dict[str, FakePinot]) -> None:
    pinots["good"] = make_pinot("a")
    add("bad")
    add("good")
    wait_until(lambda: names("good") == ["a"] and row("good").state == UP, 60)
    wait_until(lambda: row("bad").state == "down" and bool(row("bad").mirror_error), 60)
    since = row("bad").state_since
    asked = row("bad").checked_at
    wait_until(lambda: row("bad").checked_at != asked)
    assert row("bad").state_since == since
    assert row("bad").mirror_error_since is not None
    pinots["bad"] = make_pinot("x")
    wait_until(lambda: row("bad").state == UP and names("bad") == ["x"] and row("bad").mirror_error == "", 60)
    assert row("bad").state_since > since
    assert row("bad").last_error == ""


def down(pinot: FakePinot) -> None:
    pinot.broken = lambda request: _raise(httpx.ConnectError("[Errno 111] Connection refused", request=request))


def slow(pinot: FakePinot) -> None:
    pinot.broken = lambda request: _raise(httpx.ReadTimeout("timed out", request=request))


def restarting(pinot: FakePinot) -> None:
    pinot.broken = lambda request: httpx.Response(503, text="starting")


def wrong_credentials(pinot: FakePinot) -> None:
    pinot.authorization = "Basic other"


def surprising(pinot: FakePinot) -> None:
    pinot.broken = lambda request: httpx.Response(200, html="<html>welcome</html>")


def another_cluster(pinot: FakePinot) -> None:
    pinot.cluster = "Other"


def _raise(error: Exception) -> httpx.Response:
    raise error


FAULTS: dict[str, tuple[Callable[[FakePinot], None], str]] = {
    "down": (down, "down"),
    "slow": (slow, "down"),
    "restarting": (restarting, "down"),
    "wrong credentials": (wrong_credentials, "refused"),
    "not pinot": (surprising, "unexpected"),
    "wrong cluster": (another_cluster, "wrong-cluster"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.usefixtures("mirrors")
def test_a_fault_while_it_runs_is_a_state_and_its_end_is_noticed(
    fault: str, pinots: dict[str, FakePinot], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_controller, "_VERIFIED_FOR_S", 0.1)
    pinots["prod"] = pinot = make_pinot("a")
    add("prod")
    wait_until(lambda: names("prod") == ["a"] and row("prod").state == UP, 60)
    act, state = FAULTS[fault]
    act(pinot)
    wait_until(lambda: row("prod").state == state, 60)
    assert row("prod").last_error
    assert row("prod").state_since is not None
    assert names("prod") == ["a"]  # what was known stays on the page
    pinot.broken, pinot.authorization, pinot.cluster = None, "", "PinotCluster"
    put_segments(pinot, "a", "b")
    wait_until(lambda: row("prod").state == UP and names("prod") == ["a", "b"], 90)


def test_a_table_that_cannot_be_read_is_reported_and_hides_no_other(
    pinots: dict[str, FakePinot], mirrors: ClusterMirrors
) -> None:
    pinots["prod"] = pinot = make_pinot("a")
    pinot.store.put_raw(paths.table_config("broken_OFFLINE"), b"no record")
    add("prod")
    wait_until(lambda: names("prod") == ["a"] and "broken_OFFLINE" in row("prod").mirror_error, 60)
    assert mirrors is not None


@override_settings(CLUSTER_NAME="pinotadmin")
def test_each_cluster_has_its_context_and_unknown_ones_have_none(pinots: dict[str, FakePinot]) -> None:
    pinots["prod"] = make_pinot("a")
    add("prod")
    assert wiring.cluster_names() == ["pinotadmin", "prod"]
    ctx = wiring.context("prod")
    assert ctx is wiring.context("prod")
    assert ctx.engine.offers.pass_through
    assert ctx.store.children(paths.segments(TABLE)) == ["a"]
    clusters.change_cluster(ClusterSpec("prod", ("http://prod:9000", "http://second:9000")), ANN)
    assert wiring.context("prod") is not ctx
    clusters.remove_cluster("prod", ANN)
    with pytest.raises(Exception, match="'prod' does not exist"):
        wiring.context("prod")


@pytest.mark.integration
@pytest.mark.usefixtures("mirrors")
def test_pinots_zookeeper_that_dies_is_reported_and_followed_again(
    pinots: dict[str, FakePinot], tmp_path: Path
) -> None:
    folder = tmp_path / "zookeeper"
    folder.mkdir()
    zookeeper = start_zookeeper(folder)
    pinots["prod"] = pinot = make_pinot()
    pinot.routes["GET", "/zk/stat"] = lambda request: httpx.Response(403, json={"error": "Permission is denied"})
    copied = make_pinot("a")
    try:
        with pinots_client(zookeeper.hosts) as put:
            for path in [p for p in copied.store.tree.nodes if p != "/"]:
                put(path, copied.store.tree.nodes[path].data)
        add("prod", zookeeper=zookeeper.hosts)
        wait_until(lambda: names("prod") == ["a"] and row("prod").mirrored_at is not None, 90)
        zookeeper.kill()
        wait_until(lambda: "ZooKeeper" in row("prod").mirror_error and row("prod").mirror_error_since is not None, 90)
        assert row("prod").state == UP  # the controller is not to blame
        assert names("prod") == ["a"]
        zookeeper.restart()
        with pinots_client(zookeeper.hosts) as put:
            put_segments(copied, "a", "b")
            for path in (paths.segment(TABLE, "b"), paths.ideal_state(TABLE), paths.external_view(TABLE)):
                put(path, copied.store.tree.nodes[path].data)
        wait_until(lambda: names("prod") == ["a", "b"] and row("prod").mirror_error == "", 120)
    finally:
        zookeeper.stop()


@contextmanager
def pinots_client(hosts: str) -> Iterator[Callable[[str, bytes], None]]:
    """Writes as Pinot's controller does."""
    client = KazooClient(hosts)
    client.start(30)

    def put(path: str, data: bytes) -> None:
        full = f"/PinotCluster{path}"
        client.set(full, data) if client.exists(full) else client.create(full, data or None, makepath=True)

    try:
        yield put
    finally:
        client.stop()
        client.close()
