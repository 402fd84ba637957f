"""A segment that a server read from the stream again is registered, on record."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from segments.domain.realtime.llc_name import parse_llc_name
from segments.domain.realtime.reingestion.job import Job
from segments.errors import InvalidInput
from segments.names import REALTIME, TableName
from segments.segmentfile.format.info import SegmentInfo
from segments.segmentfile.packed.tar import read_info_from_tar
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.jobs.queue import enqueue_pass
from segments.store.records.reingestions import read_job

#: The pass whose findings the segment may have closed, and the seconds that its replicas get to load it before.
_CHECKER: Final = "SegmentStatusChecker"
_LOADED_S: Final = 10.0


def register_reingested(ctx: Context, table: TableName, metadata_tar: Path, location: str, *, actor: Actor) -> str:
    """Take the segment that ``metadata_tar`` describes and whose file was uploaded to ``location``; returns its name.

    InvalidInput: it is not a segment of this REALTIME table, not built from the offsets on record, or its file is
    elsewhere. NotFound: no record. StateConflict: it is not COMMITTING. Soon afterwards the table is checked, which
    closes its findings about the segment.
    """
    info = read_info_from_tar(metadata_tar)
    name = parse_llc_name(info.name)
    if table.type != REALTIME or name.raw != table.raw:
        raise InvalidInput(f"Segment '{info.name}' does not belong to REALTIME table '{table.raw}'.")
    with audit.recorded(ctx, actor, "segmentReingested", table.typed, segment=name.text) as detail:
        job = read_job(ctx.store, table.typed, name.text)
        lost = job.lost if job is not None and job.accepts_loss else ()
        ctx.engine.commits.register(ctx, table, name, info, location, lost=lost)
        detail.update(_described(info, job))
    enqueue_pass(ctx, _CHECKER, table.typed, after_s=_LOADED_S)
    return name.text


def _described(info: SegmentInfo, job: Job | None) -> dict[str, Any]:
    of_job = {"job": job.id, "by": job.by, "instance": job.instance} if job else {}
    lost = {"lost": [list(pair) for pair in job.lost]} if job and job.lost else {}
    return {"rows": info.total_docs, "crc": info.crc, **of_job, **lost}
