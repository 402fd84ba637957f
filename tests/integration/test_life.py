"""Start, stop and sudden death of an installation: nothing stays behind, everything is found again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.integration.running import Client, Installation
from tests.waiting import poll

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]


def processes_of(folder: Path) -> list[str]:
    """Command lines of living processes that belong to this data directory, by their environment or arguments."""
    found, needle = [], str(folder).encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            if command and (needle in (entry / "environ").read_bytes() or needle in command):
                found.append(f"{entry.name} " + command.replace(b"\0", b" ").decode(errors="replace")[:150])
        except OSError:
            continue
    return found


def test_everything_is_found_again_after_kill_9_and_nothing_stays_behind(tmp_path: Path) -> None:
    installation = Installation(tmp_path / "data").start()
    client = Client(installation.endpoints)
    client.create("kept")
    client.upload("kept", "a")
    client.online("kept", "a")
    entry = client.start("kept", ["a"], ["b"])
    before = installation.endpoints["servers"]

    refused = installation.manage("up", "--data-dir", str(installation.folder), "--port", "0")
    assert refused.returncode != 0
    assert str(installation.process.pid if installation.process else "") in refused.stdout + refused.stderr

    installation.kill()
    poll(lambda: not processes_of(installation.folder), 20, "no process left after kill -9")

    installation.start()
    client = Client(installation.endpoints)
    assert [s["instance"] for s in installation.endpoints["servers"]] == [s["instance"] for s in before]
    assert poll(lambda: client.counts("kept"), 10, "queries answer") == {"a": 10}
    client.upload("kept", "b")
    client.end("kept", entry)
    assert client.counts("kept") == {"b": 10}

    assert installation.stop() == 0
    assert not (installation.folder / "endpoints.json").exists()
    poll(lambda: not processes_of(installation.folder), 10, "no process left after Ctrl-C")
