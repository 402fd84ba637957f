"""Has one of the embedded cluster's servers read a segment's rows from the stream again."""

from __future__ import annotations

import logging
from typing import Final
from urllib.parse import quote, urlencode

from segments.clusters.embedded.instances.server_calls import ask_server
from segments.domain.realtime.reingestion.job import Job
from segments.domain.realtime.reingestion.rules import choose_server
from segments.errors import PinotAdminError, StateConflict, Unavailable
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.reingestion.jobs import jobs_by_server
from segments.store import paths
from segments.store.records.instances import live_instances
from segments.store.records.reingestions import read_job

log = logging.getLogger(__name__)

#: Seconds that a server may take to put the job on record: it asks the stream before.
_PATIENCE_S: Final = 15.0


def reingest(ctx: Context, table: TableName, segment: str, *, accepts_loss: bool, by: str) -> Job:
    """The job, on record and queued on a live server of the segment's replicas. StateConflict, Unavailable."""
    ideal = ctx.store.get(paths.ideal_state(table.typed))
    row = ideal.record.maps.get(segment, {}) if ideal and ideal.record else {}
    instance = choose_server(row, live_instances(ctx.store), jobs_by_server(ctx))
    before = read_job(ctx.store, table.typed, segment)
    query = urlencode({"acceptLoss": str(accepts_loss).lower(), "by": by[:200]})
    path = f"/reingestSegment/{quote(segment, safe='')}?{query}"
    try:
        ask_server(ctx, instance, "POST", path, _PATIENCE_S)
    except PinotAdminError as error:
        # The answer may be lost, or that of a repeated request: what is on record counts.
        if not _has_begun(before, read_job(ctx.store, table.typed, segment)):
            if error.permanent:
                raise StateConflict(f"{instance} does not reingest it: {error}") from error
            raise
        log.info("The reingestion of %s began although %s answered %s", segment, instance, error)
    job = read_job(ctx.store, table.typed, segment)
    if job is None:
        raise Unavailable(f"{instance} has no job for segment '{segment}'.", remedy="Try again in a moment.")
    return job


def _has_begun(before: Job | None, now: Job | None) -> bool:
    return now is not None and (before is None or now.id != before.id)
