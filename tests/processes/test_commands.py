"""``manage.py up`` and ``manage.py server`` as a person types them, where they refuse."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from segments.processes.lock import DataDirectoryLock
from tests.processes.conftest import PROJECT


def manage(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run manage.py to its end."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments], cwd=PROJECT, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_second_up_says_who_runs_and_stops_with_status_1(tmp_path: Path) -> None:
    lock = DataDirectoryLock(tmp_path / "up.lock")
    try:
        answer = manage("up", "--data-dir", str(tmp_path), "--port", "0")
    finally:
        lock.release()
    assert answer.returncode == 1
    assert f"The cluster in {tmp_path} is already running: its 'up' is process {os.getpid()}." in answer.stderr
    assert not (tmp_path / "secrets.json").exists()


def test_server_says_so_when_no_up_runs(tmp_path: Path) -> None:
    answer = manage("server", "kill", "server-1", "--data-dir", str(tmp_path))
    assert answer.returncode == 1
    assert f"No 'up' runs on {tmp_path}" in answer.stderr


def test_up_refuses_an_input_root_that_is_not_there(tmp_path: Path) -> None:
    answer = manage("up", "--data-dir", str(tmp_path / "data"), "--input-root", str(tmp_path / "nowhere"))
    assert answer.returncode == 1
    assert f"--input-root {tmp_path}/nowhere is not a folder." in answer.stderr
