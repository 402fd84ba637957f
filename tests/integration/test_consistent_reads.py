"""Consistent reads as one story: through switches, rollbacks, a server that restarts and one that is lost, every answer
is one snapshot.
"""

from __future__ import annotations

import pytest

from tests.integration.running import Client, Installation
from tests.integration.test_switches import NEW, OLD, SNAPSHOTS, Hammer, cycle, prepare
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


def test_every_query_sees_one_whole_snapshot_whatever_happens_to_servers(
    client: Client, installation: Installation, table: str
) -> None:
    """Four readers all the time; the first query after each switch and each rollback is right; deleted snapshots come
    back whole.
    """
    prepare(client, table)
    victim, other = (s["instance"] for s in installation.endpoints["servers"][:2])
    phases: list[tuple[str, float]] = []
    with Hammer(installation.endpoints, table) as hammer:

        def phase(name: str) -> None:
            phases.append((name, hammer.slowest))
            hammer.slowest = 0.0

        for _ in range(3):
            cycle(client, table)
        phase("two servers")
        _server(installation, "kill", victim)
        for _ in range(3):
            _cycle_with_one_server(client, table)
        phase("one killed")
        _server(installation, "start", victim)
        client.online(table, *OLD)
        cycle(client, table)
        phase("back")
        _server(installation, "stop", other)
        _cycle_with_one_server(client, table)
        phase("one stopped")
        _server(installation, "start", other)
        client.online(table, *OLD)
        phase("both back")
        _delete_and_restore_hidden(client, table)
    installation.wait_healthy()
    assert hammer.wrong == []
    assert hammer.answers > 100
    # A server that starts takes a busy machine's cores for seconds; while one is down nobody may notice.
    slow = {name: longest for name, longest in phases if longest >= 1.0 and name in ("one killed", "one stopped")}
    assert slow == {}, "seconds that the slowest query took"


def _server(installation: Installation, what: str, name: str) -> None:
    assert installation.manage("server", what, name, "--data-dir", str(installation.folder)).returncode == 0


def _cycle_with_one_server(client: Client, table: str) -> None:
    entry = client.start(table, OLD, NEW)
    client.upload(table, *NEW)
    poll(
        lambda: set(client.call("GET", f"/tables/{table}/externalview").json()["OFFLINE"]) >= set(NEW),
        20,
        "new segments online",
    )
    client.end(table, entry)
    assert client.counts(table) == SNAPSHOTS[1]
    client.revert(table, entry)
    assert client.counts(table) == SNAPSHOTS[0]


def _delete_and_restore_hidden(client: Client, table: str) -> None:
    """A snapshot that a rollback deleted cannot slip back into answers, the one that was there stays deletable and
    restorable.
    """
    refused = client.call("POST", f"/api/v1/segments/{table}/restore", json={"segments": NEW}).json()
    assert {s["outcome"] for s in refused["segments"]} == {"refused"}
    assert client.counts(table) == SNAPSHOTS[0]


def test_deleted_segments_come_back_with_their_rows(client: Client, table: str) -> None:
    prepare(client, table)
    client.call("POST", f"/api/v1/segments/{table}/delete", json={"segments": ["a1", "a2"]})
    poll(lambda: client.counts(table) == {"a3": 10}, 10, "two segments gone")
    poll(
        lambda: client.call("GET", f"/api/v1/segments/{table}/deleted").json()["total"] == 2, 30, "their files put away"
    )
    answer = client.call("POST", f"/api/v1/segments/{table}/restore", json={"segments": ["a1", "a2"]}).json()
    assert answer["summary"] == {"done": 2}
    poll(lambda: client.counts(table) == SNAPSHOTS[0], 20, "their rows are back")
