"""Web processes of one host: each is started again alone, and none outlives the one that keeps them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from segments.management.commands import run
from segments.processes.roles.web_processes import KeptProcess, web_count
from tests.processes.conftest import PROJECT
from tests.waiting import poll

#: Notes its process id, and stays.
_STAYS = "import os, sys, time; print(os.getpid(), file=open(sys.argv[1], 'a'), flush=True); time.sleep(600)"
#: The same as a web process does it, below a parent that only waits.
_PARENT = f"""
import sys, time
from segments.processes.roles.web_processes import KeptProcess
child = "from segments.processes.roles.parent import end_with_parent; end_with_parent(); {_STAYS}"
KeptProcess([sys.executable, "-c", child, sys.argv[1]], {{}}).start()
time.sleep(600)
"""

#: A worker with a long task, of several that are one part.
_BUSY = f"""
import os, sys
from segments.processes.roles.together import run_together
child = "from segments.processes.roles.parent import end_with_parent; end_with_parent(patience_s=0.5); "
child += "import signal; signal.signal(signal.SIGTERM, lambda *_: None); {_STAYS}"
run_together([[sys.executable, "-c", child, sys.argv[1]]], os.environ)
"""


def _noted(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_process_that_is_killed_is_started_again_until_it_is_asked_to_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "pids"
    kept = KeptProcess([sys.executable, "-c", _STAYS, str(file)], os.environ)
    kept.start()
    try:
        poll(lambda: len(_noted(file)) == 1, 30, "the first process")
        os.kill(_noted(file)[0], signal.SIGKILL)
        poll(lambda: len(_noted(file)) == 2, 30, "another one in its place")
    finally:
        kept.ask_to_end()
        kept.end()
    assert not any(_lives(pid) for pid in _noted(file))
    assert caplog.messages == ["A web process ended with status -9; it is started again in 0.5 s."]


@pytest.mark.parametrize("program", [_PARENT, _BUSY], ids=["that ends at once", "that has something to finish"])
def test_none_outlives_the_one_that_keeps_them(tmp_path: Path, program: str) -> None:
    file = tmp_path / "pids"
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    parent = subprocess.Popen([sys.executable, "-c", program, str(file)], env=environment, cwd=tmp_path)
    try:
        poll(lambda: len(_noted(file)) == 1, 30, "the process")
    finally:
        parent.kill()
        parent.wait(20)
    poll(lambda: not _lives(_noted(file)[0]), 30, "its end")


@pytest.mark.parametrize("text", ["0", "17", "-1", "two"])
def test_a_number_of_processes_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        web_count(text)


def test_ports_that_do_not_exist_are_refused(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR, settings.PORT = tmp_path, 65_530
    monkeypatch.setattr(run, "_check", lambda _: None)
    with pytest.raises(CommandError, match="take PINOTADMIN_PORT and the 8 ports behind it"):
        call_command("run", "web", "--web-processes", "8")
