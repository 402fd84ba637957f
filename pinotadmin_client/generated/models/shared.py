"""Models that more than one group of methods needs.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from msgspec import Struct


class SnapshotSummary(Struct, frozen=True, kw_only=True):
    """What queries see: segments, rows, bytes of their files, first and last time (epoch ms, null when unknown)."""

    segments: int
    rows: int
    bytes: int
    start_ms: int | None
    end_ms: int | None


class Status(Struct, frozen=True, kw_only=True):
    """What was done, in a sentence."""

    status: str
