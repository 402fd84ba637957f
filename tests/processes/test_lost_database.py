"""The file of the embedded database is deleted or replaced while everything runs: it is set up again, and only what
uses it starts again.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from segments.processes.control import ask
from segments.processes.machine.database_file import DatabaseFile
from segments.processes.machine.private_folder import DATABASE
from tests.processes.conftest import STEADY, Tiny
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="these tests look for processes in /proc")

_MAKE = f"import sys; open(sys.argv[1] + '/{DATABASE}', 'a').write('set up. ')"
_SETUP = {"name": "setup", "once": True, "code": _MAKE}


def test_a_database_that_was_deleted_is_set_up_again_and_what_uses_it_starts_again(tiny: Tiny) -> None:
    process = tiny.up(
        {"name": "zookeeper", "code": STEADY}, _SETUP, {"name": "web", "code": STEADY, "after": ["setup"]}
    )
    before = tiny.healthy()["pids"]
    database = tiny.folder / DATABASE
    assert database.read_text() == "set up. "
    database.unlink()
    wait_until(lambda: database.exists() and database.read_text() == "set up. ", 15, "the database is set up again")
    wait_until(lambda: tiny.healthy()["pids"].get("web") not in (None, before["web"]), 15, "another web process")
    assert tiny.healthy()["pids"]["zookeeper"] == before["zookeeper"]
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=15)
    assert (process.returncode, output.count("it is set up again")) == (0, 1)


def test_a_part_that_somebody_stopped_stays_down(tiny: Tiny) -> None:
    tiny.up(_SETUP, {"name": "web", "code": STEADY, "after": ["setup"]}, {"name": "mirror", "code": STEADY})
    tiny.healthy()
    ask(tiny.folder, "stop", "web")
    (tiny.folder / DATABASE).unlink()
    wait_until(lambda: (tiny.folder / DATABASE).exists(), 15, "the database is set up again")
    assert "is ready" in ask(tiny.folder, "start", "web")


def test_a_file_that_was_replaced_counts_as_lost_and_keeps_what_it_brings(tmp_path: Path) -> None:
    file, path = DatabaseFile(tmp_path), tmp_path / DATABASE
    path.write_text("old")
    file.remember()
    path.write_text("written to")
    assert not file.is_lost()
    (tmp_path / "new").write_text("another")
    (tmp_path / "new").rename(path)
    assert file.is_lost()
    file.begin_anew()
    assert (file.is_lost(), path.read_text()) == (False, "another")


def test_what_lies_next_to_a_deleted_file_goes_too(tmp_path: Path) -> None:
    file, path = DatabaseFile(tmp_path), tmp_path / DATABASE
    for ending in ("", "-wal", "-shm"):
        (tmp_path / f"{DATABASE}{ending}").write_text("old")
    file.remember()
    path.unlink()
    assert file.is_lost()
    file.begin_anew()
    assert [(f.name, f.stat().st_size) for f in tmp_path.iterdir()] == [(DATABASE, 0)]
    assert not file.is_lost()
