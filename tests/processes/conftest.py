"""A small supervised cluster per test, and what its children do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from segments.processes.sessions import MARKER, is_running
from tests.waiting import wait_until

PROJECT = Path(__file__).resolve().parents[2]

#: Says that it is ready, notes its end, ends on SIGTERM.
STEADY = """
import os, signal, sys, time
folder, name, ready = sys.argv[1:]
def end(*_):
    with open(folder + "/ends", "a") as file:
        file.write(name + "\\n")
    os._exit(0)
signal.signal(signal.SIGTERM, end)
open(ready, "w").close()
print("hello from", name, flush=True)
while True:
    time.sleep(60)
"""
#: Ends on SIGTERM once another one has begun to end, too.
TOGETHER = """
import os, pathlib, signal, sys, time
folder, name, ready = sys.argv[1:]
def end(*_):
    pathlib.Path(folder, "ending-" + name).touch()
    while len(list(pathlib.Path(folder).glob("ending-*"))) < 2:
        time.sleep(0.02)
    with open(folder + "/ends", "a") as file:
        file.write(name + "\\n")
    os._exit(0)
signal.signal(signal.SIGTERM, end)
open(ready, "w").close()
while True:
    time.sleep(60)
"""
#: Ready as long as NAME.ready is there, alive as long as it touches BEAT.
BEATING = """
import pathlib, sys, time
folder, name, ready = sys.argv[1:]
open(ready, "w").close()
while True:
    pathlib.Path(folder, "beat").touch()
    time.sleep(0.05)
"""
#: Does not care about SIGTERM.
STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(sys.argv[3], "w").close()
while True:
    time.sleep(60)
"""
#: Ends at once, noting when.
CRASHING = """
import sys, time
with open(sys.argv[1] + "/starts", "a") as file:
    file.write(repr(time.monotonic()) + "\\n")
sys.exit(3)
"""
#: Starts one process in another group, as PySpark does, and one in a session of its own.
PARENT = """
import os, subprocess, sys, time
child = "import time; time.sleep(600)"
pids = [subprocess.Popen([sys.executable, "-S", "-c", child], process_group=0).pid,
        subprocess.Popen([sys.executable, "-S", "-c", child], start_new_session=True).pid]
with open(sys.argv[1] + "/family.new", "w") as file:
    file.write(" ".join(map(str, [os.getpid(), *pids])))
os.rename(sys.argv[1] + "/family.new", sys.argv[1] + "/family")
open(sys.argv[3], "w").close()
while True:
    time.sleep(60)
"""


def never(condition: Callable[[], Any], what: str, seconds: float) -> None:
    """Poll for ``seconds`` and fail with ``what`` as soon as ``condition()`` is true."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert not condition(), what
        time.sleep(0.02)


class Tiny:
    """A tiny cluster in ``folder``; ``up`` starts its supervisor."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []

    def up(self, *children: dict[str, Any]) -> subprocess.Popen[str]:
        """Start a supervisor over these children (those of before when none is given)."""
        if children:
            (self.folder / "children.json").write_text(json.dumps(children))
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.processes.tiny_cluster", str(self.folder)],
            cwd=PROJECT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    @property
    def endpoints(self) -> Path:
        """The file that is there while all is healthy."""
        return self.folder / "endpoints.json"

    def healthy(self) -> dict[str, Any]:
        """Wait for health; the endpoints file."""
        wait_until(self.endpoints.exists, 15, "endpoints.json")
        return dict(json.loads(self.endpoints.read_text()))

    def running(self) -> list[int]:
        """Pids of everything that runs with this folder on its command line, the supervisor and its
        guardian included.
        """
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit() and is_running(int(entry)):
                try:
                    command = Path(f"/proc/{entry}/cmdline").read_bytes()
                except OSError:
                    continue
                if str(self.folder).encode() in command:
                    found.append(int(entry))
        return found


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tiny]:
    """A tiny cluster; its supervisors are killed at the end, and with them all else."""
    monkeypatch.delenv(MARKER, raising=False)
    cluster = Tiny(tmp_path)
    yield cluster
    for process in cluster.started:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()
    wait_until(lambda: not cluster.running(), 15, "the end of all processes of this test")
