"""Force commit: consuming segments are committed where they are and go on in the next one; a durable job says how far
it is.

The job is on record before the first message goes out, and ``keep_jobs`` sends again, batch by batch, until nothing is
pending, however long that takes: a commit may wait for hours for a server or a deep store that is away.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from segments.clusters.pinot import force_commit as pinot_force_commit
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.force_commit import KEPT_JOBS, BatchSettings, ForceCommitJob, in_rounds, job_of
from segments.domain.realtime.pause import consuming_segments, is_disabled
from segments.domain.segments.segment_metadata import COMPLETED_STATUSES, from_record
from segments.errors import InvalidInput, NotFound
from segments.names import TableName, split_table_name
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.realtime.consumption import partition_of
from segments.services.realtime.realtime_servers import consuming_by_server, send_force_commit
from segments.services.realtime.realtime_state import read_ideal
from segments.store import paths
from segments.store.base import Versioned
from segments.store.update import update_record

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Wanted:
    """Which consuming segments: all of them, those of ``partitions``, or those of ``segments`` that
    consume. Not both.
    """

    partitions: Collection[int] | None = None
    segments: Collection[str] | None = None

    def __post_init__(self) -> None:
        if self.partitions is not None and self.segments is not None:
            raise InvalidInput("Give either partitions or segments to commit, not both.")


def force_commit(
    ctx: Context, table: TableName, wanted: Wanted, batch: BatchSettings, *, actor: Actor
) -> dict[str, Any]:
    """Ask the servers to commit; returns Pinot's answer with the job's id at once (realtime-ops.md 6).

    Segments that do not consume are ignored. Raises NotFound, InvalidInput (disabled table, partition without a
    consuming segment).
    """
    if ctx.pinot is not None:
        partitions = sorted(wanted.partitions) if wanted.partitions is not None else None
        named = sorted(wanted.segments) if wanted.segments is not None else None
        return pinot_force_commit.force_commit(
            ctx, table, partitions=partitions, segments=named, batch=batch, actor=actor
        )
    ideal = read_ideal(ctx, table).record
    assert ideal is not None
    targets = _targets(ideal, wanted)
    order = in_rounds(consuming_by_server(ideal, targets))
    job = ForceCommitJob(ctx.new_id(), table.typed, ctx.clock(), tuple(order), tuple(order), batch).with_next_batch(
        ctx.clock()
    )
    _save(ctx, job)
    send_force_commit(ctx, ideal, job.asked)
    audit.record(
        actor,
        "forceCommit",
        cluster=ctx.cluster,
        target=table.typed,
        job=job.id,
        segments=order[:100],
        count=len(order),
    )
    return {"forceCommitStatus": "SUCCESS", "jobMetaZKWriteStatus": "SUCCESS", "forceCommitJobId": job.id}


def job_status(ctx: Context, job_id: str) -> dict[str, Any]:
    """How far the job is, looked at now. NotFound when no such job is on record."""
    if ctx.pinot is not None:
        return pinot_force_commit.job_status(ctx, job_id)
    job = next((j for j in read_jobs(ctx) if j.id == job_id), None)
    if job is None:
        raise NotFound(
            f"Failed to find controller job id: {job_id}", remedy=f"The last {KEPT_JOBS} force commits are kept."
        )
    return _looked_at(ctx, job).to_json()


def read_jobs(ctx: Context, table: TableName | None = None) -> list[ForceCommitJob]:
    """Jobs on record, of one table or all, oldest first."""
    node = ctx.store.get(paths.FORCE_COMMIT_JOBS)
    rows = node.record.maps.values() if node and node.record else ()
    jobs = [job_of(fields) for fields in rows]
    return sorted((j for j in jobs if table is None or j.table == table.typed), key=lambda j: (j.submitted_ms, j.id))


def keep_jobs(ctx: Context) -> list[str]:
    """One look of a pass over unfinished jobs: note what is committed, send the next batch when it is time, ask again
    for the rest.
    """
    sentences = []
    for job in read_jobs(ctx):
        if job.is_done:
            continue
        try:
            sentences += _keep(ctx, job)
        except Exception:
            log.exception("Force commit %s of %s could not be looked after.", job.id, job.table)
    return sentences


def _keep(ctx: Context, job: ForceCommitJob) -> list[str]:
    looked = _looked_at(ctx, job)
    if looked.is_done:
        return [f"Force commit {job.id} of {job.table} is done."]
    raw, kind = split_table_name(job.table)
    node = ctx.store.get(paths.ideal_state(TableName(raw, kind or "REALTIME").typed))
    ideal = node.record if node else None
    if ideal is None or is_disabled(ideal):
        return []  # it goes on once the table is enabled; records of a dropped one are gone, and then the job is done
    ahead = looked.with_next_batch(ctx.clock())
    if ahead != looked:
        _save(ctx, ahead)
    consuming = set(consuming_segments(ideal))
    waiting = [s for s in ahead.asked if s in consuming]
    send_force_commit(ctx, ideal, waiting)
    return [f"Force commit {job.id} of {job.table} waits for {len(waiting)} segments."] if waiting else []


def _targets(ideal: ZNRecord, wanted: Wanted) -> list[str]:
    consuming = consuming_segments(ideal)
    if wanted.segments is not None:
        return [s for s in consuming if s in wanted.segments]
    if wanted.partitions is None:
        return consuming
    found = [s for s in consuming if partition_of(s) in wanted.partitions]
    missing = sorted(set(wanted.partitions) - {partition_of(s) for s in found})
    if missing:
        named = ",".join(str(p) for p in missing)
        raise InvalidInput(
            f"Cannot find segments to commit for partitions: {named}.",
            remedy="GET /tables/{table}/pauseStatus lists what consumes.",
        )
    return found


def _looked_at(ctx: Context, job: ForceCommitJob) -> ForceCommitJob:
    """The job with what is committed by now; stored when that is more than before. A segment without a record counts as
    committed.
    """
    nodes = ctx.store.get_many([paths.segment(job.table, s) for s in job.pending])
    committed = {s for s, n in zip(job.pending, nodes, strict=True) if _is_committed(n)}
    looked = job.looked_at(committed)
    if looked != job:
        _save(ctx, looked)
    return looked


def _is_committed(node: Versioned | None) -> bool:
    return node is None or node.record is None or from_record(node.record).status in COMPLETED_STATUSES


def _save(ctx: Context, job: ForceCommitJob) -> None:
    """Put the job on record, or what is newer in it: nothing that is done comes back, the oldest jobs go."""

    def decide(node: Versioned | None) -> ZNRecord:
        before = node.record if node and node.record else ZNRecord("/CONTROLLER_JOBS/FORCE_COMMIT")
        known = job_of(before.maps[job.id]) if job.id in before.maps else job
        pending = tuple(s for s in job.pending if s in known.pending)
        merged = replace(job, pending=pending, sent=max(job.sent, known.sent), sent_ms=max(job.sent_ms, known.sent_ms))
        others = [(k, v) for k, v in before.maps.items() if k != job.id]
        return replace(before, maps=dict(_latest([*others, (job.id, merged.to_fields())])))

    update_record(ctx.store, paths.FORCE_COMMIT_JOBS, decide)


def _latest(jobs: Sequence[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
    """Unfinished jobs are forgotten last."""
    return sorted(jobs, key=lambda item: (not job_of(item[1]).is_done, int(item[1].get("submissionTimeMs", "0"))))[
        -KEPT_JOBS:
    ]
