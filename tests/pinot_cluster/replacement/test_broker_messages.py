"""A switch waits until each broker has carried out the message that Pinot sent it, and checks afterwards what it
answers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from segments.clusters.pinot.replacement import routing
from segments.clusters.pinot.replacement.broker_messages import BrokerMessages, follow_messages
from segments.domain.formats.znrecord import ZNRecord
from segments.models import AuditEvent
from segments.services.replacement import protocol
from segments.store import paths
from segments.store.base import Store, Versioned
from segments.store.memory import MemoryStore
from segments.store.on_pinot.overlay import OverlayStore
from tests.pinot_cluster.fake_broker import FakeBroker
from tests.pinot_cluster.fake_pinot import PinotCluster
from tests.services.world import ANN, TABLE
from tests.waiting import poll

pytestmark = pytest.mark.django_db

BROKERS = ("Broker_h1_1", "Broker_h2_1")


def send(
    store: MemoryStore, broker: str, name: str, *, table: str = TABLE.typed, kind: str = "REBUILD_ROUTING_TABLE"
) -> None:
    """A message as Pinot's controller writes it."""
    store.create(f"{paths.messages(broker)}/{name}", ZNRecord(name, simple={"MSG_SUBTYPE": kind, "tableName": table}))


def carry_out(store: MemoryStore, broker: str, name: str) -> None:
    """As Helix does when the broker is done with a message."""
    store.delete(f"{paths.messages(broker)}/{name}")


@pytest.fixture
def store() -> MemoryStore:
    """A ZooKeeper with two brokers, the first of which has an older message for the table."""
    store = MemoryStore()
    send(store, BROKERS[0], "older")
    return store


@pytest.fixture
def messages(store: MemoryStore) -> BrokerMessages:
    """Followed from now on."""
    found = BrokerMessages(store, TABLE, BROKERS)
    found.begin()
    return found


def wait_for(messages: BrokerMessages, seconds: float = 20.0) -> bool:
    return messages.wait(time.monotonic() + seconds)


def in_background(messages: BrokerMessages) -> tuple[threading.Thread, Callable[[], list[bool]]]:
    """It waits; what it answered so far."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(wait_for(messages)), daemon=True)
    thread.start()
    return thread, lambda: found


def test_it_is_done_when_each_broker_has_carried_out_its_message(store: MemoryStore, messages: BrokerMessages) -> None:
    thread, answers = in_background(messages)
    for broker in BROKERS:
        send(store, broker, "m")
    messages.answered()
    poll(lambda: all(messages.sent.values()), 20, "both messages")
    carry_out(store, BROKERS[0], "m")
    poll(lambda: messages.left == {BROKERS[1]}, 20, "the first broker")
    assert answers() == []
    carry_out(store, BROKERS[1], "m")
    thread.join(20)
    assert answers() == [True]


def test_a_broker_that_was_sent_no_message_is_asked_in_another_way(
    store: MemoryStore, messages: BrokerMessages
) -> None:
    send(store, BROKERS[0], "m")
    messages.answered()
    assert not wait_for(messages)


@pytest.mark.parametrize("more", [{"table": "another_OFFLINE"}, {"kind": "REFRESH_SEGMENT"}])
def test_messages_of_other_tables_and_kinds_do_not_count(
    store: MemoryStore, messages: BrokerMessages, more: dict[str, str]
) -> None:
    for broker in BROKERS:
        send(store, broker, "m", **more)
    messages.answered()
    assert not wait_for(messages)


def test_a_message_that_is_never_carried_out_ends_the_waiting_at_the_deadline(
    store: MemoryStore, messages: BrokerMessages
) -> None:
    for broker in BROKERS:
        send(store, broker, "m")
    messages.answered()
    assert not wait_for(messages, 0.05)


def test_waiting_that_is_given_up_ends(messages: BrokerMessages) -> None:
    messages.give_up()
    assert not wait_for(messages)


def test_messages_of_many_brokers_and_through_a_controller_are_not_followed(pinot: PinotCluster) -> None:
    assert follow_messages(pinot.ctx, TABLE, BROKERS[:1]) is None
    reads_zookeeper(pinot)
    assert follow_messages(pinot.ctx, TABLE, BROKERS[:1]) is not None
    assert follow_messages(pinot.ctx, TABLE, [f"Broker_h{i}_1" for i in range(5)]) is None
    assert follow_messages(pinot.ctx, TABLE, ["Server_h1_1"]) is None


class CarriedOut:
    """A ZooKeeper in which a message is carried out as soon as somebody has read it."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def get(self, path: str) -> Versioned | None:
        """The znode, which is then gone if it is a message."""
        found = self._store.get(path)
        if "/MESSAGES/" in path and found is not None:
            self._store.delete(path)
        return found


def reads_zookeeper(pinot: PinotCluster) -> None:
    """The cluster's ZooKeeper is read directly."""
    theirs = cast("Store", CarriedOut(pinot.inside.memory))
    pinot.ctx = replace(pinot.ctx, store=OverlayStore(lambda: pinot.own, pinot.ctx.cluster, theirs))


class Busy(FakeBroker):
    """A live broker that carries its messages out; its queries are counted."""

    def hears(self, pinot: PinotCluster, change: int) -> None:
        """The next change with this number reaches it, as Pinot does before it answers."""
        pinot.rest.before[change] = lambda: send(pinot.inside.memory, BROKERS[0], f"m{change}")


@pytest.fixture
def busy(pinot: PinotCluster, monkeypatch: pytest.MonkeyPatch) -> Busy:
    """The one broker of a cluster; what it answers is checked at once."""
    monkeypatch.setattr(routing, "LATER_S", 0.0)
    reads_zookeeper(pinot)
    pinot.inside.memory.create(paths.live_instance(BROKERS[0]), ZNRecord(BROKERS[0]))
    broker = Busy(pinot.inside)
    pinot.ctx = replace(pinot.ctx, engine=replace(pinot.ctx.engine, broker=broker))
    return broker


def ended(pinot: PinotCluster, busy: Busy) -> None:
    """A switch from a to b, of which the broker gets its message."""
    entry = protocol.start_replace(pinot.ctx, TABLE, ["a"], ["b"], actor=ANN)
    pinot.inside.upload("b")
    busy.hears(pinot, len(pinot.rest.changes) + 1)
    protocol.end_replace(pinot.ctx, TABLE, entry, actor=ANN)


def test_a_switch_returns_when_the_broker_has_carried_out_its_message(pinot: PinotCluster, busy: Busy) -> None:
    ended(pinot, busy)
    detail = AuditEvent.objects.latest("pk").detail
    assert (detail["brokersVerified"], detail["brokersSaid"]) == (True, "1 broker built its routing again.")
    assert pinot.inside.memory.children(paths.messages(BROKERS[0])) == []


def test_a_broker_that_still_answers_from_the_old_side_then_builds_its_routing_again(
    pinot: PinotCluster, busy: Busy
) -> None:
    busy.old, busy.late = ["a"], 100
    ended(pinot, busy)
    poll(lambda: busy.rebuilt == [TABLE.typed], 20, "the broker is asked to build its routing")


def test_what_was_switched_again_meanwhile_is_no_reason_to_build_it_again(pinot: PinotCluster, busy: Busy) -> None:
    ended(pinot, busy)
    wanted = routing.Expected(["b"], ["a"], BROKERS[:1])
    asked = len(busy.asked)
    poll(lambda: len(busy.asked) > 0, 20, "the check of the switch")
    routing.check(pinot.ctx, TABLE, lambda: wanted)
    assert (len(busy.asked) > asked, busy.rebuilt) == (True, [])
