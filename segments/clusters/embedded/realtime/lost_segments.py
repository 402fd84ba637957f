"""What a pass does without a person about segments whose commit never ended and that no server has: they are read
again, one job each."""

from __future__ import annotations

from typing import Final

from segments.domain.formats.plural import counted
from segments.domain.realtime.reingestion.job import Job, State
from segments.errors import PinotAdminError
from segments.names import TableName
from segments.services.core.context import SYSTEM, Context
from segments.services.realtime.reingestion.jobs import is_under_way, reingest
from segments.store import paths
from segments.store.records.reingestions import jobs_of, read_job

#: A failed job is tried again after so long, unless rows are missing in the stream: then a person decides.
_TRY_AGAIN_MS: Final = 120_000
#: Jobs that ended stay on record for so long.
_KEPT_MS: Final = 7 * 86_400_000


def reingest_lost(ctx: Context, table: TableName, segment: str) -> tuple[str, str]:
    """Begin to read a segment again that no server has, or see that it is being read: (what was done, what is to be
    known), each a sentence or "". Whether the table's mode allows it is the caller's question.
    """
    job = read_job(ctx.store, table.typed, segment)
    if job is not None and is_under_way(ctx, job):
        return "", f"It is being reingested by {job.instance}: {counted(job.rows, 'row')}, at {job.at} of {job.end}."
    why = _left_to_a_person(job, ctx.clock()) if job is not None else ""
    if why:
        return "", why
    try:
        started = reingest(ctx, table, segment, actor=SYSTEM)
    except PinotAdminError as error:
        return "", str(error)
    return f"Segment {segment}, which no server has, is read from the stream again by {started.instance}.", ""


def forget_old_jobs(ctx: Context, table: TableName) -> list[str]:
    """Remove jobs that ended long ago, and those of segments that are gone. Says nothing: nobody misses them."""
    jobs = jobs_of(ctx.store, table.typed)
    records = ctx.store.get_many([paths.segment(table.typed, job.segment) for job in jobs])
    for job, record in zip(jobs, records, strict=True):
        if record is None or (not job.is_active and ctx.clock() - job.updated_ms > _KEPT_MS):
            ctx.store.delete(paths.reingestion(table.typed, job.segment))
    return []


def _left_to_a_person(job: Job, now_ms: int) -> str:
    """Why a pass does not begin it again; "" when it does."""
    if job.state is State.CANCELLED:
        return f"{job.error} Reingest it when it is wanted again."
    if job.state is not State.FAILED:
        return ""
    if job.missing is not None:
        return (
            f"The stream has lost its rows from {job.missing[0]} to {job.missing[1]}: restore its file, or reingest it"
            " and accept the loss."
        )
    return "" if now_ms - job.updated_ms > _TRY_AGAIN_MS else f"Its reingestion failed and is tried again: {job.error}"
