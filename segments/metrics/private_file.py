"""Files of shared values that nobody else on the machine reads: they name tables."""

from __future__ import annotations

import os
from typing import IO, Any

from prometheus_client import mmap_dict


def open_private(path: str | os.PathLike[str], mode: str) -> IO[Any]:
    """``open`` for a file that only its owner reads and writes, if it is new."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))


def keep_values_private() -> None:
    """The library opens its files by the process's umask and offers no other way, so it gets another ``open``."""
    mmap_dict.open = open_private  # type: ignore[attr-defined] # the builtin, until it has one of its own
