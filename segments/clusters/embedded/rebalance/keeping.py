"""The pass that carries running rebalances on: step after step while there is something to do."""

from __future__ import annotations

import logging
from typing import Final

from segments.clusters.embedded.rebalance.jobs import advance, ask_to_commit
from segments.domain.rebalance.job import Job
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.rebalance.job_records import read_jobs, tables_with_jobs

log = logging.getLogger(__name__)

#: Seconds that one run of the pass stays with rebalances that progress, and between two reads of them.
_STAY_S: Final = 20.0
_AGAIN_S: Final = 0.1
#: Seconds without a step after which the next run of the pass goes on.
_QUIET_S: Final = 2.0


def keep(ctx: Context) -> list[str]:
    """Carry every running rebalance on; a sentence for each that ended."""
    running = [table for table in tables_with_jobs(ctx) if _is_running(ctx, table)]
    sentences: list[str] = []
    began = progressed = ctx.timer.seconds()
    while running:
        now, has_moved = ctx.timer.seconds(), False
        for table in list(running):
            before, job = _step(ctx, table)
            if job is None or not job.is_open:
                running.remove(table)
                sentences += [f"Rebalance {job.id} of {table} is {job.status}: {job.message}"] if job else []
            elif before != job:
                progressed, has_moved = now, True
        if now - began > _STAY_S or (not has_moved and now - progressed >= _QUIET_S):
            break
        if not has_moved:
            ctx.timer.pause(_AGAIN_S)
    return sentences


def _step(ctx: Context, table: TableName) -> tuple[Job | None, Job | None]:
    """The table's newest job before and after one step. What fails is logged and tried by the next run."""
    before = read_jobs(ctx, table).newest
    try:
        return before, advance(ctx, table)
    except Exception:
        log.exception("The rebalance of %s could not be carried on; it is tried again.", table)
        return before, None


def _is_running(ctx: Context, table: TableName) -> bool:
    try:
        ask_to_commit(ctx, table)
        return read_jobs(ctx, table).running is not None
    except Exception:
        log.exception("The rebalances of %s cannot be read.", table)
        return False
