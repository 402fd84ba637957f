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
#: Up to here a text grows by quarters, then it doubles: what doubles with every part or two has shown itself by then.
_SMALL_PARTS = 40


def seconds(read: Read, text: str) -> float:
    """Processor time of this thread to read a text, whether it is taken or refused."""
    gc.disable()  # it traverses what all other tests left behind
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
    """Empty when a text of four times as many parts takes at most proportionally longer; else what was measured."""
    size = 8
    while (
        size < parts
    ):  # step by step, the first ones small, because what grows exponentially never comes back from the full size
        took = seconds(read, make(size))
        if took > _SHORT_SECONDS and seconds(read, make(size)) > _SHORT_SECONDS:
            return f"{size} parts ({len(make(size))} characters) took {took:.2f} s"
        size += size // 4 if size < _SMALL_PARTS else size
    texts = [make(parts), make(parts * 4)]
    short = long = float("inf")
    for _ in range(_TRIES):
        long = min(long, seconds(read, texts[1]))
        if long < _FLOOR_SECONDS:
            return ""
        short = min(short, seconds(read, texts[0]))
        if long <= _MOST_RATIO * max(short, _FLOOR_SECONDS / 8):
            return ""
    return f"{len(texts[0])} characters {short:.4f} s, {len(texts[1])} characters {long:.4f} s"


def takes_less_than(limit: float, read: Read, text: str) -> bool:
    """Does one of three readings take less than ``limit`` seconds? The first that does is enough."""
    return any(seconds(read, text) < limit for _ in range(3))


def repeated(begin: str, part: str, end: str) -> Make:
    """Texts of one part many times over."""
    return lambda n: begin + part * n + end
