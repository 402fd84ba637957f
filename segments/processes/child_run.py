"""One life of a child process: started in a session of its own, its output read, nothing of it left at the end."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from segments.processes.guardian import Guardian
from segments.processes.logs import LineSplitter
from segments.processes.sessions import MARKER, kill_members, members, send, send_group

#: Seconds between two checks that the process still runs.
POLL_S = 0.05


@dataclass(frozen=True)
class Command:
    """What to run: arguments, what is added to the environment, and the folder."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    #: What its files lack of rights for others (-1: as the supervisor's own).
    umask: int = -1
    #: Descriptors that it gets besides.
    descriptors: tuple[int, ...] = ()


class Life:
    """A started process. ``pid`` is its process group and its session too."""

    def __init__(self, command: Command, marker: str, guardian: Guardian, say: Callable[[str], None]) -> None:
        """Start it. ``marker`` (TOKEN/NAME) goes into its environment; ``say`` gets every line it prints. Raises
        OSError.
        """
        self._marker = marker
        self._guardian = guardian
        self._say = say
        self._splitter = LineSplitter()
        self._reader, writer = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - commands of the supervisor's own plan
                command.arguments,
                stdin=subprocess.DEVNULL,
                stdout=writer,
                stderr=subprocess.STDOUT,
                cwd=command.folder,
                env={**os.environ, **command.environment, MARKER: marker},
                start_new_session=True,
                umask=command.umask,
                pass_fds=command.descriptors,
            )
        except OSError:
            os.close(self._reader)
            raise
        finally:
            os.close(writer)
        self.pid = self._process.pid
        self.born = time.monotonic()
        guardian.add(self.pid)
        os.set_blocking(self._reader, False)
        asyncio.get_running_loop().add_reader(self._reader, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._reader, 65_536)
        except BlockingIOError:
            return
        for line in self._splitter.feed(data):
            self._say(line)
        if not data:
            self._stop_reading()

    def _stop_reading(self) -> None:
        if self._reader < 0:
            return
        asyncio.get_running_loop().remove_reader(self._reader)
        os.close(self._reader)
        self._reader = -1
        for line in self._splitter.finish():
            self._say(line)

    async def ended(self) -> int:
        """Wait for the end of the process; its exit status, negative for a signal."""
        while (status := self._process.poll()) is None:
            await asyncio.sleep(POLL_S)
        return status

    def terminate(self) -> None:
        """SIGTERM to the process itself: it may still need its own children (Spark's JVM) to end in order; ``clean``
        ends them.
        """
        if self._process.returncode is None:
            send(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL to everything in the session, at once."""
        if self._process.returncode is None:
            send_group(self.pid, signal.SIGKILL)
        for pid in members({self.pid}, self._marker + "\0"):
            send(pid, signal.SIGKILL)

    def clean(self) -> None:
        """After the end: kill what the process left behind in its session, read its last words, forget it."""
        self.kill()
        # Blocks the loop for the few milliseconds that killed processes need to go.
        left = kill_members({self.pid}, self._marker + "\0", seconds=5.0)
        self._process.wait()
        for _ in range(1000):
            if self._reader < 0 or not _has_data(self._reader):
                break
            self._read()
        self._stop_reading()
        if left:
            # Uninterruptible, or not ours to kill: the guardian keeps them on its list.
            self._say(f"processes {left} of this child could not be ended")
        else:
            self._guardian.remove(self.pid)


def _has_data(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])
