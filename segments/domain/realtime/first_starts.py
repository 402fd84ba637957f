"""Where the first segments of a new table begin: offsets and sequence numbers of those that did not fit into its
creation, in its ideal state until they are made; and what a table that goes on elsewhere is given at its creation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec

from segments.domain.formats.json_model import prepared
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.partition_notes import read_notes, with_notes, without_notes
from segments.errors import InvalidInput

_OFFSETS: Final = "pinotadmin.firstOffsets"
_SEQUENCES: Final = "pinotadmin.firstSequences"


@dataclass(frozen=True)
class Watermark:
    """Where a partition goes on, as ``consumerWatermarks`` of another table says it."""

    sequence: int
    offset: str


class _Entry(msgspec.Struct, rename="camel"):
    partition_group_id: Annotated[int, msgspec.Meta(ge=0)]
    offset: Annotated[str, msgspec.Meta(min_length=1)]
    sequence_number: Annotated[int, msgspec.Meta(ge=-1, lt=2**31)] = -1


def parse_watermarks(given: Any) -> dict[int, Watermark]:
    """{partition: where it goes on} of ``[{"partitionGroupId", "sequenceNumber", "offset"}]``; sequence -1 is 0, as in
    Pinot. InvalidInput.
    """
    try:
        entries = msgspec.convert(given, prepared(list[_Entry]))
    except msgspec.ValidationError as error:
        raise InvalidInput(
            f"These are no watermarks: {error}.",
            remedy="Take the 'watermarks' that GET /tables/{table}/consumerWatermarks answers.",
        ) from error
    found = {entry.partition_group_id: Watermark(max(0, entry.sequence_number), entry.offset) for entry in entries}
    if len(found) < len(entries):
        raise InvalidInput("A partition has two watermarks.", remedy="Leave one of them out.")
    return found


def of(ideal: ZNRecord) -> dict[int, str]:
    """{partition: offset} of those that are still to be made."""
    return read_notes(ideal, _OFFSETS)


def sequences_of(ideal: ZNRecord) -> dict[int, int]:
    """{partition: sequence number} of those whose first is not 0."""
    return {partition: int(text) for partition, text in read_notes(ideal, _SEQUENCES).items()}


def noted(ideal: ZNRecord, starts: Mapping[int, str], sequences: Mapping[int, int]) -> ZNRecord:
    """A copy with these offsets and sequence numbers; the very record when there are none."""
    texts = {partition: str(sequence) for partition, sequence in sequences.items() if sequence}
    return with_notes(with_notes(ideal, _OFFSETS, starts), _SEQUENCES, texts)


def without(ideal: ZNRecord, partitions: Collection[int]) -> ZNRecord:
    """A copy without the partitions whose first segments are made now."""
    return without_notes(without_notes(ideal, _OFFSETS, partitions), _SEQUENCES, partitions)
