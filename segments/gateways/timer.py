"""Seconds that only go forward, and a pause: the machine's own, unless a test passes another."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Timer:
    """``seconds`` reads a monotonic clock (only differences mean something); ``pause`` waits that many seconds."""

    seconds: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep


TIMER = Timer()
