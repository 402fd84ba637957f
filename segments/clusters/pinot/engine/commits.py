"""Commits, on a real Pinot: its own controller has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from segments.domain.realtime.completion import Answer
from segments.domain.realtime.llc_name import LLCName
from segments.errors import StateConflict
from segments.names import TableName
from segments.segmentfile.format.info import SegmentInfo
from segments.services.core.context import Context
from segments.services.engine.commits import Received


class PinotCommitEngine:
    """``segments.services.engine.commits.CommitEngine`` on a real Pinot."""

    def answer(self, ctx: Context, received: Received) -> Answer:
        """StateConflict."""
        raise _not_here(ctx)

    def upload(self, ctx: Context, segment: str, tar: Path, offset: str | None) -> Answer:
        """StateConflict."""
        raise _not_here(ctx)

    def register(
        self, ctx: Context, table: TableName, name: LLCName, info: SegmentInfo, location: str, *,
        lost: Sequence[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        """StateConflict."""
        raise _not_here(ctx)


def _not_here(ctx: Context) -> StateConflict:
    return StateConflict(
        f"Cluster '{ctx.cluster}' has a controller of its own for the commits of its servers.",
        remedy="Send the message to that controller.",
    )
