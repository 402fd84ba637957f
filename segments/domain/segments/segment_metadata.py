"""One segment's record in ZooKeeper: SegmentZKMetadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.tables.datetime_format import MILLIS

IN_PROGRESS: Final = "IN_PROGRESS"
COMMITTING: Final = "COMMITTING"
DONE: Final = "DONE"
UPLOADED: Final = "UPLOADED"
STATUSES: Final = (IN_PROGRESS, COMMITTING, DONE, UPLOADED)
COMPLETED_STATUSES: Final = frozenset({DONE, UPLOADED})
#: A time outside 1971-01-01..2071-01-01 (milliseconds) is not a segment time.
TIME_RANGE_MS: Final = (31_536_000_000, 3_187_296_000_000)

#: Where an address stands, the newest key first.
URL_KEYS: Final = ("segment.download.url", "segment.offline.download.url", "segment.realtime.download.url")


@dataclass(frozen=True)
class SegmentMetadata:
    """``fields`` are the simple fields as stored; properties read them with Pinot's defaults. Unknown keys survive an
    edit.
    """

    name: str
    fields: Mapping[str, str]
    custom: Mapping[str, str] = field(default_factory=dict)
    record: ZNRecord | None = None

    def _long(self, key: str) -> int | None:
        text = self.fields.get(key)
        try:
            return None if text is None else int(text)
        except ValueError:
            return None

    @property
    def crc(self) -> int | None:
        """CRC of the segment's files, None while consuming."""
        return self._long("segment.crc")

    @property
    def total_docs(self) -> int | None:
        """Rows; None while consuming."""
        return self._long("segment.total.docs")

    @property
    def size_bytes(self) -> int | None:
        """Bytes of the tar in the deep store."""
        return self._long("segment.size.in.bytes")

    @property
    def start_ms(self) -> int | None:
        """First time in the segment, epoch milliseconds."""
        return self._time("segment.start.time")

    @property
    def end_ms(self) -> int | None:
        """Last time in the segment, epoch milliseconds."""
        return self._time("segment.end.time")

    @property
    def creation_ms(self) -> int | None:
        """When the segment was built, epoch milliseconds."""
        return self._long("segment.creation.time")

    @property
    def push_ms(self) -> int | None:
        """First upload, epoch milliseconds."""
        return self._long("segment.push.time") or self._long("segment.offline.push.time")

    @property
    def refresh_ms(self) -> int | None:
        """Latest upload over an existing segment, epoch milliseconds."""
        return self._long("segment.refresh.time") or self._long("segment.offline.refresh.time")

    @property
    def upload_lock_ms(self) -> int | None:
        """Since when a protected upload holds this segment; None: unlocked."""
        return self._long("segment.upload.start.time")

    @property
    def download_url(self) -> str | None:
        """Where servers fetch it: None = never committed, "" = only peers have it; the newest key wins."""
        return next((self.fields[k] for k in URL_KEYS if k in self.fields), None)

    @property
    def status(self) -> str:
        """IN_PROGRESS, COMMITTING, DONE or UPLOADED (the default)."""
        return self.fields.get("segment.realtime.status", UPLOADED)

    @property
    def is_on_servers_only(self) -> bool:
        """Is it committed, and has the deep store no file of it?"""
        return self.status == DONE and self.download_url == ""

    def _time(self, key: str) -> int | None:
        value, unit = self._long(key), self.fields.get("segment.time.unit", "MILLISECONDS")
        if value is None or value <= 0 or unit not in MILLIS:
            return None
        return int(value * MILLIS[unit])

    def edited(
        self, changes: Mapping[str, str | int | None], custom: Mapping[str, str] | None = None
    ) -> SegmentMetadata:
        """A copy with fields set (numbers as text), or removed where None; ``custom`` replaces the custom map when
        given.
        """
        fields = {k: v for k, v in self.fields.items() if k not in changes}
        fields.update({k: str(v) for k, v in changes.items() if v is not None})
        return replace(self, fields=fields, custom=dict(self.custom if custom is None else custom))

    def to_record(self) -> ZNRecord:
        """The znode to write."""
        base = self.record or ZNRecord(self.name)
        maps = {k: v for k, v in base.maps.items() if k != "custom.map"}
        if self.custom:
            maps["custom.map"] = dict(self.custom)
        return replace(base, simple=dict(sorted(self.fields.items())), maps=maps)


def from_record(record: ZNRecord) -> SegmentMetadata:
    """The metadata in a znode."""
    return SegmentMetadata(record.id, record.simple, record.maps.get("custom.map", {}), record)
