"""How a process that answers requests shares its Python interpreter between threads, and when it collects garbage."""

from __future__ import annotations

import gc
import sys
from typing import Final

#: Seconds for which a thread that computes keeps the interpreter while others wait for it; Python's own are 5 ms. A
#: query passes from thread to thread some ten times on its way, and waits that long each time while a commit is built.
_TURN_S: Final = 0.001


def take_short_turns() -> None:
    """Let threads that answer requests have the interpreter soon while others compute."""
    sys.setswitchinterval(_TURN_S)


def collect_seldom() -> None:
    """What is loaded by now stays: the garbage collector need not walk over it again and again, in the middle of
    requests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
