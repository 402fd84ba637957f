"""Takes a data directory from everybody but its owner, also one that an earlier version or a person left open."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from segments.errors import InvalidInput

#: Whose content is small and secret enough to be checked file by file; nobody else reaches what lies in the others.
_WHOLE: Final = ("logs", "run", "zookeeper", "redis")
#: Made before SQLite makes it, which would let everybody read; what SQLite puts next to it has the same mode.
DATABASE: Final = "db.sqlite3"


def make_private(folder: Path) -> None:
    """Make the folder (0700), and take from group and others what they may do with it and what lies in it.

    InvalidInput when it is a folder that everybody shares, such as /tmp, or something in it belongs to somebody else.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if folder.stat().st_mode & stat.S_ISVTX:
        raise InvalidInput(
            f"{folder} is a folder that everybody shares.", remedy="Name one of your own with --data-dir."
        )
    _close(folder)
    os.close(os.open(folder / DATABASE, os.O_WRONLY | os.O_CREAT, 0o600))
    for entry in folder.iterdir():
        _close(entry)
        if entry.name in _WHOLE and not entry.is_symlink():
            for inner, folders, files in os.walk(entry):
                for name in (*folders, *files):
                    _close(Path(inner, name))


def _close(path: Path) -> None:
    try:
        found = path.lstat()
        if not stat.S_ISLNK(found.st_mode) and found.st_mode & 0o077:
            path.chmod(stat.S_IMODE(found.st_mode) & 0o700)
    except FileNotFoundError:
        return  # a file that came and went
    except PermissionError as error:
        text = f"{path} is open to others and belongs to another user."
        raise InvalidInput(
            text, remedy="Give the whole data directory to the user that runs 'up' (chown -R)."
        ) from error
