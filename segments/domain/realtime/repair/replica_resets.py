"""Which replicas in ERROR a pass may reset: never the last ones that may still have the segment's rows.

A reset makes a replica begin again: what it read into memory goes, and what it has on disk is not trusted before it was
compared with the record. So it is safe only while the rows are somewhere else: in the deep store, on a replica that
serves them, or, for a segment that is consumed, in the stream (rule `last-copy-stays`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from segments.domain.segments.ideal_state import CONSUMING, ERROR, OFFLINE, ONLINE
from segments.domain.segments.segment_metadata import COMPLETED_STATUSES, IN_PROGRESS, SegmentMetadata

#: The pause behind a reset doubles with each that did not help.
FIRST_PAUSE_MS: Final = 60_000
LONGEST_PAUSE_MS: Final = 3_600_000


class Copy(StrEnum):
    """Where a segment's rows are besides the replicas in ERROR."""

    STORE = "the deep store has its file"
    REPLICA = "another replica serves it"
    STREAM = "the stream still has its rows"
    NONE = "no other copy is known"


@dataclass(frozen=True)
class Segment:
    """A segment as its reset is decided from. ``wanted``: its row of the ideal state; ``view``: {instance: what it
    reports}.

    ``stream_has_rows``: does the stream still have everything from its start offset on? None: it does not answer.
    """

    metadata: SegmentMetadata
    wanted: Mapping[str, str]
    view: Mapping[str, str]
    live: Collection[str]
    stream_has_rows: bool | None = None

    @property
    def in_error(self) -> list[str]:
        """Live replicas in ERROR that should serve. One on a server that is down cannot be reset."""
        return sorted(
            i for i, state in self.wanted.items() if state != OFFLINE and i in self.live and self.view.get(i) == ERROR
        )


@dataclass(frozen=True)
class Tries:
    """How many times in a row a replica was reset, and when for the last time (epoch milliseconds)."""

    count: int
    last_ms: int

    def is_due(self, now_ms: int) -> bool:
        """May it be reset again?"""
        return now_ms - self.last_ms >= self.pause_ms

    def is_over(self, now_ms: int) -> bool:
        """Has it been well for long enough to be forgotten? To be asked of a replica that is not in ERROR."""
        return now_ms - self.last_ms >= 2 * self.pause_ms

    def after(self, now_ms: int) -> Tries:
        """With one more reset."""
        return Tries(self.count + 1, now_ms)

    @property
    def pause_ms(self) -> int:
        """How long a reset gets to help."""
        return min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * int(2 ** min(max(self.count - 1, 0), 20)))


def other_copy(segment: Segment) -> Copy:
    """Where the rows are besides the replicas in ERROR: the first of these that holds."""
    status = segment.metadata.status
    if status in COMPLETED_STATUSES and segment.metadata.download_url:
        return Copy.STORE
    serving = {segment.view.get(i) for i in segment.live}
    if ONLINE in serving or (status == IN_PROGRESS and CONSUMING in serving):
        return Copy.REPLICA
    if status == IN_PROGRESS and segment.stream_has_rows:
        return Copy.STREAM
    return Copy.NONE


def resettable(segment: Segment) -> list[str]:
    """The replicas in ERROR that may be reset; none of them while no other copy of the rows is known."""
    return segment.in_error if other_copy(segment) is not Copy.NONE else []


def asks_stream(segment: Segment) -> bool:
    """Does the decision depend on what the stream still has?"""
    return bool(segment.in_error) and segment.metadata.status == IN_PROGRESS and other_copy(segment) is Copy.NONE
