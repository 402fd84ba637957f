"""The external view of brokerResource, which Pinot's Java client reads to find a broker."""

from __future__ import annotations

from segments.dataplane.broker.served_tables import ServedTables, with_broker
from segments.domain.formats.znrecord import ZNRecord
from segments.store import paths
from segments.store.memory import MemoryStore
from segments.store.records.instances import join
from tests.dataplane.world import TABLE, World
from tests.waiting import wait_until

VIEW = paths.external_view("brokerResource")
ONE, TWO, DEAD = "Broker_h_1", "Broker_h_2", "Broker_h_3"


def test_a_broker_is_at_exactly_its_tables_and_the_dead_are_gone() -> None:
    before = ZNRecord(
        "brokerResource",
        maps={"a": {ONE: "ONLINE", TWO: "ONLINE"}, "b": {ONE: "ONLINE", DEAD: "ONLINE"}, "c": {DEAD: "ONLINE"}},
    )
    after = with_broker(before, ONE, ["a", "d"], [ONE, TWO])
    assert after.maps == {"a": {ONE: "ONLINE", TWO: "ONLINE"}, "d": {ONE: "ONLINE"}}
    assert with_broker(after, ONE, [], [TWO]).maps == {"a": {TWO: "ONLINE"}}


def test_two_brokers_write_their_tables_and_one_leaves() -> None:
    store = MemoryStore()
    brokers = {name: ServedTables(store, name) for name in (ONE, TWO)}
    members = {name: join(store, name, "h", int(name[-1]), ["DefaultTenant_BROKER"]) for name in brokers}

    def rows() -> object:
        node = store.get(VIEW)
        return node.record.maps if node and node.record else None

    for broker in brokers.values():
        broker.start()
        broker.put(["t_OFFLINE", "u_REALTIME"])
    both = {ONE: "ONLINE", TWO: "ONLINE"}
    wait_until(lambda: rows() == {"t_OFFLINE": both, "u_REALTIME": both}, 30, "both brokers at both tables")
    brokers[TWO].put(["t_OFFLINE"])
    wait_until(lambda: rows() == {"t_OFFLINE": both, "u_REALTIME": {ONE: "ONLINE"}}, 30, "a table less")
    members[TWO].leave()
    brokers[TWO].stop()
    assert rows() == {"t_OFFLINE": {ONE: "ONLINE"}, "u_REALTIME": {ONE: "ONLINE"}}
    brokers[ONE].stop()
    assert rows() == {}


def test_a_broker_writes_its_tables_and_servers_leave_them_alone(world: World) -> None:
    world.create_table()
    world.start_server()
    broker = world.start_broker()

    def row() -> object:
        node = world.store.get(VIEW)
        return node.record.maps.get(TABLE) if node and node.record else None

    wait_until(lambda: row() == {broker.broker_id: "ONLINE"}, 30, "the broker at its table")
    world.start_server(2)  # makes the first one read every external view
    world.push(["a"], servers=(1, 2))
    assert row() == {broker.broker_id: "ONLINE"}
    world.brokers.remove(broker)
    broker.stop()
    assert row() is None
