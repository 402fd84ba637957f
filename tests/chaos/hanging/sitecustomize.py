"""For the processes of an installation under test: while a marker file is there, every call into the deep store hangs
in a system call (it opens a FIFO that nobody writes to), as over a network file system whose server is gone. While
another one is there, every file takes the seconds that it says to be written.

Python imports this module at its start when its folder is on PYTHONPATH.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

FIFO = os.environ.get("HANGING_STORE_FIFO", "")


class Hanging:
    """A file system that answers while there is no marker."""

    def __init__(self, files: Any) -> None:
        self._files = files

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **more: Any) -> Any:
            if os.path.exists(f"{FIFO}.hangs"):
                Path(FIFO).read_bytes()
            if name == "open_output_stream" and os.path.exists(f"{FIFO}.slow"):
                threading.Event().wait(float(Path(f"{FIFO}.slow").read_text()))
            return getattr(self._files, name)(*arguments, **more)

        return call


if FIFO:
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
    from segments.gateways.deep_store import bounded_files

    _begin = bounded_files.BoundedFiles.__init__
    bounded_files.BoundedFiles.__init__ = lambda self, files, *more: _begin(self, Hanging(files), *more)  # type: ignore[method-assign]
