"""Segments whose only copies are on servers are copied into the deep store before they are deleted, so that they can
come back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from segments.clusters.embedded.segments.deep_store_upload import try_upload
from segments.domain.segments.archive import Outcome, refused
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.segments.last_copies import lonely

#: Seconds for which a deletion copies; what it did not come to is refused, and uploaded by the validation pass in its
#: time.
_COPY_S: Final = 60.0
_NAMED: Final = 20
_REMEDY: Final = (
    "Start a server that holds it and try again, or give force=true and a reason: then it is gone for good."
)


def copy_to_store(ctx: Context, table: TableName, segments: Collection[str]) -> dict[str, str]:
    """Copy those that only servers have into the deep store; {segment: why it could not be copied}."""
    if not ctx.deep_store.exists:
        return dict.fromkeys(lonely(ctx, table, segments), "this installation has none.")
    until, failed = ctx.timer.seconds() + _COPY_S, {}
    for segment, metadata in lonely(ctx, table, segments).items():
        in_time = ctx.timer.seconds() < until
        failure = try_upload(ctx, table, segment, metadata) if in_time else "there was no time left to copy it."
        if failure:
            failed[segment] = failure
    return failed


def refusal(segment: str, why: str) -> Outcome:
    """The outcome for a segment that would be lost."""
    return refused(
        segment, f"Only servers hold segment '{segment}', and it was not copied to the deep store: {why}", _REMEDY
    )


def lost(table: TableName, failed: Mapping[str, str]) -> StateConflict:
    """The refusal of a request of which nothing is done, because these segments would be lost."""
    first = min(failed)
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    return StateConflict(
        f"Only servers hold segment '{first}'{more} of table '{table}', and it was not copied to the deep store: "
        f"{failed[first]}",
        remedy=_REMEDY,
        segments=sorted(failed)[:_NAMED],
    )
