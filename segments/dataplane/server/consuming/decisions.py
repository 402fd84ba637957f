"""Pure decisions of a consuming segment: when it ends, what an answer of the controller means, how it goes ONLINE."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from segments.domain.realtime.streams.stream_offset import Offset
from segments.gateways import controller_protocol as protocol

#: Reasons to stop consuming, in the protocol's words.
TIME_LIMIT: Final = "timeLimit"
ROW_LIMIT: Final = "rowLimit"
END_OF_PARTITION: Final = "endOfPartitionGroup"
FORCE_COMMIT: Final = "forceCommitMessageReceived"
INDEX_FULL: Final = "indexCapacityThresholdBreached"

_HOUR_MS: Final = 3_600_000
#: A segment that is begun again after a restart consumes at least this long, whatever its age.
_LEAST_AGAIN_MS: Final = 600_000
#: Seconds before the first question after HOLD, how they grow, and Pinot's own pause, the longest.
_FIRST_HOLD_S: Final = 0.1
_HOLD_FACTOR: Final = 1.4
_LONGEST_HOLD_S: Final = 3.0


class State(Enum):
    """Life of a consuming segment on one server; the last four are final."""

    STARTING = "STARTING"
    CONSUMING = "INITIAL_CONSUMING"
    CATCHING_UP = "CATCHING_UP"
    HOLDING = "HOLDING"
    COMMITTING = "COMMITTING"
    RETAINING = "RETAINING"
    COMMITTED = "COMMITTED"
    RETAINED = "RETAINED"
    DISCARDED = "DISCARDED"
    ERROR = "ERROR"

    @property
    def is_final(self) -> bool:
        """Will its worker do nothing more?"""
        return self in (State.COMMITTED, State.RETAINED, State.DISCARDED, State.ERROR)

    @property
    def is_reading(self) -> bool:
        """Does it read from the stream?"""
        return self in (State.STARTING, State.CONSUMING, State.CATCHING_UP)


@dataclass(frozen=True)
class Limits:
    """When a segment is full. ``rows`` of this segment, ``until_ms``: clock time, ``bytes``: memory that
    it may take.
    """

    rows: int
    until_ms: int
    bytes: int

    @classmethod
    def of(cls, *, rows: int, created_ms: int, flush_ms: int, bytes_: int, now_ms: int) -> Limits:
        """The time limit counts from the segment's creation; one that is begun (again) late still gets 10 minutes."""
        return cls(rows, max(created_ms + flush_ms, now_ms + min(flush_ms, _LEAST_AGAIN_MS)), bytes_)

    def seen(self, progress: Progress, now_ms: int) -> Limits:
        """The limits from now on: while no message came, the time limit moves on by an hour whenever it is reached, so
        that an idle partition commits nothing. What comes then ends the segment with the hour, as in Pinot.
        """
        late_ms = now_ms - self.until_ms
        if progress.messages or late_ms < 0:
            return self
        return replace(self, until_ms=self.until_ms + (late_ms // _HOUR_MS + 1) * _HOUR_MS)


@dataclass(frozen=True)
class Progress:
    """How far a segment is. ``rows`` are indexed, ``messages`` were fetched (bad and filtered ones too)."""

    rows: int
    messages: int
    bytes: int
    is_end_of_partition: bool = False
    is_forced: bool = False


def stop_reason(limits: Limits, progress: Progress, now_ms: int) -> str | None:
    """Why the segment ends now, or None; in Pinot's order: time, rows, end of partition, force commit, capacity."""
    if now_ms >= limits.until_ms:
        return TIME_LIMIT
    if progress.rows >= limits.rows:
        return ROW_LIMIT
    if progress.is_end_of_partition:
        return END_OF_PARTITION
    if progress.is_forced:
        return FORCE_COMMIT
    return INDEX_FULL if progress.bytes >= limits.bytes else None


class Next(Enum):
    """What the worker does after an answer."""

    HOLD = "hold"
    CATCH_UP = "catch up"
    DISCARD = "discard"
    KEEP = "keep"
    COMMIT = "commit"


def next_step(status: str, current: Offset, winning: Offset | None) -> Next:
    """The action for the answer to ``segmentConsumed``. Everything that is not understood is a HOLD, as in Pinot."""
    match status:
        case protocol.CATCH_UP if winning is not None and winning > current:
            return Next.CATCH_UP
        case protocol.COMMIT:
            return Next.COMMIT
        case protocol.KEEP:
            return Next.KEEP
        case protocol.DISCARD:
            return Next.DISCARD
    return Next.HOLD


def hold_pause_s(asked: int) -> float:
    """Seconds until the controller is asked again, after ``asked`` (from 1) questions in a row that were answered with
    HOLD.

    Our controller answers HOLD for the fraction of a second that the other replica needs; Pinot's 3 s would stand in
    the way of a commit.
    """
    return min(_LONGEST_HOLD_S, _FIRST_HOLD_S * float(_HOLD_FACTOR ** min(asked - 1, 30)))


class Online(Enum):
    """How a segment that was consumed here becomes the committed one."""

    BUILD = "build"
    DOWNLOAD = "download"
    CATCH_UP = "catch up"


@dataclass(frozen=True)
class Committed:
    """What the record of a segment says whose end is fixed: its end, its CRC, and where it can be had (``""``: from
    peers only). Until the commit has ended, CRC and address are None.
    """

    end: Offset
    crc: int | None
    url: str | None


def online_step(
    committed: Committed, current: Offset, *, downloads_only: bool, has_peers: bool, may_catch_up: bool
) -> Online:
    """Build what was consumed here, consume the rest first, or fetch the committed file.

    ``downloads_only``: completionMode DOWNLOAD, which is followed where there is a place to download from;
    ``has_peers``: the table has a peer scheme; ``may_catch_up``: there is still a consumer and time.
    """
    if downloads_only and (committed.url or has_peers):
        return Online.DOWNLOAD
    if current == committed.end:
        return Online.BUILD
    return Online.CATCH_UP if current < committed.end and may_catch_up else Online.DOWNLOAD
