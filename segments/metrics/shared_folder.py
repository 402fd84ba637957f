"""The folder through which control-plane processes of one machine add their values up, one file per process and kind.

Files of processes that are gone count on. When there are many of them they are folded into one, so that workers that
are replaced again and again cost neither disk nor time.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from prometheus_client.mmap_dict import MmapedDict

from segments.metrics.private_file import open_private

#: Beyond so many files those of processes that are gone are folded.
MOST_FILES: Final = 64
#: In the place of a process id: no process has it.
_GONE: Final = "0"


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """While the block reads, nothing is folded; what has become too much is folded first."""
    with open_private(folder / ".lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if len(files := list(folder.glob("*.db"))) > MOST_FILES:
            _fold([file for file in files if not _lives(_pid(file))])
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def _fold(dead: list[Path]) -> None:
    """Add them to the file of all that are gone, of their kind: counters and histograms, which are sums."""
    for file in dead:
        kind, pid = file.stem.rsplit("_", 1)
        if pid == _GONE:
            continue
        kept = MmapedDict(str(file.with_name(f"{kind}_{_GONE}.db")))  # type: ignore[no-untyped-call] # not annotated
        for key, value, _, _ in MmapedDict.read_all_values_from_file(str(file)):  # type: ignore[no-untyped-call]
            kept.write_value(key, kept.read_value(key)[0] + value, 0.0)  # type: ignore[no-untyped-call]
        kept.close()  # type: ignore[no-untyped-call]
        file.unlink()


def _pid(file: Path) -> str:
    return file.stem.rsplit("_", 1)[1]


def _lives(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError, ValueError):
        return True
    return pid != _GONE
