"""What an upload writes: a new segment's record, or the record of a refresh by CRC."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from segments.domain.formats.bounded_json import parse_json
from segments.domain.segments.segment_metadata import UPLOADED, SegmentMetadata
from segments.errors import InvalidInput

_MODES: Final = ("REPLACE", "UPDATE")


@dataclass(frozen=True)
class UploadedSegment:
    """A segment as it says of itself, plus where servers fetch it. Times in epoch milliseconds, ``*_raw`` as in the
    time column.

    ``size_bytes`` is that of the tar (None: unknown). ``partitions`` is {column: partition metadata} in Pinot's JSON
    form. ``start_offset`` and ``end_offset``: what of the stream it holds, None for a segment that never was consumed.
    """

    name: str
    crc: int
    total_docs: int
    index_version: str
    creation_ms: int
    download_url: str
    size_bytes: int | None = None
    data_crc: int | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    start_raw: str | None = None
    end_raw: str | None = None
    partitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    custom: Mapping[str, str] = field(default_factory=dict)
    start_offset: str | None = None
    end_offset: str | None = None


@dataclass(frozen=True)
class CustomMapModifier:
    """Header ``Pinot-SegmentZKMetadataCustomMapModifier``: replace the custom map or update it."""

    mode: str
    changes: Mapping[str, str]

    def apply(self, base: Mapping[str, str]) -> dict[str, str]:
        """The custom map afterwards."""
        return {**(base if self.mode == "UPDATE" else {}), **self.changes}


def parse_modifier(text: str | None) -> CustomMapModifier | None:
    """``{"mapModifyMode":"UPDATE","map":{...}}``; None when there is none. Raises InvalidInput."""
    if not text:
        return None
    remedy = 'Send {"mapModifyMode":"REPLACE" or "UPDATE","map":{...}}.'
    try:
        body = parse_json(text, what="The custom map modifier")
        mode, changes = body["mapModifyMode"], body.get("map") or {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput("The custom map modifier cannot be read.", remedy=remedy) from error
    if mode not in _MODES or not isinstance(changes, dict):
        raise InvalidInput(f"'{mode}' is not a custom map modification.", remedy=remedy)
    return CustomMapModifier(mode, {str(k): str(v) for k, v in changes.items()})


def new_metadata(
    uploaded: UploadedSegment, modifier: CustomMapModifier | None, now_ms: int, *, is_realtime: bool = False
) -> SegmentMetadata:
    """The record of a segment that was not there before; one of a REALTIME table says that it was uploaded, and its
    offsets.
    """
    custom = modifier.apply(uploaded.custom) if modifier else uploaded.custom
    fields = {**_content(uploaded), "segment.push.time": now_ms, **(_stream_fields(uploaded) if is_realtime else {})}
    return SegmentMetadata(uploaded.name, {}).edited(fields, custom)


def _stream_fields(uploaded: UploadedSegment) -> dict[str, str | int | None]:
    """Of a REALTIME table; offsets that the file does not know stay as they are."""
    offsets = {"segment.realtime.startOffset": uploaded.start_offset, "segment.realtime.endOffset": uploaded.end_offset}
    return {"segment.realtime.status": UPLOADED, **{k: v for k, v in offsets.items() if v is not None}}


def refreshed_metadata(
    old: SegmentMetadata,
    uploaded: UploadedSegment,
    modifier: CustomMapModifier | None,
    now_ms: int,
    *,
    is_realtime: bool = False,
) -> SegmentMetadata:
    """The record of a segment that is uploaded again. Push time stays, refresh time is set, the upload lock goes.

    With the same CRC only creation time, refresh time, address and custom map change (the file is the same).
    """
    common = {
        "segment.refresh.time": now_ms,
        "segment.upload.start.time": None,
        "segment.download.url": uploaded.download_url,
    }
    if uploaded.crc == old.crc:
        custom = modifier.apply(old.custom) if modifier else uploaded.custom
        return old.edited({"segment.creation.time": uploaded.creation_ms, **common}, custom)
    custom = modifier.apply({**old.custom, **uploaded.custom}) if modifier else uploaded.custom
    stream = _stream_fields(uploaded) if is_realtime else {}
    return old.edited(
        {**_content(uploaded), **stream, "segment.crypter": None, "segment.use.data.crc": None, **common}, custom
    )


def _content(uploaded: UploadedSegment) -> dict[str, str | int | None]:
    """The fields that describe the file; a key without a value is removed."""
    has_times = uploaded.start_ms is not None and uploaded.end_ms is not None
    partitions = {"columnPartitionMap": uploaded.partitions}
    return {
        "segment.crc": uploaded.crc,
        "segment.data.crc": _positive(uploaded.data_crc),
        "segment.total.docs": uploaded.total_docs,
        "segment.index.version": uploaded.index_version,
        "segment.creation.time": uploaded.creation_ms,
        "segment.size.in.bytes": _positive(uploaded.size_bytes),
        "segment.start.time": _positive(uploaded.start_ms),
        "segment.end.time": _positive(uploaded.end_ms),
        "segment.time.unit": "MILLISECONDS" if has_times else None,
        "segment.start.time.raw": uploaded.start_raw,
        "segment.end.time.raw": uploaded.end_raw,
        "segment.partition.metadata": json.dumps(partitions, separators=(",", ":")) if uploaded.partitions else None,
        "segment.download.url": uploaded.download_url,
    }


def _positive(value: int | None) -> int | None:
    """None for what Pinot's writers leave out: unknown and negative numbers."""
    return value if value is not None and value >= 0 else None
