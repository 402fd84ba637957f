"""Offsets of a new table's partitions whose first segments did not fit into its creation: in its ideal state until
those are made.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.partition_notes import read_notes, with_notes, without_notes

_KEY: Final = "pinotadmin.firstOffsets"


def of(ideal: ZNRecord) -> dict[int, str]:
    """{partition: offset} of those that are still to be made."""
    return read_notes(ideal, _KEY)


def noted(ideal: ZNRecord, starts: Mapping[int, str]) -> ZNRecord:
    """A copy with these offsets; the very record when there are none."""
    return with_notes(ideal, _KEY, starts)


def without(ideal: ZNRecord, partitions: Collection[int]) -> ZNRecord:
    """A copy without the partitions whose first segments are made now."""
    return without_notes(ideal, _KEY, partitions)
