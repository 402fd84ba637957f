"""The rebalances of each table on record, whichever kind of cluster carries them out."""

from __future__ import annotations

from typing import Final

from segments.domain.rebalance.job import Job, Jobs, jobs_of
from segments.names import TableName, split_table_name
from segments.services.core.context import Context
from segments.store import paths
from segments.store.records.document import Documents

RECORDS: Final[Documents[Jobs]] = Documents(
    "rebalances", "The rebalances of table '{}'", lambda jobs: jobs.table, lambda jobs: jobs.to_json(), jobs_of
)


def read_jobs(ctx: Context, table: TableName) -> Jobs:
    """The table's rebalances on record."""
    return RECORDS.read(ctx.store, paths.rebalances(table.typed)) or Jobs(table.typed)


def tables_with_jobs(ctx: Context) -> list[TableName]:
    """Tables that have any rebalance on record."""
    pairs = [split_table_name(name) for name in ctx.store.children(paths.REBALANCES)]
    return [TableName(raw, kind) for raw, kind in pairs if kind is not None]


def find_job(ctx: Context, job_id: str) -> tuple[TableName, Job] | None:
    """The rebalance of this id, with its table."""
    for table in tables_with_jobs(ctx):
        job = read_jobs(ctx, table).find(job_id)
        if job is not None:
            return table, job
    return None
