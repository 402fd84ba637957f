"""One supervisor per data directory: a file lock that the kernel releases when its holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from segments.errors import StateConflict, Unavailable


class DataDirectoryLock:
    """Holds ``DIR/up.lock`` as long as this object lives; not inherited by child processes."""

    def __init__(self, path: Path) -> None:
        """Take the lock. Raises StateConflict, naming the holder's pid, when another process holds it."""
        self._path = path
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._handle, 32).decode("ascii", "replace").strip() or "unknown"
            os.close(self._handle)
            raise StateConflict(
                f"The cluster in {path.parent} is already running: its 'up' is process {holder}.",
                remedy="Use that one, stop it first, or choose another directory with --data-dir.",
            ) from None
        os.ftruncate(self._handle, 0)
        os.write(self._handle, f"{os.getpid()}\n".encode())

    def release(self) -> None:
        """Let the next supervisor in."""
        os.close(self._handle)


def wait_until_unlocked(path: Path, seconds: float) -> None:
    """Wait until nobody holds ``path``: the guardian of a killed supervisor holds it while it still ends processes.

    Raises Unavailable after ``seconds``.
    """
    deadline = time.monotonic() + seconds
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise Unavailable(
                        f"Processes of the previous run in {path.parent.parent} are still ending.",
                        remedy="Try again in a moment.",
                    ) from None
                time.sleep(0.02)
            else:
                return
    finally:
        os.close(handle)
