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


def known_passwords(environment: dict[str, str], *passwords: str) -> str:
    """For each, whether it is that of the user admin."""
    lines = "from django.contrib.auth import authenticate as a; "
    lines += f"print(*(a(username='admin', password=p) is not None for p in {passwords!r}))"
    done = run(environment, "shell", "--no-imports", "-c", lines)
    return done.stdout.strip() or done.stderr


def fill(hosts: str) -> None:
    """A table with segments in cluster ``one``, on one server."""
    store = ZooKeeperStore(hosts, "one", connect_timeout=30.0)
    for n in range(NUMBER):
        store.create(paths.segment("t_OFFLINE", f"t_{n}"), ZNRecord(f"t_{n}", {"segment.crc": str(n)}))
    store.create(paths.ideal_state("t_OFFLINE"), ZNRecord("t_OFFLINE", maps={"t_0": {"Server_a_1": "ONLINE"}}))
    store.create(f"{paths.INSTANCES}/Server_a_1/MESSAGES", None)
    store.close()


def test_a_backup_comes_back_under_another_name_and_on_other_servers(tmp_path: Path) -> None:
    zookeeper = start_zookeeper(tmp_path / "zookeeper")
    settings = {
        "ZOOKEEPER_URL": zookeeper.hosts,
        "PINOTADMIN_DATA_DIR": str(tmp_path / "data"),
        "PINOTADMIN_ADMIN_PASSWORD": "correct-horse-battery",
        "DATABASE_URL": f"sqlite:///{tmp_path}/one.sqlite3",
        "PINOTADMIN_CLUSTER": "one",
    }
    fill(zookeeper.hosts)
    try:
        assert run(settings, "setup_database").returncode == 0
        made = run(settings, "backup", str(tmp_path / "backup.gz"))
        assert "files listed" in made.stdout, made.stderr
        there = {**settings, "PINOTADMIN_CLUSTER": "two", "DATABASE_URL": f"sqlite:///{tmp_path}/two.sqlite3"}
        assert run(there, "setup_database").returncode == 0
        without = {**there, "PINOTADMIN_ADMIN_PASSWORD": ""}
        refused = run(without, "restore", str(tmp_path / "backup.gz"), "--set-admin-password")
        assert (refused.returncode, "from PINOTADMIN_ADMIN_PASSWORD: set that" in refused.stderr) == (1, True)
        tried = run(there, "restore", str(tmp_path / "backup.gz"), "--dry-run")
        assert "Without --server, the names of Server_a_1 stay" in tried.stdout, tried.stderr
        there["PINOTADMIN_ADMIN_PASSWORD"] = "another-one-of-the-target"
        options = ("--server", "Server_a_1=Server_b_2", "--set-admin-password")
        restored = run(there, "restore", str(tmp_path / "backup.gz"), *options)
        assert restored.stdout.splitlines()[-1].startswith("Restored "), restored.stderr
        assert "Without --server" not in restored.stdout
        store = ZooKeeperStore(zookeeper.hosts, "two", connect_timeout=30.0)
        assert len(store.children(paths.segments("t_OFFLINE"))) == NUMBER
        assert store.get(paths.segment("t_OFFLINE", "t_7")).record.simple == {"segment.crc": "7"}
        assert store.get(paths.ideal_state("t_OFFLINE")).record.maps == {"t_0": {"Server_b_2": "ONLINE"}}
        store.close()
        assert known_passwords(there, "correct-horse-battery", "another-one-of-the-target") == "False True"
        refused = run(settings, "restore", str(tmp_path / "backup.gz"))
        assert refused.returncode == 1
        assert "is not empty: ZooKeeper has records below" in refused.stderr
    finally:
        zookeeper.stop()
