"""How many rows a consuming segment may take: fixed, shared by a server's partitions, or tuned to a wished size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from segments.domain.realtime.completion.message import FORCE_COMMIT
from segments.domain.realtime.streams.stream_config import DEFAULT_FLUSH_ROWS, DEFAULT_SEGMENT_BYTES, FlushThresholds
from segments.domain.segments.segment_metadata import SegmentMetadata

#: Custom map of a segment's record: rows per byte as learned from the partition's segments so far. Ours.
RATIO_KEY: Final = "pinotadmin.rowsPerByte"
#: The same of one that started to commit: why it ended. Ours.
REASON_KEY: Final = "pinotadmin.endedBy"
_SMALLEST: Final = 10_000
_LARGEST: Final = 2**31 - 1
_NEW_SHARE: Final = 0.1


@dataclass(frozen=True)
class Committed:
    """A segment that was just committed: its rows and bytes, the limit it had, the ratio known before it, how long it
    consumed.
    """

    rows: int
    size_bytes: int
    limit: int
    ratio: float | None = None
    took_ms: int = 0
    reason: str | None = None

    @property
    def teaches(self) -> bool:
        """May the ratio be learned from it? Not from empty segments, nor from those that were cut short."""
        return self.rows > 0 and self.size_bytes > 0 and self.reason != FORCE_COMMIT


def is_tuned(flush: FlushThresholds) -> bool:
    """Does the limit follow the size of committed segments?"""
    if (flush.rows or 0) > 0 or (flush.segment_rows or 0) > 0:
        return False
    return flush.rows == 0 or (flush.segment_bytes or 0) > 0


def row_limit(flush: FlushThresholds, partitions_per_server: int) -> int:
    """The limit of a partition's first segment. ``partitions_per_server``: the most that one server consumes of the
    table.
    """
    share = max(1, partitions_per_server)
    if flush.rows is not None and flush.rows > 0:
        return max(1, flush.rows // share)
    if flush.segment_rows is not None and flush.segment_rows > 0:
        return flush.segment_rows
    return flush.initial_rows if is_tuned(flush) else max(1, DEFAULT_FLUSH_ROWS // share)


def next_row_limit(flush: FlushThresholds, partitions_per_server: int, last: Committed, chance: float = 0.5) -> int:
    """The limit of the segment after ``last``. ``chance`` in [0, 1) spreads tuned limits by ``flush.variance``."""
    if not is_tuned(flush):
        return row_limit(flush, partitions_per_server)
    if not last.teaches:
        return last.limit if last.limit > 0 else flush.initial_rows
    wished = flush.segment_bytes if flush.segment_bytes and flush.segment_bytes > 0 else DEFAULT_SEGMENT_BYTES
    if last.rows < last.limit and last.size_bytes < wished:
        rows = last.rows * flush.time_ms / last.took_ms if 0 < flush.time_ms < last.took_ms else last.rows
        return _within(rows * 1.1)
    return _within(_sized(last, wished) * (1 + flush.variance * (2 * chance - 1)))


def learned_ratio(last: Committed) -> float | None:
    """Rows per byte after this segment: a tenth of what it shows, the rest of what was known."""
    if not last.teaches:
        return last.ratio
    seen = last.rows / last.size_bytes
    return seen if last.ratio is None else _NEW_SHARE * seen + (1 - _NEW_SHARE) * last.ratio


def committed_of(metadata: SegmentMetadata) -> Committed:
    """What a committed segment's record has; for a successor that is made long after the commit."""
    limit = metadata.fields.get("segment.flush.threshold.size", "")
    return Committed(
        rows=metadata.total_docs or 0,
        size_bytes=metadata.size_bytes or 0,
        limit=int(limit) if limit.isdigit() else 0,
        ratio=ratio_of(metadata),
        reason=metadata.custom.get(REASON_KEY),
    )


def ratio_of(metadata: SegmentMetadata) -> float | None:
    """The ratio on a segment's record; None when there is none."""
    try:
        value = float(metadata.custom.get(RATIO_KEY, ""))
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


def ratio_items(last: Committed) -> dict[str, str]:
    """What the custom maps of a tuned table's records say of rows and bytes after this segment."""
    ratio = learned_ratio(last)
    return {RATIO_KEY: repr(ratio)} if ratio else {}


def lowered_limit(rows: int, limit: int) -> int:
    """The limit after a segment of ``rows`` rows could not be built; the same when it was lowered for them already."""
    half = max(1, rows // 2)
    return limit if 0 < limit <= half else max(1, min(half, limit // 2)) if limit > 0 else half


def _sized(last: Committed, wished: int) -> float:
    if last.size_bytes < wished / 2:
        return last.rows * 1.5
    if last.size_bytes > wished * 1.5:
        return last.rows / 2
    return wished * (learned_ratio(last) or 0)


def _within(rows: float) -> int:
    return int(max(_SMALLEST, min(_LARGEST, rows)))
