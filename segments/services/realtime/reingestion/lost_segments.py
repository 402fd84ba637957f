"""What a pass does about lost segments without a person: those whose commit never ended and that nobody holds are read
again, where the table's mode of disaster recovery allows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from segments.domain.realtime.reingestion.job import Job, State
from segments.domain.realtime.reingestion.rules import cluster_mode, reingestion_allowed
from segments.domain.segments.segment_metadata import COMMITTING
from segments.domain.upkeep.findings import Found
from segments.errors import PinotAdminError
from segments.names import TableName
from segments.services.clusters.cluster_settings import read_settings
from segments.services.core.context import SYSTEM, Context
from segments.services.realtime.reingestion.broken_segments import Broken, broken_segments
from segments.services.realtime.reingestion.jobs import is_under_way, reingest
from segments.services.tables.table_record import read_table_config
from segments.services.upkeep.validation import CONSUMPTION
from segments.store import paths
from segments.store.records.reingestions import jobs_of

#: Findings of segments that nobody holds, one for each.
LOST: Final = CONSUMPTION + "lost-segment"
#: A failed job is tried again after so long, unless rows are missing in the stream: then a person decides.
_TRY_AGAIN_MS: Final = 120_000
#: Jobs that ended stay on record for so long.
_KEPT_MS: Final = 7 * 86_400_000


@dataclass
class Recovery:
    """What was done, a sentence each, and what a person should know."""

    sentences: list[str] = field(default_factory=list)
    findings: list[Found] = field(default_factory=list)


def reingest_lost(ctx: Context, table: TableName, *, override: bool | None = None) -> Recovery:
    """Start a reingestion of every COMMITTING segment of the table all of whose replicas are in ERROR; again where its
    server died. ``override``: see ``reingestion_allowed``.

    Committed segments whose file is gone are reported; their records are changed by a person only.
    """
    recovery = Recovery()
    is_allowed = reingestion_allowed(read_table_config(ctx, table), cluster_mode(read_settings(ctx)), override=override)
    for found in broken_segments(ctx, table):
        _recover(ctx, table, found, recovery, is_allowed=is_allowed)
    _forget_old(ctx, table)
    return recovery


def _recover(ctx: Context, table: TableName, found: Broken, recovery: Recovery, *, is_allowed: bool) -> None:
    job, name = found.job, found.name
    if job is not None and is_under_way(ctx, job):
        text = f"Segment {name} is being reingested by {job.instance}: {job.rows:,} rows, at {job.at} of {job.end}."
        recovery.findings.append(Found(LOST, name, "warning", text))
        return
    why = _left_to_a_person(found, is_allowed=is_allowed, now_ms=ctx.clock())
    if why:
        recovery.findings.append(Found(LOST, name, "error", f"No server has segment {name}. {why}"))
        return
    try:
        started = reingest(ctx, table, name, actor=SYSTEM)
        recovery.sentences.append(f"Segment {name}, which no server has, is reingested by {started.instance}.")
    except PinotAdminError as error:
        recovery.findings.append(Found(LOST, name, "error", f"No server has segment {name}. {error}"))


def _left_to_a_person(found: Broken, *, is_allowed: bool, now_ms: int) -> str:
    """Why a pass does not begin it; "" when it does."""
    job = found.job
    if found.metadata.status != COMMITTING:
        return "It was committed; if its file is gone, too, reingest it or restore the file."
    if not is_allowed:
        return (
            "Its table has partial upsert or deduplication, so it is not reingested without a person"
            " (disasterRecoveryMode DEFAULT): reingest it, or delete from its sequence number on."
        )
    return _of_last_job(job, now_ms) if job is not None else ""


def _of_last_job(job: Job, now_ms: int) -> str:
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


def _forget_old(ctx: Context, table: TableName) -> None:
    """Jobs that ended long ago, and those of segments that are gone."""
    jobs = jobs_of(ctx.store, table.typed)
    records = ctx.store.get_many([paths.segment(table.typed, job.segment) for job in jobs])
    for job, record in zip(jobs, records, strict=True):
        if record is None or (not job.is_active and ctx.clock() - job.updated_ms > _KEPT_MS):
            ctx.store.delete(paths.reingestion(table.typed, job.segment))
