"""Checks on the hidden new segments right before the switch (write-audit-publish, B11)."""

from __future__ import annotations

from segments.domain.lineage import Entry
from segments.names import TableName
from segments.services.context import Actor, Context


def require_passed(ctx: Context, table: TableName, entry: Entry, *, override: str, actor: Actor) -> None:
    """Called by end once all new segments are online and before queries switch; a refusal raised here keeps the old side."""
