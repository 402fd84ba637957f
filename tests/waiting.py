"""How tests and benches wait: they check again and again, up to a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    look: Callable[[], T], seconds: float = 60.0, what: str = "the condition", *, every_s: float = 0.01
) -> T:
    """Check until the answer is true, and return it. AssertionError after ``seconds``; what ``look``
    raises is raised.
    """
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s, last seen {found!r}"
        time.sleep(every_s)
    return found


def poll(look: Callable[[], T], seconds: float, what: str) -> T:
    """As ``wait_until``, of something that may not be there yet: an exception counts as not true, and is reported when
    time is up.
    """
    deadline, last = time.monotonic() + seconds, ""
    while True:
        try:
            if found := look():
                return found
            last = repr(found)
        except Exception as error:  # noqa: BLE001  reported when time is up
            last = repr(error)
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s, last seen {last}"
        time.sleep(0.03)
