"""Write-audit-publish through a whole installation: half a snapshot is blocked and stays hidden until somebody gives a
reason.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.integration.running import DAY0, Client, Installation
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]
OVER = ("DONE", "FAILED", "CANCELLED", "BLOCKED")
CHECKS = {
    "checks": [
        {"kind": "rowCount", "minRatio": 0.8},
        {"kind": "nullShare", "column": "v", "max": 0.1},
        {"kind": "time", "notBefore": "2022-01-01", "notAfter": "now"},
        {"kind": "uniqueKey", "columns": ["v", "n"]},
        {"kind": "sql", "sql": "select count(*) from {table} where n < 0", "expect": "= 0"},
    ]
}


def push(client: Client, table: str, folder: Path, rows: int, label: str) -> dict[str, object]:
    """Push a snapshot of ``rows`` rows and follow it until it has settled."""
    lines = [f"{label},{i},{DAY0 + i % 5}" for i in range(rows)]
    (folder / "one.csv").write_text("\n".join(["v,n,day", *lines]) + "\n")
    spec = {
        "jobType": "SegmentCreationAndMetadataPush",
        "inputDirURI": str(folder),
        "recordReaderSpec": {"dataFormat": "csv"},
        "tableSpec": {"tableName": table},
    }
    return settled(client, client.call("POST", "/api/v1/pushes", 201, json=spec).json()["id"])


def settled(client: Client, push_id: str) -> dict[str, object]:
    """The push once it has settled."""
    return (
        poll(
            lambda: (s := client.call("GET", f"/api/v1/pushes/{push_id}").json())["state"] in OVER and s,
            100,
            "push settled",
        )
        or {}
    )


def test_half_of_the_rows_are_blocked_and_a_reason_switches(
    installation: Installation, client: Client, table: str
) -> None:
    folder = installation.folder / "input" / table
    folder.mkdir(parents=True)
    client.call("PUT", f"/api/v1/tables/{table}/checks", json=json.loads(json.dumps(CHECKS).replace("{table}", table)))
    assert push(client, table, folder, 40, "whole")["state"] == "DONE"

    blocked = push(client, table, folder, 20, "half")
    assert blocked["state"] == "BLOCKED"
    assert "measured 20 rows, 40 are replaced, allowed from 32 rows" in str(blocked["error"])
    assert client.counts(table) == {"whole": 40}
    checks = f"/api/v1/lineage/{table}/{blocked['segmentLineageEntryId']}/checks"
    report = client.call("GET", checks).json()
    assert [(c["name"], c["passed"], c["error"]) for c in report["checks"]] == [
        ("rowCount", False, ""),
        ("nullShare v", True, ""),
        ("time", True, ""),
        ("uniqueKey v, n", True, ""),
        ("sql", True, ""),
    ]
    assert client.call("POST", checks).json()["status"] == "blocked"
    ended = {"type": "OFFLINE", "segmentLineageEntryId": blocked["segmentLineageEntryId"]}
    refused = client.call("POST", f"/segments/{table}/endReplaceSegments", 412, params=ended).json()
    assert refused["checks"][0]["name"] == "rowCount"
    assert "overrideChecks" in refused["remedy"]

    client.call("POST", f"/api/v1/pushes/{blocked['id']}/finish", params={"overrideChecks": "a short day"})
    assert settled(client, str(blocked["id"]))["state"] == "DONE"
    assert client.counts(table) == {"half": 20}
    assert client.call("GET", checks).json()["status"] == "overridden"
    audit = client.call("GET", "/api/v1/audit", params={"action": "overrideChecks"}).json()
    events = [e for e in next(iter(audit.values())) if e["target"] == f"{table}_OFFLINE"]
    assert [(e["actor"], e["reason"]) for e in events] == [("admin", "a short day")]


def test_an_end_over_rest_pays_little_for_checks(client: Client, table: str) -> None:
    """A switch whose checks pass answers within a second; the plain protocol takes the override too."""
    client.upload(table, "s0", rows=50)
    client.online(table, "s0")
    client.call("PUT", f"/api/v1/tables/{table}/checks", json={"checks": [{"kind": "rowCount", "minRatio": 0.5}]})
    entry = client.start(table, ["s0"], ["s1"])
    client.upload(table, "s1", rows=40)
    client.online(table, "s1")
    began = time.monotonic()
    client.end(table, entry)
    assert time.monotonic() - began < 1.0
    assert client.counts(table) == {"s1": 40}
    small = client.start(table, ["s1"], ["s2"])
    client.upload(table, "s2", rows=1)
    query = {"type": "OFFLINE", "segmentLineageEntryId": small, "overrideChecks": "one row is right"}
    client.call("POST", f"/segments/{table}/endReplaceSegments", params=query)
    assert client.counts(table) == {"s2": 1}
