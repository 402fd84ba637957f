"""A file that a server built again, or that was found, becomes that of a segment whose commit never ended: its record
is DONE, and replicas in ERROR start again.

One transaction, on the version of the record that was read, after the file is where the record will say. So a job that
was taken over, or a commit that ends after all, never writes over the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from segments.clusters.embedded.realtime.completion.commit_end import end_writes
from segments.clusters.embedded.realtime.completion.commit_file import CommitFile
from segments.clusters.embedded.realtime.completion.completion_actions import built_of
from segments.domain.realtime.llc_name import LLCName
from segments.domain.realtime.reingestion.rules import LOST_KEY, check_reingested
from segments.domain.segments import segment_metadata
from segments.domain.segments.ideal_state import ERROR
from segments.domain.segments.segment_metadata import DONE, SegmentMetadata
from segments.errors import InvalidInput, NotFound
from segments.names import TableName
from segments.segmentfile.format.info import SegmentInfo
from segments.services.core.context import Context
from segments.services.segments.segment_reset import send_resets
from segments.store import paths
from segments.store.base import Versioned, Write
from segments.store.records.data_loss import DataLoss, data_loss_write
from segments.store.update import update_transaction


def register(
    ctx: Context,
    table: TableName,
    name: LLCName,
    info: SegmentInfo,
    location: str,
    *,
    lost: Sequence[tuple[str, str]] = (),
) -> None:
    """As ``CommitEngine.register``."""
    _write(ctx, table, name, info, location, lost)
    _reset(ctx, table, name.text)


def _write(
    ctx: Context, table: TableName, name: LLCName, info: SegmentInfo, location: str, lost: Sequence[tuple[str, str]]
) -> None:
    _, old = _read(ctx, table, name.text)
    check_reingested(name, old, info.realtime_start_offset, info.realtime_end_offset)
    file = CommitFile(ctx, table, name.text, location, info.crc)
    if not file.url:
        raise InvalidInput(
            f"'{location}' is not a file in the deep store.", remedy="Upload the segment there before it is registered."
        )
    size = ctx.deep_store.size(path) if (path := ctx.deep_store.path_of(location)) is not None else None
    built = built_of(name, old.fields["segment.realtime.endOffset"], info, -1 if size is None else size)
    if lost:
        noted = ",".join(f"{a}:{b}" for a, b in lost)
        built = replace(built, custom={**built.custom, LOST_KEY: noted})
    attempts = 0

    def attempt() -> Sequence[Write]:
        nonlocal attempts
        attempts += 1
        node, now = _read(ctx, table, name.text)
        if attempts > 1 and now.status == DONE and now.crc == info.crc:
            return []  # the reply to the first attempt was lost
        writes = end_writes(ctx, table, node, built, file.url)
        file.stage()
        losses = [DataLoss(name.partition, a, b, name.text, ctx.clock()) for a, b in lost]
        return [*writes, *data_loss_write(ctx.store, table.typed, losses)]

    update_transaction(ctx.store, attempt)
    file.finish()


def _read(ctx: Context, table: TableName, segment: str) -> tuple[Versioned, SegmentMetadata]:
    node = ctx.store.get(paths.segment(table.typed, segment))
    if node is None or node.record is None:
        raise NotFound(f"Segment '{segment}' of table '{table}' has no record.", remedy="It was deleted meanwhile.")
    return node, segment_metadata.from_record(node.record)


def _reset(ctx: Context, table: TableName, segment: str) -> None:
    """Replicas in ERROR start again, and only those (rule `repair-only-what-is-broken`)."""
    node = ctx.store.get(paths.external_view(table.typed))
    view = node.record.maps if node and node.record else {}
    bad = {i: [segment] for i, state in view.get(segment, {}).items() if state == ERROR}
    send_resets(ctx, table, bad, view)
