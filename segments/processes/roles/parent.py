"""A process that ends when the one that started it is gone, also by kill -9."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from typing import Final

#: Of the environment: the process id of the one that started this process, where that is to hold.
PARENT: Final = "PINOTADMIN_PARENT"
#: Of Linux' prctl(2).
_PR_SET_PDEATHSIG: Final = 1
#: Seconds that it may take to end by that signal, as when a parent that lives asks it to end.
PATIENCE_S: Final = 30.0
_LOOK_S: Final = 1.0


def end_with_parent(patience_s: float = PATIENCE_S) -> None:
    """SIGTERM when the parent ends, and an end without any more work ``patience_s`` later. Without PINOTADMIN_PARENT,
    and where the system is no Linux, nothing.
    """
    parent = os.environ.pop(PARENT, "")  # for this process alone, not for those that it starts
    if not parent or sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):  # it ended before that
        sys.exit(1)
    threading.Thread(target=_end_late, args=(int(parent), patience_s), name="parent", daemon=True).start()


def _end_late(parent: int, patience_s: float) -> None:
    """A worker that was asked to end first finishes what it is at, which may take hours."""
    while os.getppid() == parent:
        time.sleep(_LOOK_S)
    time.sleep(patience_s)
    os._exit(1)
