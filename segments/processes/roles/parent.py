"""A process that ends when the one that started it is gone, also by kill -9."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

#: Of the environment: the process id of the one that started this process, where that is to hold.
PARENT: Final = "PINOTADMIN_PARENT"
#: Of Linux' prctl(2).
_PR_SET_PDEATHSIG: Final = 1


def end_with_parent() -> None:
    """SIGTERM when the parent ends. Without PINOTADMIN_PARENT, and where the system is no Linux, nothing."""
    parent = os.environ.get(PARENT, "")
    if not parent or sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):  # it ended before that
        sys.exit(1)
