"""Runs something once in the background of a process, where a failure is worth a line in the log
and nothing more.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)


def run_in_background(name: str, work: Callable[[], object], failed: str) -> threading.Thread:
    """``work`` in a thread of its own that keeps no process alive; ``failed`` is the sentence for the log. Returns the
    running thread.
    """

    def run() -> None:
        try:
            work()
        except Exception:
            log.exception("%s", failed)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread
