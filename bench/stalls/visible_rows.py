"""How long visible rows stand still where one segment follows another, and in the middle of segments."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.realtime_table import QuickSql, Table, spread

#: Rows of a segment.
SEGMENT_ROWS = 5_000


@dataclass
class Seen:
    """Of each partition when which row was the newest visible one; how often one was seen that is older; ``queries``:
    seconds of each query that asked.
    """

    times: dict[int, list[tuple[float, int]]] = field(default_factory=dict)
    backwards: int = 0
    queries: list[float] = field(default_factory=list)

    def add(self, newest: Mapping[int, int], now: float) -> None:
        """What a query saw of all partitions."""
        for partition, row in newest.items():
            series = self.times.setdefault(partition, [])
            before = series[-1][1] if series else -1
            self.backwards += row < before
            if row > before:
                series.append((now, row))

    def steps(self, crosses: Callable[[int, int], bool]) -> list[float]:
        """Seconds from one change of the newest row to the next, of those changes."""
        return [
            later - earlier
            for series in self.times.values()
            for (earlier, low), (later, high) in itertools.pairwise(series)
            if crosses(low, high)
        ]

    def longest_after(self, crosses: Callable[[int, int], bool], seconds: float) -> list[float]:
        """Seconds of the longest step that began within so many seconds of one of those changes, this one included."""
        found = []
        for series in self.times.values():
            steps = [(earlier, later - earlier) for (earlier, _), (later, _) in itertools.pairwise(series)]
            for (at, low), (_, high) in itertools.pairwise(series):
                if crosses(low, high):
                    found.append(max(step for begins, step in steps if at <= begins < at + seconds))
        return found

    @property
    def longest(self) -> float:
        """Seconds of the longest such step of all."""
        return max(self.steps(lambda low, high: high > low), default=0.0)


def watch(table: Table, quick: QuickSql, until: Callable[[], bool]) -> Seen:
    """Ask for the newest rows again and again."""
    seen = Seen()
    while not until():
        began = time.perf_counter()
        newest = table.newest(quick)
        seen.add(newest, time.perf_counter())
        seen.queries.append(time.perf_counter() - began)
        time.sleep(0.002)
    return seen


def figures(what: str, rival: str, seen: Seen) -> Sequence[str]:
    """Lines to print. A step that is over a certain row is longer than others, as the longest ones cover most rows:
    what a commit costs is the difference to the steps over the middle of segments.
    """
    half = SEGMENT_ROWS // 2

    def is_end(low: int, high: int) -> bool:
        return low // SEGMENT_ROWS < high // SEGMENT_ROWS

    def is_middle(low: int, high: int) -> bool:
        return is_end(low + half, high + half)

    ends, middles = seen.steps(is_end), seen.steps(is_middle)
    every = seen.steps(lambda low, high: high > low)
    return (
        f"  stall of visible rows at {what}, {len(ends)} of them: {spread(ends)}   Pinot 1.5.1: {rival}",
        f"  the longest within a second of it: {spread(seen.longest_after(is_end, 1.0))}",
        f"  the same in the middle of segments: {spread(middles)}, the longest within a second of it: "
        f"{spread(seen.longest_after(is_middle, 1.0))}",
        f"  from one change of the visible rows to the next, everywhere: {spread(every)}",
        f"  the query that asks for them: {spread(seen.queries)}",
        f"  visible rows went back {seen.backwards} times",
    )
