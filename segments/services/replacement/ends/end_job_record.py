"""The records of background ends in ZooKeeper, and the lineage entries they speak of."""

from __future__ import annotations

from segments.domain.replacement import end_job
from segments.domain.replacement.end_job import END_JOB, END_LAST, EndJob
from segments.domain.replacement.lineage import Entry, State
from segments.errors import NotFound
from segments.names import TableName, split_table_name
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import read_lineage
from segments.store import paths


def read_job(ctx: Context, job_id: str) -> EndJob | None:
    """The job, None when there is none."""
    node = ctx.store.get(paths.job(job_id))
    return end_job.from_record(node.record) if node and node.record else None


def find_job(ctx: Context, job_id: str) -> EndJob:
    """The job; NotFound names the id."""
    found = read_job(ctx, job_id) if job_id and "/" not in job_id else None
    if found is None:
        raise NotFound(
            f"Job '{job_id}' does not exist.",
            remedy="Finished jobs are kept for a week; check the lineage entry instead.",
        )
    return found


def all_jobs(ctx: Context) -> list[EndJob]:
    """Every job on record, oldest first."""
    nodes = ctx.store.get_many([paths.job(j) for j in ctx.store.children(paths.JOBS)])
    return sorted(
        (end_job.from_record(n.record) for n in nodes if n and n.record), key=lambda j: (j.requested_ms, j.id)
    )


def job_of_entry(ctx: Context, entry: Entry) -> EndJob | None:
    """The background end that runs or has ended the entry, or, while it is IN_PROGRESS, the one that failed last or was
    cancelled.

    None when there was none, its record is gone, or the entry was reverted: what the job says of the new side is no
    longer so.
    """
    noted = {State.IN_PROGRESS: (END_JOB, END_LAST), State.COMPLETED: (END_JOB,), State.REVERTED: ()}[entry.state]
    job_id = next((entry.notes[name] for name in noted if name in entry.notes), None)
    return read_job(ctx, job_id) if job_id else None


def table_of(job: EndJob) -> TableName:
    """The table whose entry the job ends."""
    raw, kind = split_table_name(job.table)
    assert kind is not None  # written from a typed name
    return TableName(raw, kind)


def entry_of(ctx: Context, job: EndJob) -> Entry | None:
    """The entry as it is now; None when it is gone."""
    lineage = read_lineage(ctx, table_of(job))
    return lineage.entries.get(job.entry) if lineage else None


def final_segments(job: EndJob, entry: Entry) -> tuple[str, ...]:
    """The new side that the job switches to."""
    return job.segments_to or entry.segments_to
