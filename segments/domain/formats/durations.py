"""Periods of time as a person says them: ``45 s``, ``12 min``, ``3 h 20 min``, ``7 days``."""

from __future__ import annotations

from typing import Final

_SECOND: Final = 1_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def in_words(ms: int) -> str:
    """The period in the largest unit that fits, and the next smaller one where it adds something."""
    if ms < _MINUTE:
        return f"{ms // _SECOND} s" if ms >= _SECOND else f"{ms} ms"
    if ms < _HOUR:
        return _two(ms, _MINUTE, "min", _SECOND, "s") if ms < 10 * _MINUTE else f"{ms // _MINUTE} min"
    if ms < 2 * _DAY:
        return _two(ms, _HOUR, "h", _MINUTE, "min")
    return _two(ms, _DAY, "days", _HOUR, "h") if ms < 10 * _DAY else f"{ms // _DAY} days"


def _two(ms: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = ms % large // small
    return f"{ms // large} {large_name}" + (f" {rest} {small_name}" if rest else "")
