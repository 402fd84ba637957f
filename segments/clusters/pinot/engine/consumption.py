"""Consumption of realtime tables: pause, resume, force commit, validation, on a real Pinot."""

from __future__ import annotations

from typing import NoReturn

from segments.clusters.pinot import consumption, findings, fixes
from segments.clusters.pinot import force_commit as commits
from segments.clusters.pinot.passes import ask_pinot
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core.context import Context


class PinotConsumptionEngine:
    """``segments.services.engine.consumption.ConsumptionEngine`` on a real Pinot."""

    pause_status = staticmethod(consumption.pause_status)
    pause_table = staticmethod(consumption.pause_table)
    resume_table = staticmethod(consumption.resume_table)
    pause_topics = staticmethod(consumption.pause_topics)
    resume_topics = staticmethod(consumption.resume_topics)
    pause_partitions = staticmethod(consumption.pause_partitions)
    resume_partitions = staticmethod(consumption.resume_partitions)
    waiting = staticmethod(consumption.waiting)
    changed_streams = staticmethod(consumption.changed_streams)
    force_commit = staticmethod(commits.force_commit)
    job_status = staticmethod(commits.job_status)
    consuming_segments_info = staticmethod(consumption.consuming_segments_info)
    pauseless_debug_info = staticmethod(consumption.pauseless_debug_info)
    keep = staticmethod(consumption.keep)
    validate = staticmethod(findings.validate)
    missing_files = staticmethod(findings.missing_files)
    require_set_aside = staticmethod(findings.require_set_aside)
    plan_fix = staticmethod(fixes.plan_fix)

    @staticmethod
    def reingest(ctx: Context, table: TableName, segment: str, *, accepts_loss: bool, by: str) -> NoReturn:
        """Not from here: Pinot's servers are asked by its own validation."""
        raise StateConflict(
            f"Segment '{segment}' cannot be reingested from here: Pinot's own validation has a server do it.",
            remedy="Run RealtimeSegmentValidationManager for its table.",
        )

    @staticmethod
    def repair(ctx: Context, table: TableName) -> list[str]:
        """Has Pinot's controllers run their validation now."""
        return ask_pinot(ctx, "RealtimeSegmentValidationManager", table)

    @staticmethod
    def keep_copies(ctx: Context, table: TableName) -> list[str]:
        """Nothing: Pinot's validation copies segments, too."""
        return []
