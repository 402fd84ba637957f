"""Force commit on a real Pinot, and how far it is: Pinot's own job where the version keeps one, else a record of
ours that is compared with the segments.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from segments.clusters.pinot.calls import quoted, read_object, require, version
from segments.clusters.pinot.changes import Request, send_change
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.pinot import capabilities
from segments.domain.pinot.capabilities import has
from segments.domain.realtime.force_commit import BatchSettings
from segments.domain.realtime.pause import consuming_segments
from segments.domain.segments.segment_metadata import COMPLETED_STATUSES, from_record
from segments.errors import NotFound
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.engine.consumption import Changed
from segments.services.realtime.force_commit import Wanted, segments_to_commit
from segments.services.realtime.realtime_state import read_ideal
from segments.store import paths
from segments.store.records.document import Documents


@dataclass(frozen=True)
class _Job:
    """A job that we keep for versions that keep none, and for answers that were lost. ``at_ms`` is epoch ms."""

    id: str
    table: str
    segments: list[str]
    at_ms: int


_JOBS: Final = Documents(
    "forceCommit",
    "The record of force commit '{}'",
    lambda job: job.id,
    lambda job: {"table": job.table, "segments": job.segments, "at": job.at_ms},
    lambda job_id, body: _Job(job_id, body["table"], body["segments"], int(body["at"])),
)


def force_commit(ctx: Context, table: TableName, wanted: Wanted, batch: BatchSettings) -> Changed:
    """Pinot's answer, always with an id that ``job_status`` knows; when it is lost, what still consumes decides."""
    require(ctx, capabilities.FORCE_COMMIT)
    if wanted.partitions is not None or wanted.segments is not None:
        require(ctx, capabilities.FORCE_COMMIT_SELECT)
    if batch.to_params():
        require(ctx, capabilities.FORCE_COMMIT_BATCH)
    targets = segments_to_commit(_ideal(ctx, table), wanted)
    answer = send_change(
        ctx,
        Request("POST", f"/tables/{quoted(table.raw)}/forceCommit", _params(wanted, batch)),
        is_done=lambda: not set(targets) & set(consuming_segments(_ideal(ctx, table))),
    )
    body = {"forceCommitStatus": "SUCCESS", **(answer if isinstance(answer, dict) else {})}
    if not body.get("forceCommitJobId"):
        body |= {"forceCommitJobId": _remember(ctx, table, targets), "jobMetaZKWriteStatus": "SUCCESS"}
    detail = {"job": body["forceCommitJobId"], "segments": targets[:100], "count": len(targets)}
    return Changed(body, detail)


def job_status(ctx: Context, job_id: str) -> dict[str, Any]:
    """How far a force commit is. NotFound when nobody knows it."""
    kept = _JOBS.read(ctx.store, paths.commit_job(job_id))
    if kept is not None:
        return _progress(ctx, kept)
    if not has(version(ctx), capabilities.FORCE_COMMIT_STATUS):
        why = capabilities.lacking(version(ctx), capabilities.FORCE_COMMIT_STATUS)
        raise NotFound(f"Failed to find controller job id: {job_id}. {why}", remedy="The last 100 are kept here.")
    return read_object(ctx, f"/tables/forceCommitStatus/{quoted(job_id)}")


def _params(wanted: Wanted, batch: BatchSettings) -> dict[str, Any]:
    return {
        "partitions": ",".join(map(str, sorted(wanted.partitions))) if wanted.partitions is not None else None,
        "segments": ",".join(sorted(wanted.segments)) if wanted.segments is not None else None,
        **batch.to_params(),
    }


def _ideal(ctx: Context, table: TableName) -> ZNRecord:
    ideal = read_ideal(ctx, table).record
    assert ideal is not None
    return ideal


def _remember(ctx: Context, table: TableName, targets: list[str]) -> str:
    job = _Job(ctx.new_id(), table.typed, targets, ctx.clock())
    _JOBS.write(ctx.store, paths.commit_job(job.id), job)
    kept = _JOBS.read_many(ctx.store, [paths.commit_job(name) for name in ctx.store.children(paths.COMMIT_JOBS)])
    for old in sorted(kept, key=lambda one: one.at_ms)[:-100]:
        ctx.store.delete(paths.commit_job(old.id))
    return job.id


def _progress(ctx: Context, job: _Job) -> dict[str, Any]:
    """A segment is left until its record is done and the ideal state, which Pinot writes after it,
    consumes it no more.
    """
    ideal, *nodes = ctx.store.get_many(
        [paths.ideal_state(job.table), *(paths.segment(job.table, s) for s in job.segments)]
    )
    consuming = set(consuming_segments(ideal.record)) if ideal is not None and ideal.record is not None else set()
    left = [
        s
        for s, n in zip(job.segments, nodes, strict=True)
        if n is not None
        and n.record is not None
        and (s in consuming or from_record(n.record).status not in COMPLETED_STATUSES)
    ]
    return {
        "jobId": job.id, "tableName": job.table, "jobType": "FORCE_COMMIT", "submissionTimeMs": str(job.at_ms),
        "segmentsForceCommitted": json.dumps(job.segments), "segmentsYetToBeCommitted": left,
        "numberOfSegmentsYetToBeCommitted": len(left),
    }  # fmt: skip
