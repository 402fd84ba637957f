"""Consumption of realtime tables: pause, resume, force commit, validation, on the embedded cluster."""

from __future__ import annotations

from segments.clusters.embedded import validation
from segments.clusters.embedded.realtime import consuming_info, fixes, pause, reingestion
from segments.clusters.embedded.realtime import force_commit as commits
from segments.clusters.embedded.realtime import repair as repairs
from segments.names import TableName
from segments.services.core.context import Context


class EmbeddedConsumptionEngine:
    """``segments.services.engine.consumption.ConsumptionEngine`` on the embedded cluster."""

    pause_status = staticmethod(pause.pause_status)
    pause_table = staticmethod(pause.pause_table)
    resume_table = staticmethod(pause.resume_table)
    pause_topics = staticmethod(pause.pause_topics)
    resume_topics = staticmethod(pause.resume_topics)
    pause_partitions = staticmethod(pause.pause_partitions)
    resume_partitions = staticmethod(pause.resume_partitions)
    waiting = staticmethod(pause.waiting)
    changed_streams = staticmethod(pause.changed_streams)
    force_commit = staticmethod(commits.force_commit)
    job_status = staticmethod(commits.job_status)
    consuming_segments_info = staticmethod(consuming_info.consuming_segments_info)
    pauseless_debug_info = staticmethod(consuming_info.pauseless_debug_info)
    reingest = staticmethod(reingestion.reingest)
    keep = staticmethod(repairs.keep)
    repair = staticmethod(repairs.repair)
    keep_copies = staticmethod(repairs.keep_copies)
    validate = staticmethod(validation.validate)
    missing_files = staticmethod(validation.missing_files)
    plan_fix = staticmethod(fixes.plan_fix)

    @staticmethod
    def require_set_aside(ctx: Context, table: TableName) -> None:
        """Messages that gave no row are kept."""
