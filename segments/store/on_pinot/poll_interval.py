"""When to poll again a source that reports no changes: soon while something changes, seldom when it is slow, never
beyond a budget.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

#: Polls of which the quickest counts: an answer that had to wait behind what the mirror itself just requested slows
#: nothing down.
_POLLS: Final = 3


@dataclass(frozen=True)
class Terms:
    """How often one is asked.

    ``idle_s`` lie between two polls that find nothing; after one that finds something ``quick_polls`` follow,
    ``quick_s`` apart. All polls together make at most ``per_minute`` requests, and up to ``burst`` more when few were
    made before; after that they are no quicker than idle ones. Who is asked spends at most the part ``share`` of his
    time on us; ``longest_s`` is the longest pause.
    """

    idle_s: float = 1.0
    quick_s: float = 0.4
    quick_polls: int = 5
    per_minute: float = 300.0
    burst: float = 40.0
    share: float = 0.1
    longest_s: float = 30.0


class PollInterval:
    """Given each poll, it says how long to wait for the next. Pure but for what it remembers; times in seconds of any
    one clock.
    """

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._costs: deque[float] = deque(maxlen=_POLLS)
        self._left, self._at = terms.burst, 0.0
        self._quick = 0
        self._pause_s = terms.idle_s

    def polled(self, now: float, *, requests: int, took_s: float, cost_s: float, is_changed: bool) -> float:
        """Seconds until the next poll. ``took_s``: what the poll took; ``cost_s``: the part of it that was spent
        waiting for answers.
        """
        terms = self._terms
        self._costs.append(cost_s)
        self._quick = terms.quick_polls if is_changed else max(0, self._quick - 1)
        self._left = min(terms.burst, self._left + (now - self._at) * terms.per_minute / 60) - requests
        self._at = now
        wanted = terms.quick_s if self._quick and not self.is_spent else terms.idle_s
        self._pause_s = min(max(wanted, took_s, min(self._costs) / terms.share), terms.longest_s)
        return self._pause_s

    @property
    def is_spent(self) -> bool:
        """Are there no requests left but for polls as seldom as when nothing changes? Those are always within the
        budget.
        """
        return self._left < 0

    def failed(self) -> float:
        """Seconds until the next poll after one that got no answer: growing."""
        self._pause_s = min(max(self._pause_s, self._terms.idle_s) * 2, self._terms.longest_s)
        return self._pause_s
