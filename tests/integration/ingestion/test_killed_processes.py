"""Every scene of consistent push, with a process killed while its retry reads: the session ends, reads again only what
was not staged, and queries see the old rows or all of the new ones.
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

_NEW, _ROWS, _AT_ONCE = 20, 10_000, 2


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


class Scenes(Folder):
    """A folder of which a first attempt failed, and what changed since; its retry is watched while parts are down."""

    def __init__(self, installation: Installation, client: Client, table: str, **keys: str) -> None:
        own = {"consistentPushEnabled": "true", "ingestionMode": "SYNC", "tableMaxNumTasks": str(_AT_ONCE)}
        super().__init__(installation, client, table, {**own, **keys})
        self.new = {f"F6.{n}": _ROWS for n in range(_NEW)}
        self.before = {"F0": 5}
        self.after = {"F0": 5, "F1": 10, "F3.1": 33, "F4": 40, **self.new}
        self.address = f"/api/v1/tables/{table}/ingestion/sessions"

    def delete(self, name: str) -> None:
        (self.path / name).unlink()

    def fail_and_change(self) -> str:
        """Scene 1, then what happens to the folder in scenes 2 to 6; the session's id."""
        self.client.upload(self.table, "F0", rows=5)
        self.client.online(self.table, "F0")
        for name, rows in (("F1", 10), ("F2", 20), ("F3", 30), ("F4", 40), ("F5", 50)):
            self.put(name, rows, bad=name in ("F3", "F4", "F5"))
        first = self.go()
        assert (first["state"], first["files"]["failed"]) == ("IN_PROGRESS", 3)
        assert self.client.counts(self.table) == self.before, "scene 1: nothing is visible while files fail"
        for name, rows in self.new.items():
            self.put(name, rows)
        self.put("F3", 33, label="F3.1")
        self.put("F1", 11, label="F1.1")
        self.delete("F2")
        self.put("F4", 40)
        self.delete("F5")
        return str(first["id"])

    def files(self, session: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.call("GET", f"{self.address}/{session}/files").json()["files"]
        return found

    def staged(self, session: str) -> set[str]:
        """Files that are on record as staged, once there are some of the retry."""

        def look() -> set[str]:
            found = {f["uri"] for f in self.files(session) if f["state"] == "BUILT"}
            return found if len(found) > 1 else set()

        found = poll(look, 60, "files are staged")
        assert found
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

    def ends_whole(self, session: str, seconds: float = 90) -> None:
        """The retry is over: all scenes are as they are told, and a batch at most was read again."""
        poll(lambda: self.is_done(session), seconds, "the session is over after the death")
        assert self.client.counts(self.table) == self.after, "a session is done when queries see its rows"
        files = {Path(f["uri"]).name: f for f in poll(lambda: self.files(session), 20, "files are on record") or ()}
        assert {n for n, f in files.items() if f["state"] == "DROPPED"} == {"F2", "F5"}
        assert files["F1"]["attempts"] == 1
        retried = [f["attempts"] for name, f in files.items() if name in self.new]
        retried += [files[name]["attempts"] - 1 for name in ("F3", "F4")]
        assert _NEW + 2 <= sum(retried) <= _NEW + 2 + _AT_ONCE


@pytest.mark.parametrize("which", ["worker", "spark driver", "python workers", "zookeeper", "redis"])
def test_all_scenes_survive_a_killed_process_and_nothing_is_read_twice_that_was_staged(
    installation: Installation, client: Client, table: str, which: str
) -> None:
    folder = Scenes(installation, client, table)
    session = folder.fail_and_change()
    assert folder.trigger()["sessionId"] == session
    staged = folder.staged(session)
    assert len(staged) < _NEW + 3
    assert client.counts(table) == folder.before, "nothing is visible before the switch"
    victims = _victims(installation, which)
    assert victims, f"no {which} to kill"
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    for uri in staged:
        Path(uri).write_text("this file is not to be read again")
    folder.ends_whole(session)
    installation.wait_healthy()
    poll(lambda: not list(installation.folder.glob(f"**/Staging/{session}")), 20, "nothing stays staged")


def test_all_scenes_survive_the_loss_of_the_database_while_everything_runs(
    installation: Installation, client: Client, table: str
) -> None:
    folder = Scenes(installation, client, table)
    session = folder.fail_and_change()
    assert folder.trigger()["sessionId"] == session
    staged = folder.staged(session)
    for file in installation.folder.glob("db.sqlite3*"):
        file.unlink()
    for uri in staged:
        Path(uri).write_text("this file is not to be read again")
    folder.ends_whole(session, 150)  # every part that uses it starts again before
    installation.wait_healthy()
    poll(lambda: not list(installation.folder.glob(f"**/Staging/{session}")), 20, "nothing stays staged")
