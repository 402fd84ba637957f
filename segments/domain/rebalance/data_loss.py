"""The data-loss rule: rows that only servers have are not moved in a way that may lose their only copy (rule
`only-copy-stays`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from segments.domain.segments.segment_metadata import COMMITTING, SegmentMetadata


def risk_of(metadata: SegmentMetadata, *, may_repair: bool) -> str:
    """Why the segment's rows may be nowhere but on its servers; empty when they are not.

    ``may_repair``: can a segment whose commit did not end be read from its stream again? Then nothing is lost.
    """
    if metadata.is_on_servers_only:
        return "as the download URL is empty"
    if metadata.status == COMMITTING and not may_repair:
        return "as it is in COMMITTING state and may not be read from its stream again"
    return ""


def risks(
    moved: Mapping[str, Collection[str]],
    serving: Mapping[str, Collection[str]],
    records: Mapping[str, SegmentMetadata],
    *,
    may_repair: bool,
) -> dict[str, str]:
    """{segment: why its only copy would be removed}, of a rebalance that waits for no replica before it removes others.

    ``moved``: the servers that each moved segment should have, ``serving`` those that serve it now. No risk is where
    one of them stays, and where there is no record.
    """
    return {
        segment: why
        for segment, target in sorted(moved.items())
        if not set(target) & set(serving.get(segment, ()))
        and segment in records
        and (why := risk_of(records[segment], may_repair=may_repair))
    }
