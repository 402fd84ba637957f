"""Processes killed while a session reads its files: it ends, reads again only what was not staged, and queries see the
old rows or all of the new ones.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.integration.ingestion.test_sessions import Folder
from tests.integration.running import Client, Installation
from tests.integration.test_push import children
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

_FILES, _ROWS, _AT_ONCE = 24, 10_000, 2


def _spark(worker: int, *words: bytes) -> list[int]:
    """Processes below a worker whose command line has one of these words."""
    found = {pid: (Path("/proc") / str(pid) / "cmdline").read_bytes() for pid in children(worker)}
    return [pid for pid, command in found.items() if any(word in command for word in words)]


def _victims(installation: Installation, which: str) -> list[int]:
    pids = installation.endpoints["pids"]
    if which == "spark driver":
        return _spark(pids["worker"], b"org.apache.spark")
    if which == "python workers":
        return _spark(pids["worker"], b"segments.spark.worker_daemon")
    return [pids[which]]


class Watched(Folder):
    """A folder whose session is watched while parts of the installation are down."""

    def __init__(self, installation: Installation, client: Client, table: str) -> None:
        keys = {"consistentPushSwapEnabled": "true", "tableMaxNumTasks": str(_AT_ONCE)}
        super().__init__(installation, client, table, keys)
        self.before, self.after = {"old": 10}, {f"F{n}": _ROWS for n in range(_FILES)}
        self.address = f"/api/v1/tables/{table}/ingestion/sessions"

    def files(self, session: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.call("GET", f"{self.address}/{session}/files").json()["files"]
        return found

    def staged(self, session: str) -> set[str]:
        """Files that are on record as staged, once there are some."""
        found = poll(lambda: {f["uri"] for f in self.files(session) if f["state"] == "BUILT"}, 60, "files are staged")
        assert found is not None
        return found

    def is_done(self, session: str) -> bool:
        """Is it over? Whatever queries see until then is one side or the other."""
        try:
            answer = self.client.http.post(
                f"{self.client.base}/query/sql",
                json={"sql": f"select v, count(*) from {self.table} group by v limit 1000"}, timeout=10,
            ).json()  # fmt: skip
            if not answer.get("exceptions"):
                assert dict(answer["resultTable"]["rows"]) in (self.before, self.after)
            found = self.client.http.get(f"{self.client.base}{self.address}/{session}", timeout=10)
            return found.ok and found.json()["state"] == "DONE"
        except requests.RequestException:
            return False


@pytest.mark.parametrize("which", ["worker", "spark driver", "python workers", "zookeeper", "redis"])
def test_a_session_survives_a_killed_process_and_reads_nothing_twice_that_was_staged(
    installation: Installation, client: Client, table: str, which: str
) -> None:
    folder = Watched(installation, client, table)
    client.upload(table, "old")
    client.online(table, "old")
    for name, rows in folder.after.items():
        folder.put(name, rows)
    session = folder.trigger()["sessionId"]
    staged = folder.staged(session)
    assert len(staged) < _FILES
    assert client.counts(table) == folder.before, "nothing is visible before the switch"
    victims = _victims(installation, which)
    assert victims, f"no {which} to kill"
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    for uri in staged:
        Path(uri).write_text("this file is not to be read again")
    poll(lambda: folder.is_done(session), 90, f"the session is over after the death of {which}")
    assert client.counts(table) == folder.after, "a session is done when queries see its rows"
    installation.wait_healthy()
    attempts = [f["attempts"] for f in poll(lambda: folder.files(session), 20, "its files are on record") or ()]
    assert len(attempts) == _FILES
    assert sum(attempts) <= _FILES + _AT_ONCE, "a batch at most is read again"
    poll(lambda: not list(installation.folder.glob(f"**/Staging/{session}")), 20, "nothing stays staged")
