"""What is known of a background end: its state, how many replicas are online, which are not and why (rule
`all-replicas-first`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from segments.domain.replacement.end_job import EndJob
from segments.domain.replacement.lineage import Entry
from segments.domain.replacement.replacement_settings import settings_or_default
from segments.errors import NotFound
from segments.services.core.context import Context
from segments.services.replacement.ends.end_job_record import entry_of, final_segments, find_job, table_of
from segments.services.segments.replica_report import ErrorReader, ReplicaReport, report_replicas
from segments.services.tables.table_record import read_table_config

#: At most this many missing replicas are listed.
_LISTED: Final = 100


@dataclass(frozen=True)
class JobStatus:
    """A job and, while it runs, how its replicas stand now."""

    job: EndJob
    report: ReplicaReport | None = None

    def to_json(self) -> dict[str, Any]:
        """The document of GET /api/v1/jobs/{id}."""
        job, seen = self.job, self.report
        return {
            "id": job.id,
            "kind": "endReplaceSegments",
            "table": job.table,
            "segmentLineageEntryId": job.entry,
            "state": job.state.value,
            "message": job.message or self._waiting(),
            "actor": job.actor,
            "reason": job.reason,
            "requestedMs": job.requested_ms,
            "deadlineMs": job.deadline_ms,
            "finishedMs": job.finished_ms or None,
            "replicasOnline": seen.online if seen else job.online,
            "replicasWanted": seen.wanted if seen else job.wanted,
            "missing": [g.to_json() for g in seen.gaps[:_LISTED]] if seen else [],
            "missingCount": len(seen.gaps) if seen else 0,
        }

    def _waiting(self) -> str:
        if self.report is None:
            return ""
        return f"{self.report.online} of {self.report.wanted} replicas are online."


def job_status(ctx: Context, job_id: str, read_errors: ErrorReader | None = None) -> JobStatus:
    """The job as it stands, and which replicas it waits for. NotFound when there is none."""
    job = find_job(ctx, job_id)
    return status_of(ctx, job, entry_of(ctx, job) if job.is_open else None, read_errors)


def status_of(ctx: Context, job: EndJob, entry: Entry | None, read_errors: ErrorReader | None = None) -> JobStatus:
    """The same of a job and its entry that were read already; without the entry (it is gone) no replicas are listed."""
    if not job.is_open or entry is None:
        return JobStatus(job)
    try:
        table = table_of(job)
        required = settings_or_default(read_table_config(ctx, table)).replicas_required
        return JobStatus(job, report_replicas(ctx, table, final_segments(job, entry), read_errors, required=required))
    except NotFound:
        return JobStatus(job)
