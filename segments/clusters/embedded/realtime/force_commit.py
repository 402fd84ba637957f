"""Force commit on the embedded cluster: a durable job, and messages to the servers until nothing of it is pending.

The job is on record before the first message goes out, and ``keep_jobs`` sends again, batch by batch, however long that
takes: a commit may wait for hours for a server or a deep store that is down.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from segments.domain.formats.plural import counted
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.force_commit import KEPT_JOBS, BatchSettings, ForceCommitJob, in_rounds, job_of
from segments.domain.realtime.pause import consuming_segments, is_disabled
from segments.domain.segments.segment_metadata import COMPLETED_STATUSES, from_record
from segments.errors import NotFound
from segments.names import TableName, split_table_name
from segments.services.core.context import Context
from segments.services.engine.consumption import Changed
from segments.services.realtime.force_commit import Wanted, read_jobs, segments_to_commit
from segments.services.realtime.realtime_servers import consuming_by_server, send_force_commit
from segments.services.realtime.realtime_state import read_ideal
from segments.store import paths
from segments.store.base import Versioned
from segments.store.update import update_record

log = logging.getLogger(__name__)


def force_commit(ctx: Context, table: TableName, wanted: Wanted, batch: BatchSettings) -> Changed:
    """Put the job on record, then send its first batch."""
    ideal = read_ideal(ctx, table).record
    assert ideal is not None
    order = in_rounds(consuming_by_server(ideal, segments_to_commit(ideal, wanted)))
    job = ForceCommitJob(ctx.new_id(), table.typed, ctx.clock(), tuple(order), tuple(order), batch).with_next_batch(
        ctx.clock()
    )
    _save(ctx, job)
    send_force_commit(ctx, ideal, job.asked)
    answer = {"forceCommitStatus": "SUCCESS", "jobMetaZKWriteStatus": "SUCCESS", "forceCommitJobId": job.id}
    return Changed(answer, {"job": job.id, "segments": order[:100], "count": len(order)})


def job_status(ctx: Context, job_id: str) -> dict[str, Any]:
    """How far the job is, checked now. NotFound when no such job is on record."""
    job = next((j for j in read_jobs(ctx) if j.id == job_id), None)
    if job is None:
        raise NotFound(
            f"Failed to find controller job id: {job_id}", remedy=f"The last {KEPT_JOBS} force commits are kept."
        )
    return _checked(ctx, job).to_json()


def keep_jobs(ctx: Context) -> list[str]:
    """Unfinished jobs: note what is committed, send the next batch when it is time, send again for the rest."""
    sentences = []
    for job in read_jobs(ctx):
        if job.is_done:
            continue
        try:
            sentences += _keep(ctx, job)
        except Exception:
            log.exception("Force commit %s of %s could not be carried on.", job.id, job.table)
    return sentences


def _keep(ctx: Context, job: ForceCommitJob) -> list[str]:
    checked = _checked(ctx, job)
    if checked.is_done:
        return [f"Force commit {job.id} of {job.table} is done."]
    raw, kind = split_table_name(job.table)
    node = ctx.store.get(paths.ideal_state(TableName(raw, kind or "REALTIME").typed))
    ideal = node.record if node else None
    if ideal is None or is_disabled(ideal):
        return []  # it goes on once the table is enabled; records of a dropped one are gone, and then the job is done
    ahead = checked.with_next_batch(ctx.clock())
    if ahead != checked:
        _save(ctx, ahead)
    consuming = set(consuming_segments(ideal))
    waiting = [s for s in ahead.asked if s in consuming]
    send_force_commit(ctx, ideal, waiting)
    return [f"Force commit {job.id} of {job.table} waits for {counted(len(waiting), 'segment')}."] if waiting else []


def _checked(ctx: Context, job: ForceCommitJob) -> ForceCommitJob:
    """The job without what is committed by now; stored when that changes it. A segment without a record counts as
    committed.
    """
    nodes = ctx.store.get_many([paths.segment(job.table, s) for s in job.pending])
    committed = {s for s, n in zip(job.pending, nodes, strict=True) if _is_committed(n)}
    checked = job.after_commits(committed)
    if checked != job:
        _save(ctx, checked)
    return checked


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
