"""Start and cancel reingestions; a job is one segment that one server reads from the stream again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.pinot.capabilities import REINGESTION
from segments.domain.realtime.reingestion.job import Job, cancelled
from segments.domain.realtime.reingestion.rules import reopened
from segments.domain.segments import segment_metadata
from segments.domain.segments.segment_metadata import DONE
from segments.errors import PinotAdminError, StateConflict
from segments.metrics.consumption import REINGESTIONS_STARTED
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.realtime.reingestion.broken_segments import (
    Broken,
    broken_segments,
    check_broken,
    missing_range,
    read_broken,
)
from segments.store import paths
from segments.store.base import Versioned
from segments.store.records.instances import live_instances
from segments.store.records.reingestions import JOBS, all_jobs, jobs_of
from segments.store.update import update_record


@dataclass
class Started:
    """What came of a request for several segments: jobs by segment, and why not, by segment."""

    jobs: list[Job] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def why_not_offered(ctx: Context) -> str:
    """Why segments of this cluster cannot be reingested from here; "" when they can."""
    if ctx.engine.offers.own_processes:
        return ""
    if why := ctx.engine.lacks(ctx, REINGESTION):
        return why
    return (
        "Its servers are Pinot's, and its controller has no call for it: its own RealtimeSegmentValidationManager has "
        "them reingest what is lost. Run that task for the table to have it begin now."
    )


def reingest(ctx: Context, table: TableName, segment: str, *, accepts_loss: bool = False, actor: Actor) -> Job:
    """Have a live server read the segment's rows from the stream again; returns the job, which goes on behind.

    ``accepts_loss``: rows that the stream has lost are left out, which the segment's record and the audit then say.
    NotFound, InvalidInput, and StateConflict: the segment is not broken, is being reingested already, no server of it
    is alive, or rows are lost (``data["missing"]`` is the range).
    """
    with audit.recorded(ctx, actor, "reingestSegment", table.typed, segment=segment, acceptLoss=accepts_loss) as detail:
        if why := why_not_offered(ctx):
            raise StateConflict(f"Segment '{segment}' is not reingested from here.", remedy=why)
        found = read_broken(ctx, table, segment)
        check_free(ctx, found)
        check_broken(ctx, table, found)
        lost = missing_range(ctx, table, found)
        if lost is not None:
            detail["missing"] = list(lost)
            if not accepts_loss:
                raise _rows_missing(segment, lost)
        reopen(ctx, table, found)
        job = ctx.engine.consumption.reingest(ctx, table, segment, accepts_loss=accepts_loss, by=actor.name)
        detail.update(job=job.id, instance=job.instance)
    REINGESTIONS_STARTED.add(ctx.cluster, table.typed)
    return job


def reingest_all(
    ctx: Context, table: TableName, segments: Sequence[str] | None, *, accepts_loss: bool = False, actor: Actor
) -> Started:
    """The same for each of these segments, or (None) for all that are broken; one that is refused does not stop the
    others.
    """
    names = [found.name for found in broken_segments(ctx, table)] if segments is None else segments
    started = Started()
    for name in dict.fromkeys(names):
        try:
            started.jobs.append(reingest(ctx, table, name, accepts_loss=accepts_loss, actor=actor))
        except PinotAdminError as error:
            started.refused[name] = str(error)
    return started


def cancel(ctx: Context, table: TableName, segment: str, *, actor: Actor) -> Job:
    """Stop a reingestion; what it has read is thrown away. StateConflict when there is none under way."""
    with audit.recorded(ctx, actor, "cancelReingestion", table.typed, segment=segment) as detail:
        job = JOBS.change(
            ctx.store,
            paths.reingestion(table.typed, segment),
            lambda before: cancelled(before, segment, ctx.clock(), actor.name),
        )
        assert job is not None  # ``cancelled`` returns one
        detail["job"] = job.id
    return job


def table_jobs(ctx: Context, table: TableName) -> list[Job]:
    """The latest reingestion of every segment of the table, oldest first."""
    return jobs_of(ctx.store, table.typed)


def jobs_by_server(ctx: Context) -> Counter[str]:
    """How many reingestions each server has now."""
    return Counter(job.instance for job in all_jobs(ctx.store) if job.is_active)


def is_under_way(ctx: Context, job: Job | None) -> bool:
    """Is a live server at it?"""
    return job is not None and job.is_active and job.instance in live_instances(ctx.store)


def check_free(ctx: Context, found: Broken) -> None:
    """StateConflict while a live server reads the segment again."""
    job = found.job
    if job is not None and is_under_way(ctx, job):
        raise StateConflict(
            f"Segment '{job.segment}' is being reingested by {job.instance} already (job {job.id}).",
            remedy="Wait for it, or cancel it.",
            job=job.id,
        )


def reopen(ctx: Context, table: TableName, found: Broken) -> None:
    """A committed segment whose file is nowhere is as one whose commit never ended. StateConflict when its record was
    changed meanwhile.
    """
    if found.metadata.status != DONE:
        return

    def decide(node: Versioned | None) -> ZNRecord | None:
        now = segment_metadata.from_record(node.record) if node and node.record else None
        if now is None or now.fields != found.metadata.fields:
            raise StateConflict(f"Segment '{found.name}' was changed or deleted meanwhile.", remedy="Try again.")
        return reopened(now).to_record()

    update_record(ctx.store, paths.segment(table.typed, found.name), decide)


def _rows_missing(segment: str, lost: tuple[str, str]) -> StateConflict:
    return StateConflict(
        f"The stream has lost rows of segment '{segment}': those from {lost[0]} to {lost[1]}.",
        remedy="Restore the segment's file, or accept the loss: the segment is built without them.",
        missing=list(lost),
    )
