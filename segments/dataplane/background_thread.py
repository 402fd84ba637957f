"""Runs something once in the background of a process, where a failure is worth a line in the log
and nothing more.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Callable
from typing import Final

log = logging.getLogger(__name__)

#: Seconds for which the end of a process waits for work that has begun.
_AT_EXIT_S: Final = 30.0


def run_in_background(name: str, work: Callable[[], object], failed: str) -> threading.Thread:
    """``work`` in a thread of its own; ``failed`` is the sentence for the log. Returns the running thread.

    A process that ends meanwhile waits for it, for a while: Python unwinds a thread that it finds inside of DuckDB or
    Arrow at its end, and their C++ then aborts the whole process.
    """

    def run() -> None:
        try:
            work()
        except Exception:
            log.exception("%s", failed)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    atexit.register(thread.join, _AT_EXIT_S)
    return thread
