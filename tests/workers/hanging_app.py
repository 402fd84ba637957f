"""The installation's Celery application with two more tasks, for a worker that a test starts: one that hangs, and one
that does not.
"""

from __future__ import annotations

from pathlib import Path

from pinotadmin.celery import app
from segments.domain.jobs.workers import pools

HANG, GO_ON = "tests.hang", "tests.go_on"


@app.task(name=HANG, time_limit=1, pool=pools.REPAIRS)
def hang(fifo: str) -> None:
    """As a file system that does not answer: opening a FIFO that nobody writes to never returns."""
    Path(fifo).read_bytes()


@app.task(name=GO_ON, time_limit=60, pool=pools.REPAIRS)
def go_on(path: str) -> None:
    """Leave a sign."""
    Path(path).touch()


__all__ = ["app"]
