"""Begin, carry on and stop rebalances: each step is decided from what is there now, and is one write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from segments.clusters.embedded.rebalance.observed import Observed, observe
from segments.clusters.embedded.rebalance.plan import Planned, make_plan
from segments.domain.rebalance.answers import (
    BALANCED,
    DRY_RUN,
    UNDER_WAY,
    Plan,
    Progress,
    Result,
    progress_of,
    result_of,
)
from segments.domain.rebalance.job import Job, Status, Who
from segments.domain.rebalance.options import Options
from segments.domain.rebalance.step import Step, next_step, stopped, waiting_for
from segments.errors import NotFound, StateConflict
from segments.metrics import upkeep as metrics
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.jobs.job_lock import sole_worker
from segments.services.realtime.realtime_servers import send_force_commit
from segments.services.rebalance.job_records import find_job, read_jobs
from segments.store.base import Write
from segments.store.update import update_transaction

log = logging.getLogger(__name__)

#: What became of a rebalance, as it is counted.
_OUTCOMES: Final = {Status.DONE: "done", Status.CANCELLED: "stopped"}


def preview(ctx: Context, table: TableName, options: Options, *, has_checks: bool) -> Result:
    """What would move."""
    planned = make_plan(ctx, table, options)
    return _answer(ctx.new_id(), planned.plan, options, DRY_RUN, Status.DONE, has_checks=has_checks)


def start(ctx: Context, table: TableName, options: Options, actor: Actor) -> Result:
    """Put a rebalance on record; the pass, or who follows it, takes its steps."""
    begun = _Begin(ctx, table, options, actor, ctx.new_id())
    update_transaction(ctx.store, begun.attempt)
    planned = begun.planned[0]
    result = _answer(begun.job_id, planned.plan, options, UNDER_WAY.format(begun.job_id), Status.IN_PROGRESS)
    if result.status is Status.IN_PROGRESS:
        metrics.REBALANCES.add(ctx.cluster, table.typed, "begun")
        send_force_commit(ctx, planned.seen.ideal, planned.commits)
    return result


def _answer(
    job_id: str, plan: Plan, options: Options, text: str, status: Status, *, has_checks: bool = False
) -> Result:
    if not plan.segments:
        return result_of(plan, job_id, Status.NO_OP, BALANCED, has_checks=has_checks)
    if plan.refusal and not options.allow_data_loss:
        return result_of(plan, job_id, Status.FAILED, plan.refusal, has_checks=has_checks)
    return result_of(plan, job_id, status, text, has_checks=has_checks)


@dataclass
class _Begin:
    """A request for a rebalance; ``planned`` is what it was decided from."""

    ctx: Context
    table: TableName
    options: Options
    actor: Actor
    job_id: str
    planned: list[Planned] = field(default_factory=list)

    def attempt(self) -> Sequence[Write] | None:
        """The record of the job; None when there is nothing to move, or it may not be moved so."""
        found = make_plan(self.ctx, self.table, self.options)
        self.planned[:] = [found]
        jobs = found.seen.jobs
        if jobs.find(self.job_id) is not None:
            return None  # this very request's write landed, its answer was lost
        if jobs.running is not None:
            way = f"DELETE /tables/{self.table.raw}/rebalance?type={self.table.type}"
            raise StateConflict(
                f"A rebalance of table '{self.table}' is running: {jobs.running.id}.",
                remedy=f"Wait for it, or stop it with {way}.",
                job=jobs.running.id,
            )
        if not found.plan.segments or (found.plan.refusal and not self.options.allow_data_loss):
            return None
        return [found.seen.write_jobs(jobs.having(self._job(found)))]

    def _job(self, found: Planned) -> Job:
        now, actor = self.ctx.clock(), self.actor
        who = Who(actor.name, actor.reason, actor.address)
        return Job(
            self.job_id, self.table.typed, who, now, now, self.options, found.placement, found.plan.size,
            commits=found.commits,
        )  # fmt: skip


def advance(ctx: Context, table: TableName) -> Job | None:
    """One step of the table's rebalance, if one can be taken; the newest job as it is then. Only one caller at a time
    takes it; that is for speed, the write is conditional.
    """
    with sole_worker(ctx, f"rebalance {table.typed}") as is_ours:
        if not is_ours:
            return read_jobs(ctx, table).newest
        return _write(ctx, table, lambda job, seen: next_step(job, seen.ideal, seen.serving, ctx.clock()))


def ask_to_commit(ctx: Context, table: TableName) -> None:
    """Have servers commit what the running rebalance waits for; they are asked again until it is done (rule
    `resent-until-done`).
    """
    running = read_jobs(ctx, table).running
    if running is not None and running.commits:
        ideal = observe(ctx, table).ideal
        send_force_commit(ctx, ideal, [s for s in running.commits if s in ideal.maps])


def stop(ctx: Context, table: TableName, actor: Actor) -> list[str]:
    """Stop what runs, wherever it is; the ids. NotFound: no such table."""
    running = observe(ctx, table).jobs.running
    if running is None:
        return []
    why = f"Stopped by {actor.name}" + (f": {actor.reason}" if actor.reason else "")
    _write(
        ctx,
        table,
        lambda job, seen: stopped(job, seen.ideal, seen.serving, Status.CANCELLED, why, ctx.clock()),
    )
    return [running.id] if read_jobs(ctx, table).running is None else []


def _write(ctx: Context, table: TableName, decide: Callable[[Job, Observed], Step | None]) -> Job | None:
    """Write the step that is decided for the running job; None of it when none runs, or none can be taken."""
    result: list[Job | None] = [None]
    decided: list[Job] = []

    def attempt() -> Sequence[Write] | None:
        seen = observe(ctx, table)
        result[:] = [seen.jobs.newest]
        if seen.jobs.running is None or (step := decide(seen.jobs.running, seen)) is None:
            return None
        result[:] = decided[:] = [step.job]
        return [seen.write_jobs(seen.jobs.having(step.job)), *seen.write_ideal(step.ideal)]

    update_transaction(ctx.store, attempt)
    if decided and decided[0] == result[0] and not decided[0].is_open:
        metrics.REBALANCES.add(ctx.cluster, table.typed, _OUTCOMES.get(decided[0].status, "failed"))
    return result[0]


def status(ctx: Context, job_id: str) -> Progress:
    """How far the job is, read now."""
    found = find_job(ctx, job_id)
    if found is not None:
        return _progress(ctx, *found)
    raise NotFound(
        f"Failed to find controller job id: {job_id}", remedy="The last 10 rebalances of each table are kept."
    )


def newest(ctx: Context, table: TableName) -> Progress | None:
    """The rebalance that runs, or ran last."""
    job = read_jobs(ctx, table).newest
    return _progress(ctx, table, job) if job is not None else None


def _progress(ctx: Context, table: TableName, job: Job) -> Progress:
    if not job.in_flight:
        return progress_of(job, 0, ctx.clock())
    seen = observe(ctx, table)
    waiting = sum(map(len, waiting_for(job, seen.ideal, seen.serving).values()))
    return progress_of(job, waiting, ctx.clock())
