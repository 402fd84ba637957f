"""The record of a segment whose rows were read again and built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.commit_plan import END_OFFSET, STATUS, Built
from segments.domain.realtime.llc_name import LLCName
from segments.domain.realtime.reingestion.rules import offsets_of
from segments.domain.segments.segment_metadata import COMMITTING, DONE, SegmentMetadata
from segments.errors import InvalidInput, StateConflict

#: Custom map of a record, ours: ranges of the stream whose rows were lost and are not in the segment: ``5:9,20:21``.
LOST_KEY: Final = "pinotadmin.lostOffsets"


def finished(
    old: SegmentMetadata, built: Built, url: str, now_ms: int, lost: Sequence[tuple[str, str]] = ()
) -> ZNRecord:
    """The record to write on the version of ``old``: COMMITTING becomes DONE, its offsets stay. ``lost``: ranges that
    are left out, which stay on record. StateConflict unless ``old`` is COMMITTING.
    """
    if old.status != COMMITTING:
        raise StateConflict(
            f"Segment '{old.name}' is {old.status}, not {COMMITTING}.",
            remedy="It was committed or repaired meanwhile: nothing needs to be uploaded.",
        )
    has_times = built.total_docs > 0 and built.start_ms is not None and built.end_ms is not None
    changes: dict[str, str | int | None] = {
        STATUS: DONE,
        END_OFFSET: offsets_of(old).end,
        "segment.crc": built.crc,
        "segment.total.docs": built.total_docs,
        "segment.index.version": built.index_version,
        "segment.size.in.bytes": built.size_bytes if built.size_bytes >= 0 else None,
        "segment.start.time": built.start_ms if has_times else now_ms,
        "segment.end.time": built.end_ms if has_times else now_ms,
        "segment.time.unit": "MILLISECONDS",
        "segment.download.url": url,
    }
    noted = {LOST_KEY: ",".join(f"{a}:{b}" for a, b in lost)} if lost else {}
    return old.edited(changes, {**old.custom, **built.custom, **noted}).to_record()


def check_reingested(name: LLCName, old: SegmentMetadata, start: str | None, end: str | None) -> None:
    """The built file must cover exactly the offsets on record. Raises InvalidInput; StateConflict where the record has
    none.
    """
    wanted = offsets_of(old)
    for what, given, right in (("start", start, wanted.start), ("end", end, wanted.end)):
        if given is not None and given != right:
            raise InvalidInput(
                f"The segment was built with the {what} offset {given}, but '{name}' has {right} on record.",
                remedy="Read exactly the range on record again.",
            )
