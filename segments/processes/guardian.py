"""Outlives the supervisor by a moment: ends every child when the supervisor is gone, even by kill -9.

Standard input is a pipe whose other end only the supervisor holds. ``+N`` announces session N, ``-N`` says that it has
ended. End of file means that the supervisor is no more. Run as ``python -S -m segments.processes.guardian TOKEN LOCK
FILE...``.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

from segments.processes.sessions import kill_members

_PROJECT = Path(__file__).resolve().parents[2]


class Guardian:
    """The supervisor's side: starts the guardian process, passes sessions to it, restarts it when
    somebody killed it.
    """

    def __init__(self, token: str, lock: Path, files: tuple[Path, ...] = ()) -> None:
        """``token`` begins the marker of every process of this run; ``lock`` is held while the guardian lives.

        ``files`` say that the cluster runs (endpoints.json, control.sock): the guardian removes them when it does not
        any more.
        """
        self._arguments = [token, str(lock), *map(str, files)]
        self._sessions: set[int] = set()
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        # Its own session: Ctrl-C in the terminal must not reach it. -S: no site packages, up in 20 ms.
        return subprocess.Popen(  # noqa: S603 - our own module with our own arguments
            [sys.executable, "-S", "-m", "segments.processes.guardian", *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd=_PROJECT,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Pid of the guardian process."""
        return self._process.pid

    def add(self, session: int) -> None:
        """A child leads this session now."""
        self._sessions.add(session)
        self._send(f"+{session}\n")

    def remove(self, session: int) -> None:
        """Nothing of this session runs any more; its number may be reused by strangers."""
        self._sessions.discard(session)
        self._send(f"-{session}\n")

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            self.ensure_alive()

    def ensure_alive(self) -> None:
        """Start it again if it died, and pass everything to it once more."""
        if self._process.poll() is None:
            return
        self._process = self._start()
        for session in sorted(self._sessions):
            self._send(f"+{session}\n")

    def close(self, seconds: float = 15.0) -> None:
        """Let it make a last round for leftovers and end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(seconds)


def watch(token: str, lock: Path, files: list[Path]) -> None:
    """Read announcements until end of file, then remove the files and end what is left of this run."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    sessions: set[int] = set()
    for raw in sys.stdin.buffer:
        line = raw.decode("ascii", "replace").strip()
        if line.startswith("+"):
            sessions.add(int(line[1:]))
        elif line.startswith("-"):
            sessions.discard(int(line[1:]))
    for file in files:
        file.unlink(missing_ok=True)
    kill_members(sessions, token + "/", seconds=30.0)


if __name__ == "__main__":
    watch(sys.argv[1], Path(sys.argv[2]), [Path(argument) for argument in sys.argv[3:]])
