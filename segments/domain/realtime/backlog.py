"""What waits in a partition of a stream, from one sample to the next: rows per second, growth, time to catch up, what
was lost unread, and which of it is worth a finding. Pure decisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from segments.domain.formats.durations import in_words
from segments.domain.formats.plural import counted
from segments.domain.upkeep.findings import Found

EXPIRING: Final = "stream-expiring"
LOST: Final = "stream-lost"
CODES: Final = (EXPIRING, LOST)
#: Unread messages that go within this, or within half of the time the stream keeps them, are a finding.
WARN_MS: Final = 6 * 3_600_000
ERROR_MS: Final = 3_600_000
#: Between two samples further apart no rate is computed: something else may have happened.
_LONGEST_GAP_S: Final = 300.0


@dataclass(frozen=True)
class Progress:
    """Where a partition's consumption was at one moment: the consuming segment's sequence number (of a partition that
    nothing consumes the next one's) and its rows.
    """

    at_s: float
    sequence: int | None
    rows: int | None


def rows_per_second(before: Progress, now: Progress, committed: Mapping[int, int | None]) -> float | None:
    """Rows stored between two moments, per second. ``committed``: {sequence number: rows} of the segments that were
    committed meanwhile. None: not known, as after a restart, when rows are read again.
    """
    seconds = now.at_s - before.at_s
    if before.sequence is None or now.sequence is None or before.rows is None or now.rows is None:
        return None
    if not 0 < seconds <= _LONGEST_GAP_S or now.sequence < before.sequence:
        return None
    counts = [committed.get(sequence) for sequence in range(before.sequence, now.sequence)]
    if any(count is None for count in counts):
        return None
    rows = sum(count or 0 for count in counts) + now.rows - before.rows
    return rows / seconds if rows >= 0 else None


def growth_per_minute(samples: Sequence[tuple[float, int | None]]) -> int | None:
    """Messages by which the backlog grew per minute (negative: it shrinks), from (epoch seconds, messages), oldest
    first. None: fewer than two are known.
    """
    known = [(at, count) for at, count in samples if count is not None]
    if len(known) < 2 or known[-1][0] <= known[0][0]:
        return None
    return round((known[-1][1] - known[0][1]) / (known[-1][0] - known[0][0]) * 60)


def catch_up_s(messages: int | None, rate: float | None) -> float | None:
    """Seconds to read what waits now at a rate of messages per second; None: not known."""
    if messages == 0:
        return 0.0
    return messages / rate if messages is not None and rate is not None and rate > 0 else None


def lost_unread(before: int | None, waited: int | None, still_there: int | None) -> int | None:
    """Messages that were gone before they were read, in all. ``before``: known of earlier samples; ``waited`` at the
    sample before, of which ``still_there`` are left. None: some, but they cannot be counted.
    """
    if before is None or waited is None or still_there is None:
        return None
    return before + max(0, waited - still_there)


@dataclass(frozen=True)
class Unread:
    """What waits in one partition. ``messages``: None when they cannot be counted. ``since_ms``: when the first was
    stored; ``expires_ms``: when it goes (both None: not known, or nothing waits). ``is_exact``: by a rule of the
    stream, not an estimate; ``keeps_ms``: how long it keeps messages. ``lost``: those that went unread; None: some.
    """

    partition: int
    messages: int | None
    since_ms: int | None
    expires_ms: int | None
    lost: int | None = 0
    is_exact: bool = True
    keeps_ms: int | None = None


def findings(table: str, unread: Sequence[Unread], now_ms: int) -> list[Found]:
    """One for each partition whose unread messages went, or soon will."""
    return [found for one in unread if (found := _finding(table, one, now_ms)) is not None]


def _finding(table: str, unread: Unread, now_ms: int) -> Found | None:
    partition, waiting = unread.partition, "" if unread.messages is None else f" {unread.messages:,} wait."
    if unread.lost != 0:
        count = "Messages" if unread.lost is None else counted(unread.lost, "message")
        text = f"{count} of partition {partition} left the stream of {table} before they were read.{waiting}"
        remedy = "Resume consumption, or have the stream keep messages longer; more are lost every moment."
        return Found(LOST, str(partition), "error", f"{text} {remedy}")
    if unread.expires_ms is None:
        return None
    left = unread.expires_ms - now_ms
    if left > min(WARN_MS, (unread.keeps_ms or 2 * WARN_MS) // 2):
        return None
    when = f"in about {in_words(max(0, left))}" if left > 0 else "at any moment"
    guess = "" if unread.is_exact else ", if the stream goes on being trimmed as it is"
    text = f"The first unread message of partition {partition} of {table} expires {when}{guess}.{waiting}"
    remedy = "Resume consumption, or have the stream keep messages longer."
    return Found(EXPIRING, str(partition), "error" if left <= ERROR_MS else "warning", f"{text} {remedy}")
