"""Rows of a stream's partition that no segment has, because they had left the stream or because they were skipped."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class UnreadRange:
    """Rows [start, end) of a partition. ``is_skipped``: they were still in the stream, and the table's config has them
    skipped where it is too far behind; ``count``: how many, where that is known.
    """

    partition: int
    start: str
    end: str
    is_skipped: bool = field(default=False, kw_only=True)
    count: int | None = field(default=None, kw_only=True)

    @property
    def sentence(self) -> str:
        """What happened to them, for people."""
        why = "were skipped: it was too far behind" if self.is_skipped else "had left the stream before they were read"
        return f"Partition {self.partition}: rows from {self.start} to {self.end} {why}."
