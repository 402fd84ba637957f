"""A ZooKeeper that comes back as it was earlier: connections that saw more take it as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.store.on_zookeeper.client import ZooKeeperStore
from segments.store.records import instances
from segments.store.update import update_record
from tests.real_parts import start_zookeeper
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

SESSION_S = 4.0


def test_connections_recover_when_zookeeper_was_restored_from_an_earlier_state(tmp_path: Path) -> None:
    zookeeper = start_zookeeper(tmp_path / "zookeeper")
    store = ZooKeeperStore(zookeeper.hosts, "c", session_timeout=SESSION_S, connect_timeout=30.0)
    try:
        store.create("/kept", ZNRecord("kept", {"n": "1"}))
        zookeeper.kill()
        shutil.copytree(tmp_path / "zookeeper", tmp_path / "copy")
        zookeeper.start()
        member = instances.join(store, "Server_a_1", "a", 1, [])
        for n in range(50):
            update_record(store, "/lost", lambda _, n=n: ZNRecord("lost", {"n": str(n)}))
        update_record(store, "/kept", lambda _: ZNRecord("kept", {"n": "2"}))
        seen: list[str | None] = []
        store.watch("/", seen.append)
        wait_until(lambda: seen == [None], what="the first call")
        session = store.session_id()

        zookeeper.kill()
        shutil.rmtree(tmp_path / "zookeeper")
        shutil.copytree(tmp_path / "copy", tmp_path / "zookeeper")
        zookeeper.start()

        wait_until(lambda: store._connected.is_set(), 30.0, "a connection to the restored ZooKeeper")
        assert store.session_id() != session
        assert store.get("/kept").record.simple == {"n": "1"}
        assert store.get("/lost") is None
        wait_until(lambda: seen[1:2] == [None], what="the call that says that anything may have changed")
        wait_until(lambda: "Server_a_1" in instances.live_instances(store), what="the member that joins again")
        member.leave()
    finally:
        store.close()
        zookeeper.stop()
