"""One writer of a segment's files at a time, and its name off the deletion queue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from segments.clusters.embedded.segments import deletion_queue
from segments.domain.segments.admission import another_upload
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.jobs.job_lock import locked
from segments.store import paths

#: Seconds to wait for another upload of the same segment.
_LOCK_WAIT_S: Final = 10.0


@contextmanager
def sole_writer(ctx: Context, table: TableName, *segments: str) -> Iterator[None]:
    """Nobody else writes the files of these segments meanwhile. StateConflict when somebody does for longer than a few
    seconds.
    """
    with ExitStack() as held:
        for segment in sorted(set(segments)):
            lock = locked(
                ctx, paths.upload_lock(table.typed, segment), wait_s=_LOCK_WAIT_S, void_after_s=ctx.limits.upload_lock_s
            )
            if not held.enter_context(lock):
                raise another_upload(table.typed, segment)
        release_names(ctx, table, segments)
        yield


def release_names(ctx: Context, table: TableName, segments: tuple[str, ...] | list[str]) -> None:
    """Take names that are uploaded again off the deletion queue."""
    node = ctx.store.get(paths.pending_deletions(table.typed))
    queued = node.record.maps if node and node.record else {}
    for segment in segments:
        if segment in queued:
            deletion_queue.release_name(ctx, table, segment)
