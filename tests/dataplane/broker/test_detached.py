"""The detached broker answers from hidden segments without being a member of the cluster."""

from __future__ import annotations

import time

from segments.dataplane.broker import DetachedBroker
from segments.store import paths
from tests.dataplane.world import TABLE, World, entry


def detached(world: World) -> DetachedBroker:
    """One over the world's store."""
    return DetachedBroker(world.store, world.gateway(), lambda: int(time.time() * 1000), TABLE)


def test_hidden_segments_are_read_and_no_switch_waits_for_it(world: World) -> None:
    world.create_table()
    world.start_server(1)
    world.push(["old"], rows=10)
    world.write_lineage(entry(["old"], ["new"], "IN_PROGRESS"))
    world.push(["new"], rows=4)
    with detached(world) as broker:
        answer = broker.query("select count(*) from t", segments=["new"])
        assert answer["resultTable"]["rows"] == [[4]]
        assert broker.query("select count(*) from t", segments=["old"])["resultTable"]["rows"] == [[10]]
    assert not [name for name in world.store.children(paths.LIVE_INSTANCES) if name.startswith("Broker_")]
    assert not world.store.children(paths.routing_acks(TABLE))


def test_a_segment_that_is_not_there_is_an_exception_by_name(world: World) -> None:
    world.create_table()
    world.start_server(1)
    world.push(["old"])
    with detached(world) as broker:
        answer = broker.query("select count(*) from t", segments=["old", "nowhere"])
    assert "nowhere" in answer["exceptions"][0]["message"]
