"""A task that hangs in a call of the file system is ended when its time is up, and its slot goes to the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from redis import Redis

from segments.domain.jobs.workers.pools import REPAIRS
from segments.gateways.worker_status import WorkerStatus
from tests.streams.conftest import valkey
from tests.waiting import poll

__all__ = ["valkey"]
ROOT = Path(__file__).resolve().parents[2]
HANG, GO_ON = "tests.hang", "tests.go_on"


@pytest.fixture
def worker(valkey: int, tmp_path: Path) -> Iterator[str]:
    """One process that does tasks, of the kind that repairs have; the address of its queue."""
    url = f"redis://127.0.0.1:{valkey}/9"
    given = {
        "REDIS_URL": url,
        "PINOTADMIN_DATA_DIR": str(tmp_path),
        "DATABASE_URL": f"sqlite://{tmp_path}/db.sqlite3",
        "CELERY_SKIP_CHECKS": "1",
    }
    command = [
        sys.executable,
        "-m",
        "celery",
        "-q",
        "-A",
        "tests.workers.hanging_app",
        "worker",
        "-Q",
        REPAIRS.queue,
        "-P",
        REPAIRS.kind,
        "-c",
        "1",
    ]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "-n", f"{REPAIRS.name}@test", "--without-gossip", "--without-mingle"],
            cwd=ROOT,
            stdout=log,
            stderr=log,
            env={**os.environ, **given},
        )
    yield url
    process.terminate()
    process.wait(30)


def test_a_task_that_hangs_in_a_call_gives_its_slot_up_and_is_named(worker: str, tmp_path: Path) -> None:
    fifo, sign = tmp_path / "fifo", tmp_path / "sign"
    os.mkfifo(fifo)
    sender = Celery(broker=worker)
    board = WorkerStatus(Redis.from_url(worker), "pinotadmin")
    sender.send_task(HANG, args=[str(fifo)], queue=REPAIRS.queue)
    sender.send_task(GO_ON, args=[str(sign)], queue=REPAIRS.queue)
    seen: Any = poll(
        lambda: [r for r in board.read(REPAIRS.name).running if r.task == HANG],
        60,
        "the task that hangs is on the board",
    )
    assert seen[0].about == str(fifo)
    poll(sign.exists, 60, "the next task has the slot")
    ended = poll(lambda: board.read_ended(0), 30, "what was ended is written down")
    assert [(task, about, limit) for task, about, limit, _ in ended] == [(HANG, str(fifo), 1.0)]
    poll(lambda: not board.read(REPAIRS.name).running, 30, "nothing runs any more")
    sender.close()
    with board.alone("deliver", 60) as first, board.alone("deliver", 60) as second:
        assert (first, second) == (True, False)
    with board.alone("deliver", 60) as later:
        assert later
