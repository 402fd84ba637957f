"""An installation that was started without any deep store: commits, queries, a wiped server, and what it refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.integration.running import Client, Installation
from tests.integration.test_realtime_basic import Table
from tests.waiting import poll

pytestmark = pytest.mark.integration


def test_an_installation_without_a_deep_store_keeps_rows_on_its_servers_and_says_what_it_cannot_do(
    tmp_path: Path,
) -> None:
    installation = Installation(tmp_path / "data", "--deep-store", "none").start()
    try:
        _walk(installation)
    finally:
        assert installation.stop() == 0


def _walk(installation: Installation) -> None:
    client = Client(installation.endpoints)
    table = Table(installation, client, "rt_none", rows=100)
    table.send(250)
    table.exact()
    poll(lambda: len(table.state()[0]) == 3 and table.is_settled(), 30, "two commits")
    done = sorted(table.state()[0])[:2]
    assert {
        client.call("GET", f"/segments/rt_none_REALTIME/{s}/metadata").json()["segment.download.url"] for s in done
    } == {""}
    assert not any((installation.folder / "deepstore").rglob("*"))

    client.create("plain")
    with pytest.raises(AssertionError, match=r"409.*no deep store"):
        client.upload("plain", "s1")
    refused = client.call("POST", "/api/v1/segments/rt_none_REALTIME/restore", 409, json={"segments": done})
    assert "no deep store" in refused.text

    server = installation.endpoints["servers"][0]
    installation.manage("server", "stop", server["instance"], "--data-dir", str(installation.folder))
    shutil.rmtree(installation.folder / "servers" / "server-1")
    installation.manage("server", "start", server["instance"], "--data-dir", str(installation.folder))
    poll(table.is_settled, 60, "the wiped server has everything from the other one")
    installation.manage(
        "server", "stop", installation.endpoints["servers"][1]["instance"], "--data-dir", str(installation.folder)
    )
    table.exact()
