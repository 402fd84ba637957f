"""A limit for what runs in a thread, which nobody can end: it is left behind, and its slot goes to others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from django.db import connections

from segments.traces import carried

T = TypeVar("T")


class TimeIsUp(Exception):
    """The work did not come to its end in time; its thread may still be at it."""


def within(seconds: float, work: Callable[[], T], name: str) -> T:
    """What ``work`` returns or raises; it runs in a thread of that name, for the request that this one is
    for. TimeIsUp when it takes longer: the caller sees to it that whatever the thread does later comes to nothing.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001  raised again by the caller
            errors.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=carried(run), name=name, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeIsUp
    return results[0]
