"""Reingestions on record: one document per segment, so that a segment has one at a time in the whole cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from segments.domain.realtime.reingestion.job import Job, from_json
from segments.errors import RecordCorrupt
from segments.store import paths
from segments.store.base import Store
from segments.store.records.document import Documents

JOBS: Final = Documents[Job](
    "job", "The reingestion of segment '{}'", lambda job: job.segment, lambda job: job.to_json(), from_json
)


def read_job(store: Store, table: str, segment: str) -> Job | None:
    """The latest one of a segment of a typed table; one that cannot be read counts as none."""
    try:
        return JOBS.read(store, paths.reingestion(table, segment))
    except RecordCorrupt:
        return None


def jobs_of(store: Store, table: str) -> list[Job]:
    """The latest one of every segment of a typed table, oldest first."""
    found = [job for name in store.children(paths.reingestions(table)) if (job := read_job(store, table, name))]
    return sorted(found, key=lambda job: (job.started_ms, job.segment))


def all_jobs(store: Store) -> Iterator[Job]:
    """Those of every table."""
    for table in store.children(paths.REINGESTIONS):
        yield from jobs_of(store, table)
