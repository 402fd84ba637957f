"""How a process of ours shares its Python interpreter between threads, and when it collects garbage."""

from __future__ import annotations

import atexit
import gc
import sys
from typing import Final

#: Seconds for which a thread that computes keeps the interpreter while others wait for it; Python's own are 5 ms. A
#: query passes from thread to thread some ten times on its way, and waits that long each time while a commit is built.
_TURN_S: Final = 0.001


def take_short_turns() -> None:
    """Let threads that answer requests have the interpreter soon while others compute."""
    sys.setswitchinterval(_TURN_S)


def load_undisturbed() -> None:
    """To be called before modules are loaded, until ``collect_seldom``: nearly nothing that they make is garbage, and
    looking for it takes a tenth of the start. Nothing, where ``collect_seldom`` was called.
    """
    if not gc.get_freeze_count():
        gc.set_threshold(50_000, 20, 20)


def collect_seldom() -> None:
    """What is loaded by now stays: the garbage collector need not walk over it again and again, in the middle of
    requests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    # What stays is not taken down at the end either, and DuckDB lists dozens of lines about what of it "leaked".
    atexit.register(gc.unfreeze)
