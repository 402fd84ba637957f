"""Processes of a running installation that freeze, as SIGSTOP makes them: they are replaced, and nothing is lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


def pids(installation: Installation) -> dict[str, int]:
    found = installation.endpoints
    return {**found["pids"], **{server["instance"]: server["pid"] for server in found["servers"]}}


def test_every_kind_of_process_that_freezes_is_killed_and_started_again(tmp_path: Path) -> None:
    installation = Installation(tmp_path / "data", settings={"PINOTADMIN_SILENCE_S": "3"}).start()
    client = Client(installation.endpoints)
    client.create("kept")
    client.upload("kept", "a")
    client.online("kept", "a")
    before = pids(installation)
    assert {"web", "mirror", "worker", "beat", "zookeeper", "redis"} < set(before)
    for pid in before.values():
        os.kill(pid, signal.SIGSTOP)

    def all_are_others() -> bool:
        now = pids(installation)
        return set(now) == set(before) and all(now[name] != pid for name, pid in before.items())

    poll(all_are_others, 200, "new processes in the place of all frozen ones")
    assert poll(lambda: client.counts("kept"), 30, "queries answer") == {"a": 10}
    log = installation.log.read_text()
    for pid in before.values():
        assert f"(process {pid}) gave no sign of life for " in log
    assert installation.stop() == 0
