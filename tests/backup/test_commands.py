"""The commands as an operator runs them, on a real ZooKeeper."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.store import paths
from segments.store.on_zookeeper.client import ZooKeeperStore
from tests.real_parts import start_zookeeper

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
NUMBER = 700


def run(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, str(ROOT / "manage.py"), *command]
    return subprocess.run(line, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


def test_a_backup_comes_back_under_another_name_and_on_other_servers(tmp_path: Path) -> None:
    zookeeper = start_zookeeper(tmp_path / "zookeeper")
    settings = {
        "ZOOKEEPER_URL": zookeeper.hosts,
        "PINOTADMIN_DATA_DIR": str(tmp_path / "data"),
        "PINOTADMIN_ADMIN_PASSWORD": "correct-horse-battery",
        "DATABASE_URL": f"sqlite:///{tmp_path}/one.sqlite3",
        "PINOTADMIN_CLUSTER": "one",
    }
    store = ZooKeeperStore(zookeeper.hosts, "one", connect_timeout=30.0)
    for n in range(NUMBER):
        store.create(paths.segment("t_OFFLINE", f"t_{n}"), ZNRecord(f"t_{n}", {"segment.crc": str(n)}))
    store.create(paths.ideal_state("t_OFFLINE"), ZNRecord("t_OFFLINE", maps={"t_0": {"Server_a_1": "ONLINE"}}))
    store.create(f"{paths.INSTANCES}/Server_a_1/MESSAGES", None)
    store.close()
    try:
        assert run(settings, "setup_database").returncode == 0
        made = run(settings, "backup", str(tmp_path / "backup.gz"))
        assert "files listed" in made.stdout, made.stderr
        there = {**settings, "PINOTADMIN_CLUSTER": "two", "DATABASE_URL": f"sqlite:///{tmp_path}/two.sqlite3"}
        assert run(there, "setup_database").returncode == 0
        restored = run(there, "restore", str(tmp_path / "backup.gz"), "--server", "Server_a_1=Server_b_2")
        assert restored.stdout.splitlines()[-1].startswith("Restored "), restored.stderr
        store = ZooKeeperStore(zookeeper.hosts, "two", connect_timeout=30.0)
        assert len(store.children(paths.segments("t_OFFLINE"))) == NUMBER
        assert store.get(paths.segment("t_OFFLINE", "t_7")).record.simple == {"segment.crc": "7"}
        assert store.get(paths.ideal_state("t_OFFLINE")).record.maps == {"t_0": {"Server_b_2": "ONLINE"}}
        store.close()
        refused = run(settings, "restore", str(tmp_path / "backup.gz"))
        assert refused.returncode == 1
        assert "is not empty: ZooKeeper has records below" in refused.stderr
    finally:
        zookeeper.stop()
