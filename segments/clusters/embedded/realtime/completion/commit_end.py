"""The writes that end a commit which has started, whoever has the file: the committer, a repair, a reingestion."""

from __future__ import annotations

from segments.clusters.embedded.realtime.completion.committing_list import unlisting_writes
from segments.domain.realtime.commit.end import Built, end_commit
from segments.domain.segments import segment_metadata
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core.context import Context
from segments.store import paths
from segments.store.base import Delete, Replace, Versioned, Write


def end_writes(
    ctx: Context,
    table: TableName,
    segment: Versioned,
    built: Built,
    url: str,
    *,
    rows: int = 0,
    reason: str | None = None,
    is_tuned: bool = False,
) -> list[Write]:
    """One transaction: the record ``segment`` becomes DONE, the round about it is over, the list no longer has it.

    ``url``: where the file is, "" when only servers have it; the others as in ``end_commit``.
    To be written with ``update_transaction``, which decides again after a conflict. Raises StateConflict unless the
    record is COMMITTING with an end offset.
    """
    if segment.record is None:
        raise StateConflict(f"The segment's record in table {table} is empty.", remedy="Run the realtime validation.")
    old = segment_metadata.from_record(segment.record)
    done = end_commit(old, built, url, ctx.clock(), rows=rows, reason=reason, is_tuned=is_tuned)
    machine = ctx.store.get(paths.completion(table.typed, old.name))
    return [
        Replace(paths.segment(table.typed, old.name), done, segment.version),
        *unlisting_writes(ctx.store, table, [old.name]),
        *([] if machine is None else [Delete(paths.completion(table.typed, old.name), machine.version)]),
    ]
