"""What only a real ZooKeeper can do to the store: die, come back, and be silent at the wrong moment."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import InvalidInput, OutcomeUnknown, Unavailable
from segments.store.base import Create
from segments.store.on_zookeeper.chroot import ensure_chroot
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.on_zookeeper.login import ZooKeeperLogin
from segments.store.records import instances
from segments.store.update import update_record
from tests.real_parts import ZooKeeperProcess, free_port, start_zookeeper
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    """A ZooKeeper that tests may kill; they leave it running."""
    process = start_zookeeper(tmp_path_factory.mktemp("zookeeper"))
    yield process
    process.stop()


@pytest.fixture
def store(own: ZooKeeperProcess, request: pytest.FixtureRequest) -> Iterator[ZooKeeperStore]:
    opened = ZooKeeperStore(own.hosts, request.node.name, connect_timeout=20.0)
    yield opened
    opened.close()


def test_a_chroot_that_is_not_there_is_created(own: ZooKeeperProcess) -> None:
    ensure_chroot(f"{own.hosts}/tenants/ours", ZooKeeperLogin(), 20.0)
    first = ZooKeeperStore(f"{own.hosts}/tenants/ours", "c", connect_timeout=20.0)
    first.create("/a/deep", ZNRecord("a"))
    ensure_chroot(f"{own.hosts}/tenants/ours", ZooKeeperLogin(), 20.0)
    again = ZooKeeperStore(f"{own.hosts}/tenants/ours", "c", connect_timeout=20.0)
    found = again.exists("/a/deep")
    for opened in (first, again):
        opened.close()
    assert found == 0


def counted(store: ZooKeeperStore) -> int:
    return int(store.get("/n").record.simple["n"])


def count(found) -> ZNRecord:
    """A decision without a trace: doing it twice shows."""
    return ZNRecord("n", {"n": str(int(found.record.simple["n"]) + 1 if found else 1)})


def test_kill_9_and_restart_lose_nothing_and_watches_and_membership_go_on(own: ZooKeeperProcess, store: ZooKeeperStore):
    member = instances.join(store, "Server_127.0.0.1_1", "127.0.0.1", 1, [])
    update_record(store, "/n", count)
    seen: list[str | None] = []
    store.watch("/n", seen.append)
    wait_until(lambda: seen == [None])
    own.restart()
    assert counted(store) == 1
    wait_until(lambda: seen == [None, None], what="the call that says look again")
    update_record(store, "/n", count)
    wait_until(lambda: seen == [None, None, "/n"], what="the watch after the restart")
    wait_until(lambda: instances.live_instances(store)["Server_127.0.0.1_1"].session == store.session_id())
    member.leave()


def test_a_dead_zookeeper_is_unavailable_after_the_patience_and_used_again_when_it_is_back(own: ZooKeeperProcess):
    store = ZooKeeperStore(own.hosts, "patience", connect_timeout=5.0)
    store._patience = 0.3
    store.create("/t", None)
    own.kill()
    wait_until(lambda: not store._connected.is_set())
    for call in (
        lambda: store.get("/t"),
        lambda: store.create("/u", None),
        lambda: store.transaction([Create("/u", None)]),
    ):
        with pytest.raises(Unavailable, match="did not answer"):
            call()
    store._patience, store._lost_at = 15.0, store._lost_at - 60
    asked = time.monotonic()
    with pytest.raises(Unavailable, match=r"did not answer for 6\d"):
        store.get("/t")
    assert time.monotonic() - asked < 5, "in a long outage nobody waits out the whole patience again"
    own.start()
    store._patience, store._lost_at = 60.0, time.monotonic()
    assert (store.exists("/t"), store.exists("/u")) == (0, None)
    store.close()


def test_a_watch_that_was_set_without_a_connection_begins_when_there_is_one(
    own: ZooKeeperProcess, store: ZooKeeperStore
):
    own.kill()
    wait_until(lambda: not store._connected.is_set())
    store._patience = 0.2
    seen: list[str | None] = []
    store.watch("/w", seen.append)
    assert seen == []
    own.start()
    store._patience = 60.0
    wait_until(lambda: seen and set(seen) == {None}, what="the first call")
    store.create("/w", None)
    wait_until(lambda: seen[-1] == "/w", what="the watch")


def test_an_update_whose_reply_never_came_is_not_applied_twice(own: ZooKeeperProcess, store: ZooKeeperStore):
    update_record(store, "/n", count)
    store._patience = 0.2
    awakening = threading.Timer(0.6, os.kill, (own.pid, signal.SIGCONT))
    decisions = []

    def falls_silent(found) -> ZNRecord:
        decisions.append(found)
        if len(decisions) == 1:
            own.freeze()
            awakening.start()
        return count(found)

    update = update_record(store, "/n", falls_silent)
    awakening.join()
    assert (update.changed, update.attempts, len(decisions), counted(store)) == (True, 2, 1, 2)


def test_a_single_write_whose_reply_never_came_is_unknown(own: ZooKeeperProcess, store: ZooKeeperStore):
    update_record(store, "/n", count)
    store._patience = 0.2
    own.freeze()
    try:
        with pytest.raises(OutcomeUnknown, match="/n"):
            store.replace("/n", ZNRecord("n", {"n": "2"}), 0)
    finally:
        os.kill(own.pid, signal.SIGCONT)
    wait_until(lambda: counted(store) == 2, what="the write that went out before")


def test_updates_during_a_kill_9_are_each_applied_exactly_once(own: ZooKeeperProcess, store: ZooKeeperStore):
    """Each entry has its id, as every change of ours (rule 6)."""

    def appending(entry: str):
        def decide(found) -> ZNRecord | None:
            entries = found.record.lists["all"] if found else []
            return None if entry in entries else ZNRecord("l", lists={"all": [*entries, entry]})

        return decide

    done: list[str] = []

    def work() -> None:
        for number in range(400):
            update_record(store, "/l", appending(str(number)))
            done.append(str(number))

    worker = threading.Thread(target=work)
    worker.start()
    wait_until(lambda: len(done) >= 50)
    own.restart()
    worker.join(60.0)
    assert store.get("/l").record.lists["all"] == done == [str(n) for n in range(400)]


def test_an_address_where_nobody_listens_is_named():
    hosts = f"127.0.0.1:{free_port()}"
    with pytest.raises(Unavailable, match=f"ZooKeeper at {hosts} did not answer within 0.3 s"):
        ZooKeeperStore(hosts, "c", connect_timeout=0.3)


def test_a_transaction_that_zookeeper_would_cut_off_is_refused_with_its_size(store: ZooKeeperStore):
    big = ZNRecord("big", {"x": "y" * 900_000})
    with pytest.raises(InvalidInput, match="2 writes takes 18"):
        store.transaction([Create("/a", big), Create("/b", big)])
    store.transaction([Create("/a", big)])


def test_the_znodes_lie_in_the_layout_of_pinot_under_the_cluster_open_to_all(own: ZooKeeperProcess):
    store = ZooKeeperStore(own.hosts, "PinotCluster")
    store.create("/IDEALSTATES/t_OFFLINE", ZNRecord("t_OFFLINE", {"a": "b"}))
    data, stat = store._client.get("/PinotCluster/IDEALSTATES/t_OFFLINE")
    acl, _ = store._client.get_acls("/PinotCluster/IDEALSTATES/t_OFFLINE")
    assert data == b'{"id":"t_OFFLINE","simpleFields":{"a":"b"},"mapFields":{},"listFields":{}}'
    assert (stat.version, acl[0].id.scheme, acl[0].id.id, acl[0].perms) == (0, "world", "anyone", 31)
    store.close()
