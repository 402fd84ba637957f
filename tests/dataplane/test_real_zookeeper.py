"""Servers and broker on a real ZooKeeper that is killed under them."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.store import paths
from segments.store.on_zookeeper.client import ZooKeeperStore
from tests.dataplane.world import TABLE, World, codes, counts, entry, poll
from tests.real_parts import start_zookeeper

OLD, NEW = ["a1", "a2"], ["b1"]


@pytest.mark.integration
def test_queries_go_on_without_zookeeper_and_switches_work_again_when_it_is_back(tmp_path: Path) -> None:
    zookeeper = start_zookeeper(tmp_path / "zookeeper")

    def client() -> ZooKeeperStore:
        return ZooKeeperStore(zookeeper.hosts, "test", session_timeout=4.0)

    world = World(tmp_path, client(), client)
    try:
        world.create_table()
        world.start_server(1)
        world.start_server(2)
        world.push(OLD, servers=(1, 2))
        broker = world.start_broker()
        world.write_lineage(entry(OLD, NEW, "IN_PROGRESS"))
        world.push(NEW, servers=(1, 2))
        zookeeper.kill()
        assert counts(broker) == {"a1": 10, "a2": 10}
        zookeeper.start()
        zxid = world.write_lineage(entry(OLD, NEW, "COMPLETED"))
        poll(lambda: world.acknowledged(broker) >= zxid, 20.0, "acknowledgement")
        assert counts(broker) == {"b1": 10}
        world.push(["c1"], servers=(1, 2))
        poll(lambda: counts(broker) == {"b1": 10, "c1": 10}, what="the new segment")
        world.store.delete(paths.ideal_state(TABLE))
        poll(lambda: codes(broker.query("select count(*) from t")) == [190], what="190")
        poll(lambda: world.store.get(paths.external_view(TABLE)) is None, what="no external view")
    finally:
        world.close()
        zookeeper.stop()
