"""The end of a commit: the segment's record gets the facts of its built file and is DONE.

Whoever has a built file ends a commit this way: the committer, a repair, a reingestion. The end offset was fixed when
the commit started, and stays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime import flush_threshold
from segments.domain.realtime.commit.fields import END_OFFSET, PARTITION_METADATA, STATUS
from segments.domain.realtime.flush_threshold import Committed
from segments.domain.realtime.llc_name import LLCName
from segments.domain.segments import segment_metadata
from segments.domain.segments.segment_metadata import COMMITTING, SegmentMetadata
from segments.errors import InvalidInput, StateConflict


@dataclass(frozen=True)
class Built:
    """A built segment as it describes itself. ``size_bytes``: its folder, uncompressed, as the server reports it.

    ``partitions`` is {column: partition metadata} in Pinot's JSON form. Times in epoch milliseconds, None where it has
    none.
    """

    crc: int
    total_docs: int
    index_version: str
    size_bytes: int
    data_crc: int | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    partitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    custom: Mapping[str, str] = field(default_factory=dict)


def end_commit(
    old: SegmentMetadata,
    built: Built,
    url: str,
    now_ms: int,
    *,
    rows: int = 0,
    reason: str | None = None,
    is_tuned: bool = False,
) -> ZNRecord:
    """The record to write when the commit of ``old`` ends: COMMITTING becomes DONE, with the same end offset.

    ``url``: where the file is, "" when only servers have it. ``rows``: how many were consumed, which may be more than
    were kept (0: not reported); ``reason``: why the segment ended, None when not reported; ``is_tuned``: the table's
    row limits follow sizes, and learn from this one. Write it on the version of ``old``. Raises StateConflict unless
    ``old`` is COMMITTING with an end offset.
    """
    end = old.fields.get(END_OFFSET)
    if old.status != COMMITTING or end is None:
        raise StateConflict(
            f"Segment '{old.name}' is {old.status}{'' if end else ' and has no end offset'}, not {COMMITTING}.",
            remedy="It was committed or repaired meanwhile.",
        )
    learned = (
        flush_threshold.ratio_items(learned_from(old, built, now_ms, rows=rows, reason=reason)) if is_tuned else {}
    )
    return done_record(old, end, built, url, learned, now_ms)


def done_record(
    old: SegmentMetadata, end_offset: str, built: Built, url: str, learned: Mapping[str, str], now_ms: int
) -> ZNRecord:
    """The record of ``old`` once it is committed at ``end_offset``; ``learned`` goes into its custom map."""
    has_times = built.total_docs > 0 and built.start_ms is not None and built.end_ms is not None
    has_data_crc = built.data_crc is not None and built.data_crc >= 0
    partitions = {"columnPartitionMap": built.partitions}
    changes: dict[str, str | int | None] = {
        STATUS: segment_metadata.DONE,
        END_OFFSET: end_offset,
        "segment.crc": built.crc,
        "segment.data.crc": built.data_crc if has_data_crc else None,
        "segment.use.data.crc": "true" if has_data_crc else None,
        "segment.total.docs": built.total_docs,
        "segment.index.version": built.index_version,
        "segment.size.in.bytes": built.size_bytes if built.size_bytes >= 0 else None,
        "segment.start.time": built.start_ms if has_times else now_ms,
        "segment.end.time": built.end_ms if has_times else now_ms,
        "segment.time.unit": "MILLISECONDS",
        "segment.download.url": url,
        "segment.crypter": None,
        PARTITION_METADATA: json.dumps(partitions, separators=(",", ":")) if built.partitions else None,
    }
    return old.edited(changes, {**old.custom, **built.custom, **learned}).to_record()


def learned_from(
    old: SegmentMetadata, built: Built, now_ms: int, *, rows: int = 0, reason: str | None = None
) -> Committed:
    """Rows and bytes of a committed segment as row limits learn from them: before rows were dropped, where the server
    reports how many there were.
    """
    before = flush_threshold.committed_of(old)
    kept, size = built.total_docs, built.size_bytes
    if rows > kept:
        size = size * rows // kept if kept else size
    took = now_ms - (old.creation_ms or now_ms)
    return Committed(max(rows, kept), size, before.limit, before.ratio, took, reason or before.reason)


def check_built(name: LLCName, built_name: str, built_table: str, end_offset: str, built_end: str | None) -> None:
    """The committer's files must be those of the segment that is committed (rule `winner-only`). Raises
    InvalidInput.
    """
    if built_name != name.text:
        raise InvalidInput(f"The metadata is that of segment '{built_name}', not of '{name}'.")
    if built_table not in ("", name.raw, f"{name.raw}_REALTIME"):
        raise InvalidInput(f"The metadata is that of a segment of table '{built_table}', not of '{name.raw}'.")
    if built_end is not None and built_end != end_offset:
        raise InvalidInput(f"The segment was built up to offset {built_end}, but is committed at {end_offset}.")
