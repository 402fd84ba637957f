"""Measures how the time to read a text grows with its length, steadily enough for a busy machine."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from segments.errors import PinotAdminError

Read = Callable[[str], object]
#: Reads a text of n parts: begin, part n times, end.
Make = Callable[[int], str]

#: Shorter times are not compared: they are the machine's more than the reader's.
_FLOOR_SECONDS = 0.004
#: A text of a few hundred bytes may never take as long; what doubles with a few more bytes is stopped here.
_SHORT_SECONDS = 0.5
#: Four times the text may take so many times the time: 4 is linear, 16 quadratic.
_MOST_RATIO = 9.0
_TRIES = 4


def seconds(read: Read, text: str) -> float:
    """Processor time of this thread to read a text, whether it is taken or refused."""
    gc.disable()  # it looks at what all other tests left behind
    began = time.thread_time()
    try:
        read(text)
    except (PinotAdminError, ValueError):
        pass  # refused
    finally:
        took = time.thread_time() - began
        gc.enable()
    return took


def grows_at_most_linearly(read: Read, make: Make, parts: int) -> str:
    """Empty when texts of ``parts``, twice and four times as many parts take at most proportionally longer; else what was measured."""
    size = 8
    while size < parts:  # step by step, because what grows exponentially never comes back from the full size
        took = seconds(read, make(size))
        if took > _SHORT_SECONDS and seconds(read, make(size)) > _SHORT_SECONDS:
            return f"{size} parts ({len(make(size))} characters) took {took:.2f} s"
        size += max(1, size // 4)
    texts = [make(parts * factor) for factor in (1, 2, 4)]
    best = [float("inf")] * 3
    for _ in range(_TRIES):
        best = [min(known, seconds(read, text)) for known, text in zip(best, texts, strict=True)]
        if best[2] < _FLOOR_SECONDS or best[2] <= _MOST_RATIO * max(best[0], _FLOOR_SECONDS / 8):
            return ""
    return f"{', '.join(f'{len(t)} characters {b:.4f} s' for t, b in zip(texts, best, strict=True))}"


def repeated(begin: str, part: str, end: str) -> Make:
    """Texts of one part many times over."""
    return lambda n: begin + part * n + end
