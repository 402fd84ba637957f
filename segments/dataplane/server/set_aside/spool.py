"""Reports that wait on disk until they were sent; a restarted server finds them again."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Waiting:
    """One report: its file, typed table, how many messages it holds, and its bytes."""

    path: Path
    table: str
    messages: int
    size: int


class Spool:
    """``<folder>/<table>/<number>-<messages>.json``; ``waiting`` is {table: oldest first}. Raises OSError. One thread
    writes at a time.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.waiting: dict[str, list[Waiting]] = {}
        self._number = 0
        for path in sorted(folder.glob("*/*")) if folder.is_dir() else ():
            self._take_up(path)

    @property
    def size(self) -> int:
        """Bytes of all that waits."""
        return sum(w.size for listed in self.waiting.values() for w in listed)

    def write(self, table: str, messages: int, body: bytes) -> Waiting:
        """Write a report so that a killed process comes back with it."""
        self._number += 1
        folder = self._folder / quote(table, safe="")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self._number:012d}-{messages}.json"
        draft = path.with_suffix(".new")
        with draft.open("wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
        return Waiting(path, table, messages, len(body))

    def add(self, report: Waiting) -> None:
        """It waits from now on."""
        self.waiting.setdefault(report.table, []).append(report)

    def remove(self, report: Waiting) -> None:
        """It was sent, or will never be."""
        report.path.unlink(missing_ok=True)
        left = [w for w in self.waiting.get(report.table, []) if w.path != report.path]
        self.waiting[report.table] = left
        if not left:
            del self.waiting[report.table]

    def _take_up(self, path: Path) -> None:
        number, _, messages = path.stem.partition("-")
        if path.suffix != ".json" or not (number.isdecimal() and messages.isdecimal()):
            path.unlink(missing_ok=True)  # was being written when the process ended
            return
        self._number = max(self._number, int(number))
        table = unquote(path.parent.name)
        self.waiting.setdefault(table, []).append(Waiting(path, table, int(messages), path.stat().st_size))
