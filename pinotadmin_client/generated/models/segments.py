"""Models of segments.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field


class KeptSegment(Struct, frozen=True, kw_only=True):
    """A file that is kept of a deleted or replaced segment. Times are ISO 8601 in UTC."""

    segment: str
    file: str | None
    bytes: int | None
    deleted_at: str | None = field(name="deletedAt")
    deleted_by: str | None = field(name="deletedBy")
    reason: str | None
    expires_at: str | None = field(name="expiresAt")
    restorable: bool
    why: str
    replaced_by_crc: int | None = field(name="replacedByCrc")
    crc: int | None
    rows: int | None


class KeptSegments(Struct, frozen=True, kw_only=True):
    """One page of them; ``next`` is the offset of the following one."""

    table: str
    total: int
    next: int | None
    segments: list[KeptSegment]


class SegmentOutcome(Struct, frozen=True, kw_only=True):
    """What became of one segment, or would; ``remedy``: what to do where it was refused."""

    segment: str
    outcome: Literal["done", "failed", "refused", "unchanged"]
    message: str
    remedy: str
    bytes: int | None
    crc: int | None


class SegmentsChanged(Struct, frozen=True, kw_only=True):
    """What became of each segment; ``summary`` counts the outcomes."""

    table: str
    dry_run: bool = field(name="dryRun")
    summary: dict[str, int]
    segments: list[SegmentOutcome]
