"""Ends in the background: requested once, then continued by the next pass or worker, until queries see the new side or
it failed (rule `all-replicas-first`).

Truth is a record per job in ZooKeeper, made in one transaction with a note on the lineage entry. ``advance`` is one
step: it can be cut anywhere and repeated anywhere; ending an entry that is COMPLETED changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from segments.domain.replacement import decisions as replacement
from segments.domain.replacement import lease
from segments.domain.replacement.end_job import END_JOB, END_LAST, EndJob, JobState
from segments.domain.replacement.lineage import END_REQUESTED, Entry, State
from segments.domain.replacement.replacement_settings import settings_or_default
from segments.domain.tables.table_config import TableConfig
from segments.errors import NotFound, PinotAdminError, PreconditionFailed, StateConflict
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.jobs.job_lock import sole_worker
from segments.services.jobs.queue import enqueue_clean_up
from segments.services.replacement.ends.end_job_record import (
    all_jobs,
    entry_of,
    final_segments,
    find_job,
    read_job,
    table_of,
)
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.replacement.protocol import end_replace
from segments.services.segments.online import check_online, poll_interval_s
from segments.services.segments.replica_report import report_replicas
from segments.services.tables.table_record import read_table_config
from segments.store import paths
from segments.store.base import Create, Replace, Write
from segments.store.update import update_transaction

log = logging.getLogger(__name__)

_DONE: Final = "Queries see the new segments."


def request_end(
    ctx: Context,
    table: TableName,
    entry_id: str,
    *,
    segments_to: Sequence[str] = (),
    cleanup: bool = False,
    override: str = "",
    actor: Actor,
    strict: bool = False,
) -> EndJob:
    """Note down that this entry is to be ended; returns the job, which somebody carries out. Asked again, the running
    job is the answer.

    What can be refused now is refused as by ``end_replace``: InvalidInput, NotFound, StateConflict or
    PreconditionFailed. An entry that is COMPLETED gives a job that is DONE.
    """
    request = _Request(ctx, table, entry_id, tuple(segments_to), cleanup, override, actor, ctx.new_id(), strict)
    target = {"cluster": ctx.cluster, "target": table.typed, "entry": entry_id}
    try:
        committed = update_transaction(ctx.store, request.attempt)
    except PinotAdminError as error:
        outcome = "refused" if error.permanent else "failed"
        audit.record(actor, "requestEnd", outcome=outcome, error=str(error), **target)
        raise
    if committed.changed:  # the same request again is no change
        audit.record(actor, "requestEnd", job=request.found[0].id, **target)
    return request.found[0]


@dataclass
class _Request:
    """One request for an end; ``found`` is the job that answers it."""

    ctx: Context
    table: TableName
    entry_id: str
    segments_to: tuple[str, ...]
    cleanup: bool
    override: str
    actor: Actor
    job_id: str
    strict: bool
    found: list[EndJob] = field(default_factory=list)

    def attempt(self) -> Sequence[Write] | None:
        """The job and the note on its entry; None when one is there already."""
        ctx, seen = self.ctx, observe(self.ctx, self.table)
        entry, now = seen.lineage.entry(self.entry_id), ctx.clock()
        known = read_job(ctx, entry.notes[END_JOB]) if END_JOB in entry.notes else None
        if known is not None and (known.is_open or known.state is JobState.DONE):
            self.found[:] = [known]
            return None
        replacement.end(  # refuses what can be refused now
            seen.lineage,
            self.entry_id,
            segments_to=self.segments_to,
            ideal=seen.ideal.maps,
            is_refresh=seen.config.is_refresh,
            now_ms=now,
            settings=settings_or_default(seen.config),
        )
        job = self._job(now)
        if entry.state is State.COMPLETED:
            self.found[:] = [job.finished(JobState.DONE, "It was ended already.", now)]
            return [Create(paths.job(job.id), self.found[0].to_record())]
        self.found[:] = [job]
        noted = entry.noted({END_JOB: job.id, END_LAST: None, END_REQUESTED: str(now), lease.WATCHED: None})
        return [Create(paths.job(job.id), job.to_record()), seen.write_lineage(seen.lineage.having(noted))]

    def _job(self, now: int) -> EndJob:
        actor, until = self.actor, now + int(self.ctx.limits.end_job_s * 1000)
        who = (actor.name, actor.reason, actor.address)
        what = (self.segments_to, self.override, self.cleanup)
        return EndJob(self.job_id, self.table.typed, self.entry_id, now, until, *who, *what, strict=self.strict)


def cancel_job(ctx: Context, job_id: str, actor: Actor) -> EndJob:
    """Give up an end that has not switched yet; the entry stays IN_PROGRESS. StateConflict when the job is over or just
    switched.
    """
    job = find_job(ctx, job_id)
    message = f"Cancelled by {actor.name}" + (f": {actor.reason}" if actor.reason else ".")
    done = _finish(ctx, job, JobState.CANCELLED, message) if job.is_open else job
    if not job.is_open or done.state is not JobState.CANCELLED:
        raise StateConflict(
            f"Job '{job_id}' is {done.state}: {done.message}".rstrip(": "),
            remedy="Revert the lineage entry instead." if done.state is JobState.DONE else "",
            job=job_id,
        )
    audit.record(actor, "cancelEnd", cluster=ctx.cluster, target=job.table, entry=job.entry, job=job_id)
    return done


def advance(ctx: Context, job_id: str) -> EndJob | None:
    """One step of a job: switch if it can be, fail it if it never can, else leave it. None when there is no such job.

    Only one caller at a time does so; the others leave it to that one.
    """
    job = read_job(ctx, job_id)
    if job is None or not job.is_open:
        return job
    with sole_worker(ctx, job_id) as is_ours:
        if not is_ours:
            return job
        job = read_job(ctx, job_id)
        return _advanced(ctx, job) if job is not None and job.is_open else job


def follow(ctx: Context, job_id: str, seconds: float) -> EndJob | None:
    """Step after step until the job is over or the time is up; what is left then is for ``advance_all``."""
    until, steps = ctx.timer.seconds() + seconds, 0
    while True:
        job, steps = advance(ctx, job_id), steps + 1
        if job is None or not job.is_open or ctx.timer.seconds() > until:
            return job
        ctx.timer.pause(poll_interval_s(ctx, steps))


def advance_all(ctx: Context) -> list[str]:
    """One step of every running job, and an end to the records of old ones; one sentence for each that is over now."""
    sentences = []
    for job in all_jobs(ctx):
        try:
            if job.is_open:
                now = advance(ctx, job.id)
                if now is not None and not now.is_open:
                    sentences.append(f"End of lineage entry {now.entry} of {now.table} is {now.state}: {now.message}")
            elif job.is_forgotten(ctx.clock()):
                ctx.store.delete(paths.job(job.id))
        except Exception:
            log.exception("Job %s could not be carried on; it is tried again.", job.id)
    return sentences


def run(ctx: Context, table: TableName) -> list[str]:
    """One step of the running jobs of a table."""
    return [
        f"End of lineage entry {job.entry} of {table} is {now.state}: {now.message or 'its replicas are waited for.'}"
        for job in all_jobs(ctx)
        if job.table == table.typed and job.is_open and (now := advance(ctx, job.id)) is not None
    ]


def _advanced(ctx: Context, job: EndJob) -> EndJob:
    table = table_of(job)
    try:
        config, entry = read_table_config(ctx, table), entry_of(ctx, job)
        if entry is None or entry.state is State.REVERTED:
            return _finish(
                ctx,
                job,
                JobState.FAILED,
                f"Lineage entry '{job.entry}' was {'reverted' if entry else 'removed'} meanwhile.",
            )
        if entry.state is State.IN_PROGRESS and not _is_ready(ctx, config, job, entry):
            return job
        actor = Actor(job.actor, job.reason or f"job {job.id}", job.address)
        end_replace(
            ctx,
            table,
            job.entry,
            segments_to=job.segments_to,
            cleanup=job.cleanup,
            actor=actor,
            override=job.override,
            guard=_guard(job),
            strict=job.strict,
        )
    except PinotAdminError as error:
        if not error.permanent:
            log.warning("Job %s is tried again: %s", job.id, error)
            return job
        return _finish(ctx, job, JobState.FAILED, str(error))
    done = _finish(ctx, job, JobState.DONE, _DONE)
    if job.cleanup:
        enqueue_clean_up(ctx, job.table)
    return done


def _is_ready(ctx: Context, config: TableConfig, job: EndJob, entry: Entry) -> bool:
    """May it be switched without waiting? PreconditionFailed when it never can: broken segments, or its time is up."""
    segments = final_segments(job, entry)
    seen = check_online(ctx, config.table, segments, settings_or_default(config).replicas_required)
    if not seen.waiting:
        return True
    if seen.broken:
        raise PreconditionFailed(
            f"Segment '{seen.broken[0]}' of table '{config.table}' could not be loaded by any server.",
            remedy="Check the servers' errors, upload it again, and end again; or revert the replacement.",
        )
    if ctx.clock() > job.deadline_ms:
        raise PreconditionFailed(
            f"{len(seen.waiting)} of {len(segments)} new segments of table '{config.table}' are not online after"
            f" {ctx.limits.end_job_s:.0f} s, e.g. '{seen.waiting[0]}'.",
            remedy="Check the servers, then end again.",
        )
    return False


def _guard(job: EndJob) -> Any:
    """An entry that is not COMPLETED may only be ended while it still carries this job: a cancelled end must not
    switch.
    """

    def check(entry: Entry) -> None:
        if entry.state is State.IN_PROGRESS and entry.notes.get(END_JOB) != job.id:
            raise StateConflict(
                f"The end of lineage entry '{entry.id}' was cancelled.", remedy="End it again.", entry=entry.id
            )

    return check


def _finish(ctx: Context, job: EndJob, state: JobState, message: str) -> EndJob:
    """Close the job, once; returns it as it is on record then. What fails or is cancelled lets go of the entry in the
    same transaction.

    A job whose entry is COMPLETED is DONE, whatever was to become of it.
    """
    closed: list[EndJob] = []

    def attempt() -> Sequence[Write] | None:
        node = ctx.store.get(paths.job(job.id))
        now = read_job(ctx, job.id)
        if node is None or now is None or not now.is_open:
            closed[:] = [now or job.finished(state, message, ctx.clock())]
            return None
        seen = _observed(ctx, job)
        entry = seen.lineage.entries.get(job.entry) if seen else None
        is_done = entry is not None and entry.state is State.COMPLETED
        outcome = (JobState.DONE, _DONE) if is_done else (state, message)
        closed[:] = [_counted(ctx, now, entry).finished(*outcome, ctx.clock())]
        writes: list[Write] = [Replace(paths.job(job.id), closed[0].to_record(), node.version)]
        if seen is None or entry is None or is_done:
            return writes
        let_go = entry.noted(
            {END_JOB: None, END_LAST: job.id, END_REQUESTED: None, lease.END_FINISHED: str(ctx.clock())}
        )
        return [*writes, seen.write_lineage(seen.lineage.having(let_go))]

    update_transaction(ctx.store, attempt)
    return closed[0]


def _observed(ctx: Context, job: EndJob) -> Observed | None:
    try:
        return observe(ctx, table_of(job))
    except NotFound:
        return None  # the table was dropped


def _counted(ctx: Context, job: EndJob, entry: Entry | None) -> EndJob:
    """The job with the replicas as they stand, so that the record shows how far it came."""
    if entry is None:
        return job
    report = report_replicas(ctx, table_of(job), final_segments(job, entry))
    return replace(job, online=report.online, wanted=report.wanted)
