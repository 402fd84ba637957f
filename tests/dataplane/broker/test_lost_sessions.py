"""Brokers that lose their session with ZooKeeper: a switch waits for one that may still answer queries, not for others
(rule `acknowledged-switch`).
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from segments.clusters.embedded.replacement.acknowledgement import wait_for_brokers
from segments.domain.formats.znrecord import ZNRecord
from segments.errors import Unavailable
from segments.names import OFFLINE, TableName
from segments.services.core.context import Context, Limits
from segments.store import paths
from segments.store.memory import MemoryStore
from segments.store.records.brokers import NotedBroker, lost_brokers, note_broker
from tests.dataplane.broker.test_broker import NEW, OLD, SNAPSHOTS, two_servers
from tests.dataplane.world import World, counts, entry, poll
from tests.services.embedded_engine import EMBEDDED
from tests.waiting import wait_until

BROKER = "Broker_elsewhere_8099"


class CutStore(MemoryStore):
    """A client whose connection can be cut: its session ends, and it neither reads nor hears until it is healed."""

    is_cut = False

    def cut(self) -> None:
        with self.tree.lock:
            self._drop_ephemerals()
            self.tree.clients.remove(self)
            self.is_cut = True

    def heal(self) -> None:
        with self.tree.lock:
            self.tree.clients.append(self)
            self.is_cut = False
        self.expire_session()

    @contextmanager
    def _open(self) -> Iterator[None]:
        with super()._open():
            if self.is_cut:
                raise Unavailable("Cut off.")
            yield


def context(world: World, back_s: float = 5.0) -> Context:
    limits = Limits(broker_ack_s=10.0, broker_back_s=back_s)
    return Context(
        "test", world.store, world.deep_store, lambda: 1, lambda: "id", "http://127.0.0.1:1", EMBEDDED, limits=limits
    )


def seconds_of_a_switch(world: World, back_s: float) -> float:
    began = time.monotonic()
    assert wait_for_brokers(context(world, back_s), TableName("t", OFFLINE)) == []
    return time.monotonic() - began


def noted(world: World, process: str) -> None:
    world.store.create(paths.broker(BROKER), ZNRecord(BROKER, {"process": process}))


def notes(world: World) -> list[NotedBroker]:
    return lost_brokers(world.store, [], world.store.children(paths.BROKERS))


@pytest.mark.parametrize("seed", range(2))
def test_no_query_after_an_acknowledged_switch_is_stale_whenever_a_broker_was_cut_off(world: World, seed: int) -> None:
    rng = random.Random(seed)
    two_servers(world)
    store = CutStore(world.store.tree)
    world.client = lambda: store
    broker = world.start_broker()
    world.client = world.store.another_client
    world.write_lineage(entry(OLD, NEW, "IN_PROGRESS"))
    world.push(NEW, servers=(1, 2))
    for state, right in [("COMPLETED", SNAPSHOTS[1]), ("REVERTED", SNAPSHOTS[0])] * 2:
        store.cut()
        back = threading.Timer(rng.uniform(0.0, 0.15), store.heal)
        back.start()
        time.sleep(rng.uniform(0.0, 0.05))  # the switch comes at any moment of the loss
        world.write_lineage(entry(OLD, NEW, state))
        assert wait_for_brokers(context(world), TableName("t", OFFLINE)) == []
        assert counts(broker) == right
        back.join()


def test_queries_go_on_while_their_broker_is_cut_off(world: World) -> None:
    two_servers(world)
    store = CutStore(world.store.tree)
    world.client = lambda: store
    broker = world.start_broker()
    store.cut()
    assert counts(broker) == SNAPSHOTS[0]
    store.heal()


def test_a_broker_elsewhere_that_does_not_come_back_is_waited_for_once(world: World) -> None:
    world.create_table()
    noted(world, "1@elsewhere")
    assert 0.3 < seconds_of_a_switch(world, back_s=0.3) < 5
    assert notes(world) == []
    assert seconds_of_a_switch(world, back_s=5.0) < 2


def test_a_broker_of_this_machine_whose_process_is_dead_is_not_waited_for(world: World) -> None:
    world.create_table()
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait(20)
    noted(world, f"{ended.pid}@{socket.gethostname()}")
    assert seconds_of_a_switch(world, back_s=8.0) < 4
    assert notes(world) == []


def test_a_broker_that_comes_back_as_it_is_struck_off_stays_noted(world: World) -> None:
    noted(world, "1@elsewhere")
    (old,) = notes(world)
    note_broker(world.store, BROKER)
    (new,) = notes(world)
    assert new.version > old.version
    assert new.process == f"{os.getpid()}@{socket.gethostname()}"
    assert not new.is_dead


def test_a_broker_that_leaves_in_order_is_not_waited_for(world: World) -> None:
    world.create_table()
    broker = world.start_broker()
    assert [b.broker for b in notes(world)] == [broker.broker_id]
    broker.stop()
    world.brokers.remove(broker)
    assert notes(world) == []


def test_a_broker_that_was_struck_off_is_noted_again_with_its_next_session(world: World) -> None:
    world.create_table()
    broker = world.start_broker()
    world.store.delete(paths.broker(broker.broker_id))
    world.stores[-1].expire_session()  # type: ignore[attr-defined]
    wait_until(lambda: notes(world), what="the note")
    poll(lambda: world.acknowledged(broker) == 0, what="its acknowledgement")
