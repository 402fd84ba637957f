"""Notices that the file of the embedded database was deleted or replaced under the parts that have it open."""

from __future__ import annotations

from pathlib import Path

from segments.processes.machine.private_folder import DATABASE


class DatabaseFile:
    """``db.sqlite3`` of a data directory, and what SQLite keeps next to it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / DATABASE
        self._known: int | None = None

    def remember(self) -> None:
        """The file that is there now is the one that counts."""
        self._known = self._inode()

    def is_lost(self) -> bool:
        """Is it another file than the one that was remembered, or none?"""
        return self._known is not None and self._inode() != self._known

    def start_over(self) -> None:
        """Once nobody has it open: of a deleted one what is left goes too, and an empty one comes in its place."""
        if self._inode() is None:
            for ending in ("-wal", "-shm"):
                self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
            self._path.touch(mode=0o600)
        self.remember()

    def _inode(self) -> int | None:
        """None: there is none. A disk that does not say is no reason to start over."""
        try:
            return self._path.stat().st_ino
        except FileNotFoundError:
            return None
        except OSError:
            return self._known
