"""A whole installation, backed up while it runs and restored at another address, under another cluster name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]


def test_a_backup_starts_another_installation_with_the_same_tables_history_and_people(tmp_path: Path) -> None:
    first = Installation(tmp_path / "first").start(180)
    client = Client(first.endpoints)
    client.create("sales")
    client.upload("sales", "s1", "s2")
    client.online("sales", "s1", "s2")
    entry = client.start("sales", ["s1", "s2"], ["s3"])
    client.upload("sales", "s3", rows=7)
    client.end("sales", entry)
    made = first.manage("backup", str(tmp_path / "backup.gz"))
    assert made.returncode == 0, made.stderr
    client.upload("sales", "after_the_backup")
    refused = first.manage("restore", str(tmp_path / "backup.gz"), "--replace")
    assert (refused.returncode, "runs. Stop all parts" in refused.stderr) == (1, True), refused.stderr
    assert first.stop() == 0

    settings = {"PINOTADMIN_CLUSTER": "other", "DEEP_STORE_URL": f"file://{tmp_path}/first/deepstore"}
    second = Installation(tmp_path / "second", "--restore", str(tmp_path / "backup.gz"), settings=settings).start(180)
    try:
        assert second.endpoints["cluster"] == "other"
        other = Client(second.endpoints)  # with the password that the second one made and printed
        poll(lambda: other.counts("sales") == {"s3": 7}, 30, "the restored rows")
        assert other.call("GET", "/tables").json()["tables"] == ["sales"]
        events = other.call("GET", "/api/v1/audit").json()["events"]
        assert {"endReplaceSegments", "restore"} <= {event["action"] for event in events}
        other.revert("sales", entry)
        poll(lambda: other.counts("sales") == {"s1": 10, "s2": 10}, 30, "the rollback in the restored installation")
    finally:
        assert second.stop() == 0, second.log.read_text()[-4000:]
