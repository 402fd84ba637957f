"""Replacements whose client or whose web process dies: the reaper takes them back, a background end goes
on (rules `entry-lease` and `all-replicas-first`).
"""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]


def state_of(client: Client, table: str, entry: str) -> str:
    lineage = client.call("GET", f"/segments/{table}/lineage", params={"type": "OFFLINE"}).json()
    return str(lineage["lineageEntries"][entry]["state"])


def test_a_client_that_stops_its_heartbeats_is_reverted(client: Client, table: str) -> None:
    """The lease is four seconds here (``conftest``), six with the suspicion; the check every five seconds is as in
    production.
    """
    client.upload(table, "a1")
    client.online(table, "a1")
    entry = client.start(table, ["a1"], ["b1"])
    client.upload(table, "b1")
    until = time.monotonic() + 8
    while time.monotonic() < until:
        lease: dict[str, Any] = client.call("POST", f"/api/v1/lineage/{table}/{entry}/heartbeat").json()
        assert lease["leased"]
        time.sleep(0.3)  # how often a client reports
    assert state_of(client, table, entry) == "IN_PROGRESS"
    died = time.monotonic()
    poll(lambda: state_of(client, table, entry) == "REVERTED", 40, "the entry of a silent client reverted")
    assert time.monotonic() - died < 30
    assert client.counts(table) == {"a1": 10}
    explain = f"/api/v1/lineage/{table}/{entry}/explain"
    poll(
        lambda: "reapEntry" in [e["action"] for e in client.call("GET", explain).json()["events"]],
        20,
        "the reaper's record",
    )


def test_an_end_in_the_background_survives_a_kill_of_the_web_process(
    client: Client, installation: Installation, table: str
) -> None:
    client.upload(table, "a1")
    client.online(table, "a1")
    entry = client.start(table, ["a1"], ["b1"])
    endpoints = installation.endpoints
    servers, web = [s["pid"] for s in endpoints["servers"]], endpoints["pids"]["web"]
    for pid in servers:
        os.kill(pid, signal.SIGSTOP)
    try:
        client.upload(table, "b1")
        query = {"type": "OFFLINE", "segmentLineageEntryId": entry, "async": "true"}
        job = client.call("POST", f"/segments/{table}/endReplaceSegments", 202, params=query).json()
        seen = client.call("GET", f"/api/v1/jobs/{job['id']}").json()
        os.kill(web, signal.SIGKILL)
    finally:
        for pid in servers:
            os.kill(pid, signal.SIGCONT)
    assert (seen["state"], seen["replicasOnline"], seen["replicasWanted"]) == ("RUNNING", 0, 2)
    assert {m["segment"] for m in seen["missing"]} == {"b1"}
    poll(lambda: installation.endpoints["pids"]["web"] != web, 60, "another web process")
    installation.wait_healthy()
    fresh = Client(installation.endpoints)
    poll(lambda: fresh.call("GET", f"/api/v1/jobs/{job['id']}").json()["state"] == "DONE", 60, "the job done")
    assert fresh.counts(table) == {"b1": 10}
    assert state_of(fresh, table, entry) == "COMPLETED"
