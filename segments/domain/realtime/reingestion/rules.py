"""When the rows of a segment may be read again, by whom, and what its record says afterwards."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from segments.domain.realtime.commit.fields import END_OFFSET, START_OFFSET, STATUS
from segments.domain.realtime.llc_name import LLCName
from segments.domain.segments.ideal_state import ERROR, OFFLINE
from segments.domain.segments.segment_metadata import COMMITTING, DONE, SegmentMetadata
from segments.errors import InvalidInput, StateConflict

#: Custom map of a record, ours: ranges of the stream whose rows were lost and are not in the segment: ``5:9,20:21``.
LOST_KEY: Final = "pinotadmin.lostOffsets"
_URL: Final = "segment.download.url"
#: What a record says of a file; a segment whose rows are read again has none.
_OF_FILE: Final = (
    _URL, "segment.offline.download.url", "segment.realtime.download.url", "segment.crc", "segment.data.crc",
    "segment.use.data.crc", "segment.total.docs", "segment.size.in.bytes", "segment.index.version",
    "segment.start.time", "segment.end.time", "segment.time.unit", "segment.crypter",
)  # fmt: skip


@dataclass(frozen=True)
class Range:
    """Offsets to read, as on record; ``end`` is exclusive."""

    start: str
    end: str


def range_of(metadata: SegmentMetadata) -> Range:
    """What a server has to read. The checks of ``POST /reingestSegment``: InvalidInput for a segment with an address
    of its file (also ``""``, which stands for "on servers"), StateConflict for one whose end is not known.
    """
    if _URL in metadata.fields:
        raise InvalidInput(
            f"Segment '{metadata.name}' has a download address: it was committed, so its rows need not be read again.",
            remedy="Reset its replicas, so that they load it.",
        )
    return offsets_of(metadata)


def offsets_of(metadata: SegmentMetadata) -> Range:
    """The offsets on record. StateConflict without both of them: the segment was never ended."""
    start, end = metadata.fields.get(START_OFFSET), metadata.fields.get(END_OFFSET)
    if start is None or end is None:
        lacking = "start" if start is None else "end"
        raise StateConflict(
            f"Segment '{metadata.name}' is {metadata.status} and its record has no {lacking} offset.",
            remedy="Only a segment whose commit began can be reingested; one that is consumed needs a reset.",
        )
    return Range(start, end)


def is_lost(row: Mapping[str, str], view: Mapping[str, str]) -> bool:
    """Is every replica that reports the segment in ERROR, and at least one? Those that the table wants OFFLINE do not
    count.
    """
    states = [state for instance, state in view.items() if row.get(instance, OFFLINE) != OFFLINE]
    return bool(states) and set(states) == {ERROR}


def choose_server(row: Mapping[str, str], live: Collection[str], busy: Mapping[str, int]) -> str:
    """The live server among the segment's replicas that has the fewest jobs (``busy``: jobs by instance).

    Raises StateConflict when none of them is alive.
    """
    candidates = sorted(i for i, state in row.items() if state != OFFLINE and i in live)
    if not candidates:
        raise StateConflict(
            f"None of the segment's servers is alive: {', '.join(sorted(row)) or 'it has none'}.",
            remedy="Start one of them, or rebalance the table.",
        )
    return min(candidates, key=lambda i: (busy.get(i, 0), i))


def reopened(metadata: SegmentMetadata) -> SegmentMetadata:
    """The record of a committed segment whose file is nowhere any more: COMMITTING, as before its file was there.

    StateConflict for a segment that is not DONE.
    """
    if metadata.status != DONE:
        raise StateConflict(f"Segment '{metadata.name}' is {metadata.status}, not {DONE}.")
    offsets_of(metadata)
    return metadata.edited({**dict.fromkeys(_OF_FILE), STATUS: COMMITTING})


def check_reingested(name: LLCName, old: SegmentMetadata, start: str | None, end: str | None) -> None:
    """The built file must cover exactly the offsets on record, and the segment still want one.

    Raises InvalidInput; StateConflict unless ``old`` is COMMITTING and has its offsets on record.
    """
    if old.status != COMMITTING:
        raise StateConflict(
            f"Segment '{name}' is {old.status}, not {COMMITTING}.",
            remedy="It was committed or repaired meanwhile: nothing needs to be uploaded.",
        )
    wanted = offsets_of(old)
    for what, given, right in (("start", start, wanted.start), ("end", end, wanted.end)):
        if given is not None and given != right:
            raise InvalidInput(
                f"The segment was built with the {what} offset {given}, but '{name}' has {right} on record.",
                remedy="Read exactly the range on record again.",
            )
