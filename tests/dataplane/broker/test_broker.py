"""The broker: every answer is one whole snapshot or an exception; a dead server is noticed by one query only."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import pytest

from segments.dataplane.broker.queried_tables import is_created
from segments.dataplane.broker.routing import observe
from segments.dataplane.server import Server
from segments.dataplane.server.held.held_segment import HeldSegment
from segments.domain.tables.schema import parse_schema
from segments.services.clusters.instances import set_instance_state
from segments.services.core.context import Actor, Context
from segments.store import paths
from segments.store.update import update_record
from tests.dataplane.world import SECRET, TABLE, World, codes, counts, entry, poll, schema_of
from tests.services.embedded_engine import EMBEDDED

OLD, NEW = ["a1", "a2", "a3"], ["b1", "b2"]
SNAPSHOTS = ({"a1": 10, "a2": 10, "a3": 10}, {"b1": 10, "b2": 10})


def two_servers(world: World) -> None:
    """Two servers, three old segments on both."""
    world.create_table()
    world.start_server(1)
    world.start_server(2)
    world.push(OLD, servers=(1, 2))


def test_a_query_asks_every_segment_once_and_fills_the_statistics(world: World) -> None:
    two_servers(world)
    broker = world.start_broker()
    assert counts(broker) == SNAPSHOTS[0]
    answer = broker.query("select sum(n), count(*) from t_OFFLINE")
    assert answer["resultTable"]["rows"] == [[135.0, 30]]
    assert (answer["numServersQueried"], answer["numServersResponded"]) == (2, 2)
    assert (answer["numSegmentsQueried"], answer["numSegmentsProcessed"], answer["totalDocs"]) == (3, 3, 30)


def test_replicas_take_turns(world: World) -> None:
    two_servers(world)
    broker = world.start_broker()
    for _ in range(20):
        counts(broker)
    shares = [server.runner.queries for server in world.servers.values()]
    assert min(shares) >= 15


def test_a_drained_server_is_asked_only_for_what_nobody_else_holds(world: World) -> None:
    two_servers(world)
    world.push(["alone"], servers=(1,))
    broker = world.start_broker()
    drained = world.servers[1].instance

    def set_state(*, is_enabled: bool) -> None:
        ctx = Context("test", world.store, world.deep_store, lambda: 1, lambda: "id", "http://127.0.0.1:1", EMBEDDED)
        with patch("segments.services.core.audit.record"):
            set_instance_state(ctx, drained, is_enabled=is_enabled, actor=Actor("ann"))

    set_state(is_enabled=False)
    poll(lambda: [s.instance for s in broker.routing(TABLE).replicas["a1"]] == [world.servers[2].instance])  # type: ignore[union-attr]
    assert counts(broker) == {**SNAPSHOTS[0], "alone": 10}
    set_state(is_enabled=True)
    poll(lambda: len(broker.routing(TABLE).replicas["a1"]) == 2)  # type: ignore[union-attr]


def test_unknown_and_dropped_tables_answer_190(world: World) -> None:
    world.create_table()
    world.start_server()
    broker = world.start_broker()
    assert codes(broker.query("select * from nothing")) == [190]
    assert broker.query("select count(*) from t")["resultTable"]["rows"] == [[0]]
    world.store.delete(paths.ideal_state(TABLE))
    poll(lambda: codes(broker.query("select count(*) from t")) == [190], what="190 after the drop")
    poll(lambda: world.acknowledged(broker) == -1, what="no acknowledgement of a dropped table")


@pytest.mark.parametrize("name", ["t", "t_OFFLINE"])
def test_a_table_is_known_to_queries_from_the_moment_it_is_created(world: World, name: str) -> None:
    world.start_server()
    broker = world.start_broker()
    asked = threading.Event()

    def read_late(*given: Any) -> Any:
        asked.wait(5)
        return observe(*given)

    def ask(*given: Any) -> bool:
        asked.set()
        return is_created(*given)

    with (
        patch("segments.dataplane.broker.live_routing.observe", read_late),
        patch("segments.dataplane.broker.broker.is_created", ask),
    ):
        world.create_table()
        assert broker.query(f"select count(*) from {name}")["resultTable"]["rows"] == [[0]]


@pytest.mark.parametrize("name", ["nothing", "a/b", "", "x" * 300])
def test_a_table_that_nobody_created_is_refused_without_waiting(world: World, name: str) -> None:
    broker = world.start_broker()
    began = time.monotonic()
    assert codes(broker.query(f'select * from "{name}"')) in ([190], [150])
    assert time.monotonic() - began < 0.5


@pytest.mark.parametrize(("sql", "code"), [("selct 1", 150), ("select zzz from t", 710), ("drop table t", 150)])
def test_a_query_that_makes_no_sense_answers_pinots_code(world: World, sql: str, code: int) -> None:
    world.create_table()
    broker = world.start_broker()
    assert codes(broker.query(sql)) == [code]


def test_a_visible_segment_that_nobody_serves_is_named_not_left_out(world: World) -> None:
    two_servers(world)
    broker = world.start_broker()
    world.assign(["lost"], servers=(7,))
    poll(lambda: codes(broker.query("select count(*) from t")) == [305], what="305")
    answer = broker.query("select count(*) from t")
    assert "lost" in answer["exceptions"][0]["message"]
    assert "resultTable" not in answer


def test_uploads_do_not_make_queries_fail_for_the_moment_that_a_load_takes(world: World) -> None:
    two_servers(world)
    broker = world.start_broker()
    stop, faults = threading.Event(), list[object]()

    def read() -> None:
        while not stop.is_set():
            faults.extend(broker.query("select count(*) from t")["exceptions"])

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(8):
        world.push([f"n{number}"], servers=(1, 2))
    stop.set()
    reader.join()
    assert faults == []
    poll(lambda: len(counts(broker)) == 11, what="all new segments")


def test_hidden_segments_can_be_asked_by_name(world: World) -> None:
    two_servers(world)
    broker = world.start_broker()
    world.write_lineage(entry(OLD, NEW, "IN_PROGRESS"))
    world.push(NEW, servers=(1, 2))
    poll(lambda: broker.routing(TABLE) is not None and "b1" in broker.routing(TABLE).replicas)  # type: ignore[union-attr]
    assert counts(broker) == SNAPSHOTS[0]
    assert counts(broker, segments=NEW) == SNAPSHOTS[1]
    assert codes(broker.query("select count(*) from t", segments=["never"])) == [305]


def test_the_acknowledgement_follows_the_lineage_and_every_query_after_it_is_right(world: World) -> None:
    two_servers(world)
    broker = world.start_broker()
    world.write_lineage(entry(OLD, NEW, "IN_PROGRESS"))
    world.push(NEW, servers=(1, 2))
    for state, right in [("COMPLETED", SNAPSHOTS[1]), ("REVERTED", SNAPSHOTS[0])] * 5:
        zxid = world.write_lineage(entry(OLD, NEW, state))
        poll(lambda zxid=zxid: world.acknowledged(broker) >= zxid, what="acknowledgement")
        assert broker.wait_for(TABLE, zxid, 0.0)
        assert counts(broker) == right


def test_a_new_session_acknowledges_again(world: World) -> None:
    two_servers(world)
    broker = world.start_broker()
    zxid = world.write_lineage(entry(OLD, NEW, "IN_PROGRESS"))
    poll(lambda: world.acknowledged(broker) == zxid, what="acknowledgement")
    world.stores[-1].expire_session()  # type: ignore[attr-defined]
    poll(lambda: world.acknowledged(broker) == zxid, what="acknowledgement in the new session")
    node = world.store.get(paths.routing_ack(TABLE, broker.broker_id))
    assert format(node.owner, "x") == world.stores[-1].session_id()


def test_what_an_earlier_broker_of_that_name_acknowledged_does_not_stay(world: World) -> None:
    """After kill -9 the old node lies there until the old session ends; the new broker must own its own."""
    two_servers(world)
    other = world.client()
    broker = world.start_broker()
    poll(lambda: world.acknowledged(broker) == 0, what="acknowledgement")
    broker.stop()
    world.brokers.remove(broker)
    other.create(paths.routing_ack(TABLE, broker.broker_id), None, ephemeral=True)
    from segments.dataplane.broker import Broker

    again = Broker(world.client(), broker.broker_id, world.http, lambda: int(time.time() * 1000))
    again.start()
    world.brokers.append(again)
    poll(lambda: world.acknowledged(again) == 0, what="acknowledgement")
    other.close()
    assert world.acknowledged(again) == 0


def test_under_flipping_lineage_every_answer_is_exactly_one_snapshot(world: World) -> None:
    two_servers(world)
    broker = world.start_broker()
    world.write_lineage(entry(OLD, NEW, "IN_PROGRESS"))
    world.push(NEW, servers=(1, 2))
    stop, wrong, seen = threading.Event(), list[object](), {0: 0, 1: 0}

    def read() -> None:
        while not stop.is_set():
            answer = broker.query("select v, count(*) from t group by v limit 100")
            found = dict(answer.get("resultTable", {}).get("rows", []))
            if answer["exceptions"] or found not in SNAPSHOTS:
                wrong.append(answer)
            else:
                seen[SNAPSHOTS.index(found)] += 1

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for _ in range(30):
        for state in ("COMPLETED", "REVERTED"):
            zxid = world.write_lineage(entry(OLD, NEW, state))
            poll(lambda zxid=zxid: world.acknowledged(broker) >= zxid, what="acknowledgement")
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert min(seen.values()) > 10


def test_no_query_fails_when_a_server_dies_and_the_next_one_is_answered_within_a_second(world: World) -> None:
    two_servers(world)
    broker = world.start_broker()
    assert counts(broker) == SNAPSHOTS[0]
    world.servers[1]._http.stop()  # the process is gone, ZooKeeper does not know yet
    began = time.monotonic()
    for _ in range(10):
        assert counts(broker) == SNAPSHOTS[0]
    assert time.monotonic() - began < 1.0
    assert broker.query("select count(*) from t")["numServersQueried"] == 1


def test_a_server_that_comes_back_is_asked_again(world: World) -> None:
    two_servers(world)
    broker = world.start_broker()
    world.servers[1].stop()
    assert counts(broker) == SNAPSHOTS[0]
    world.start_server(1)
    poll(lambda: broker.query("select count(*) from t")["numServersQueried"] == 2, what="both servers again")


def test_a_frozen_server_delays_a_query_by_its_silence_only(world: World) -> None:
    import socket

    two_servers(world)
    broker = world.start_broker(connect_s=0.3, silence_s=0.2)
    with socket.create_server(("127.0.0.1", 0)) as frozen:  # takes connections, never answers
        port = str(frozen.getsockname()[1])
        path = paths.participant("Server_127.0.0.1_1")
        update_record(world.store, path, lambda found: found.record.with_simple(adminPort=port))  # type: ignore[union-attr]
        poll(lambda: any(r.url.endswith(port) for r in broker.routing(TABLE).replicas["a1"]), what="new address")  # type: ignore[union-attr]
        began = time.monotonic()
        for _ in range(5):
            assert counts(broker) == SNAPSHOTS[0]
        assert time.monotonic() - began < 1.5


def test_a_query_that_takes_too_long_ends_in_time_and_marks_nobody_down(world: World) -> None:
    two_servers(world)
    broker = world.start_broker()
    release = threading.Event()
    for server in world.servers.values():
        server.runner._run = lambda _request: str(release.wait(5.0)).encode()  # type: ignore[method-assign]
    began = time.monotonic()
    assert codes(broker.query("select count(*) from t", {"timeoutMs": "300"})) == [400]
    assert time.monotonic() - began < 1.0
    release.set()
    assert all(broker.health.is_up(r) for rs in broker.routing(TABLE).replicas.values() for r in rs)  # type: ignore[union-attr]


@pytest.mark.parametrize("timeout", ["0", "-1", "soon"])
def test_an_odd_timeout_is_refused(world: World, timeout: str) -> None:
    world.create_table()
    assert codes(world.start_broker().query("select count(*) from t", {"timeoutMs": timeout})) == [700]


def deny(server: Server, segment: str, until: threading.Event) -> None:
    """The server says that it lacks the segment, whatever the view says."""
    find = server.slots.find

    def denied(table: str, names: Sequence[str]) -> tuple[list[HeldSegment], list[str]]:
        held, missing = find(table, [n for n in names if n != segment or until.is_set()])
        return held, missing + [n for n in names if n == segment and not until.is_set()]

    server.slots.find = denied  # type: ignore[method-assign]


def test_a_server_that_lacks_a_segment_is_passed_over(world: World) -> None:
    """The view says ONLINE, the server says missing: another replica answers, the server is not marked down."""
    two_servers(world)
    broker = world.start_broker()
    deny(world.servers[1], "a2", threading.Event())
    for _ in range(4):
        assert counts(broker) == SNAPSHOTS[0]
    assert all(broker.health.is_up(r) for r in broker.routing(TABLE).replicas["a2"])  # type: ignore[union-attr]


def test_segments_that_moved_are_found_on_the_fresh_snapshot(world: World) -> None:
    """All replicas of the old routing lack the segment; the query waits for the new routing instead of failing."""
    two_servers(world)
    broker = world.start_broker()
    moved = threading.Event()
    for server in world.servers.values():
        deny(server, "a2", moved)

    def move() -> None:
        moved.set()
        zxid = world.write_lineage()  # any change makes another routing
        assert zxid

    timer = threading.Timer(0.1, move)
    timer.start()
    assert counts(broker) == SNAPSHOTS[0]
    timer.join()


def test_a_changed_schema_is_used_by_broker_and_servers_alike(world: World) -> None:
    two_servers(world)
    broker = world.start_broker()
    body = schema_of().body
    body = {**body, "dimensionFieldSpecs": [*body["dimensionFieldSpecs"], {"name": "extra", "dataType": "STRING"}]}
    record = parse_schema(body).to_record()
    update_record(world.store, paths.schema("t"), lambda _: record)
    poll(lambda: not broker.query("select extra from t")["exceptions"], what="the new column")
    answer = broker.query("select * from t limit 1")
    assert answer["resultTable"]["dataSchema"]["columnNames"] == ["extra", "n", "v"]


def test_the_secret_never_reaches_an_answer(world: World) -> None:
    two_servers(world)
    broker = world.start_broker()
    assert SECRET not in str(broker.query("select * from t"))
