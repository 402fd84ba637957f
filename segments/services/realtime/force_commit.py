"""Force commit: consuming segments are committed where they are and go on in the next one; a job reports how far that
is.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.force_commit import BatchSettings, ForceCommitJob, job_of
from segments.domain.realtime.llc_name import partition_of
from segments.domain.realtime.pause import consuming_segments
from segments.errors import InvalidInput
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.store import paths


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
    """Have the servers commit; returns Pinot's answer with the job's id at once.

    Segments that do not consume are ignored. Raises NotFound, InvalidInput (disabled table, partition without a
    consuming segment), StateConflict where the cluster cannot.
    """
    with audit.recorded(ctx, actor, "forceCommit", table.typed) as detail:
        changed = ctx.engine.consumption.force_commit(ctx, table, wanted, batch)
        detail.update(changed.detail)
        return changed.answer


def job_status(ctx: Context, job_id: str) -> dict[str, Any]:
    """How far the job is, checked now. NotFound when no such job is on record."""
    return ctx.engine.consumption.job_status(ctx, job_id)


def read_jobs(ctx: Context, table: TableName | None = None) -> list[ForceCommitJob]:
    """Jobs on record, of one table or all, oldest first."""
    node = ctx.store.get(paths.FORCE_COMMIT_JOBS)
    rows = node.record.maps.values() if node and node.record else ()
    jobs = [job_of(fields) for fields in rows]
    return sorted((j for j in jobs if table is None or j.table == table.typed), key=lambda j: (j.submitted_ms, j.id))


def segments_to_commit(ideal: ZNRecord, wanted: Wanted) -> list[str]:
    """The consuming segments that are meant. InvalidInput: a partition has none."""
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
