"""Where the children's words go: each line prefixed on the terminal, and a bounded file per child."""

from __future__ import annotations

import os
import queue
import sys
import threading
from io import FileIO
from pathlib import Path

#: Bytes of one log file; one older file of that size is kept next to it.
LOG_LIMIT = 5_000_000
_COLOURS = (36, 33, 35, 32, 34, 96, 93, 95, 92, 94)
_WIDTH = 10


class Terminal:
    """Writes lines to a file descriptor from a thread of its own, so that a stuck terminal never stops the supervisor.

    When nobody reads, lines beyond ``capacity`` are dropped (they are in the log files); when the descriptor is closed,
    all are.
    """

    def __init__(self, descriptor: int | None = None, *, colour: bool | None = None, capacity: int = 10_000) -> None:
        self._descriptor = sys.stdout.fileno() if descriptor is None else descriptor
        self._colour = os.isatty(self._descriptor) and "NO_COLOR" not in os.environ if colour is None else colour
        self._prefixes: dict[str, str] = {}
        self._lines: queue.Queue[bytes | None] = queue.Queue(capacity)
        self._thread = threading.Thread(target=self._drain, name="terminal", daemon=True)
        self._thread.start()

    def line(self, name: str, text: str) -> None:
        """One line of a child."""
        self._put(f"{self._prefix(name)} {text}\n")

    def plain(self, text: str) -> None:
        """Lines without a prefix (the banner)."""
        self._put(text + "\n")

    def _prefix(self, name: str) -> str:
        if name not in self._prefixes:
            padded = f"{name:<{_WIDTH}} |"
            number = _COLOURS[len(self._prefixes) % len(_COLOURS)]
            self._prefixes[name] = f"\x1b[{number}m{padded}\x1b[0m" if self._colour else padded
        return self._prefixes[name]

    def _put(self, text: str) -> None:
        try:
            self._lines.put_nowait(text.encode("utf-8", "replace"))
        except queue.Full:
            return

    def _drain(self) -> None:
        while (data := self._lines.get()) is not None:
            try:
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:
                # The terminal is gone; keep emptying the queue so that a later close() returns.
                continue

    def close(self, seconds: float = 2.0) -> None:
        """Write what is queued, but wait no longer than ``seconds``."""
        try:
            self._lines.put(None, timeout=seconds)
        except queue.Full:
            return
        self._thread.join(seconds)


class LogFile:
    """``logs/NAME.log``, moved to ``NAME.log.1`` when it grows over ``limit`` bytes."""

    def __init__(self, path: Path, limit: int = LOG_LIMIT) -> None:
        self._path = path
        self._limit = limit
        self._file = self._open()
        self._size = self._file.tell()

    def _open(self) -> FileIO:
        return FileIO(self._path, "ab", opener=lambda path, flags: os.open(path, flags, 0o600))

    def line(self, text: str) -> None:
        """Append one line. A full disk loses log lines, never the cluster."""
        data = text.encode("utf-8", "replace") + b"\n"
        if self._size + len(data) > self._limit and self._size:
            self._file.close()
            self._path.replace(self._path.with_name(self._path.name + ".1"))
            self._file = self._open()
            self._size = 0
        try:
            self._size += self._file.write(data) or 0
        except OSError:
            return

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class LineSplitter:
    """Cuts a byte stream into text lines; a line longer than ``limit`` bytes is cut."""

    def __init__(self, limit: int = 65_536) -> None:
        self._limit = limit
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """The lines that are complete with ``data``."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > self._limit:
            lines.append(self._rest)
            self._rest = b""
        return [_readable(line) for line in lines]

    def finish(self) -> list[str]:
        """The last line, if it had no end."""
        rest, self._rest = self._rest, b""
        return [_readable(rest)] if rest else []


def _readable(line: bytes) -> str:
    """What a terminal would show in the end: progress bars overwrite themselves with carriage returns."""
    return line.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
