"""What is kept of a deleted segment, so that it can come back exactly: its record, where its tar is, who deleted it,
until when.

The tar is kept where Pinot keeps it, ``Deleted_Segments/<raw table>/<file>``; the rest next to it as one small JSON
document under the same file name in ``Deleted_Records/<raw table>/``. Both age by the file's name or time (rule
`pinot-layout`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement.undo.return_rule import Obstacle
from segments.domain.segments.segment_metadata import COMPLETED_STATUSES, SegmentMetadata, from_record
from segments.errors import RecordCorrupt

#: Folder of the documents in the deep store, next to Pinot's ``Deleted_Segments``.
RECORDS: Final = "Deleted_Records"
#: Key of a table's ``customConfigs``: copies of a Pinot's segments are kept before they are deleted through us.
KEEP_COPIES: Final = "pinotadmin.deletion.keepCopies"
#: Between the encoded name of a segment, which never holds it, and the CRC that distinguishes its kept versions.
VERSION: Final = "!"


@dataclass(frozen=True)
class ArchivedSegment:
    """One document. ``table`` is the typed name; ``file`` the name in both folders; times in epoch milliseconds.

    ``bytes`` is the size of the kept tar; None: the deep store never held it, the record's address is a foreign one.
    ``servers`` held the segment when it was deleted. ``replaced_by`` is the CRC of the segment of the same name that
    took its place; None: it was deleted.
    """

    table: str
    segment: str
    file: str
    record: ZNRecord
    bytes: int | None
    servers: tuple[str, ...]
    requested_ms: int
    deleted_ms: int
    deleted_by: str
    reason: str
    replaced_by: int | None = None

    @property
    def metadata(self) -> SegmentMetadata:
        """The segment's record as it was."""
        return from_record(self.record)


def to_json(kept: ArchivedSegment) -> bytes:
    """The document."""
    record = kept.record
    body = {
        "table": kept.table,
        "segment": kept.segment,
        "file": kept.file,
        "bytes": kept.bytes,
        "servers": list(kept.servers),
        "requestedMs": kept.requested_ms,
        "deletedMs": kept.deleted_ms,
        "deletedBy": kept.deleted_by,
        "reason": kept.reason,
        **({"replacedBy": kept.replaced_by} if kept.replaced_by is not None else {}),
        "record": {
            "id": record.id,
            "simpleFields": record.simple,
            "mapFields": record.maps,
            "listFields": record.lists,
        },
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def from_json(data: bytes) -> ArchivedSegment:
    """The document's content. RecordCorrupt when it is none."""
    try:
        body: Mapping[str, Any] = json.loads(data)
        found = body["record"]
        record = ZNRecord(
            str(found["id"]), dict(found["simpleFields"]), dict(found["mapFields"]), dict(found["listFields"])
        )
        return ArchivedSegment(
            table=str(body["table"]),
            segment=str(body["segment"]),
            file=str(body["file"]),
            record=record,
            bytes=body["bytes"],
            servers=tuple(body["servers"]),
            requested_ms=int(body["requestedMs"]),
            deleted_ms=int(body["deletedMs"]),
            deleted_by=str(body["deletedBy"]),
            reason=str(body["reason"]),
            replaced_by=body.get("replacedBy"),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordCorrupt(f"The record of a deleted segment cannot be read: {error}.") from error


@dataclass(frozen=True)
class Outcome:
    """What became of one segment of a request for many; ``done`` also stands for what a dry run would do.

    ``replaces``: it takes the place of the segment that has the name now.
    """

    segment: str
    outcome: Literal["done", "unchanged", "refused", "failed"]
    message: str
    remedy: str = ""
    bytes: int | None = None
    crc: int | None = None
    replaces: bool = False


def refused(segment: str, message: str, remedy: str) -> Outcome:
    """An outcome that changed nothing."""
    return Outcome(segment, "refused", message, remedy)


def version_name(encoded: str, version: int) -> str:
    """The name of a kept file that does not take the place of another version of the same segment."""
    return f"{encoded}{VERSION}{version}"


def is_replaced_by(old: SegmentMetadata, crc: int) -> bool:
    """Does an upload with this CRC take the place of a file that could be wanted back?"""
    return old.status in COMPLETED_STATUSES and old.crc is not None and old.crc != crc


def name_refusal(
    segment: str, table: str, ideal: Mapping[str, object], obstacles: Mapping[str, Obstacle]
) -> Outcome | None:
    """Why this name cannot come back now, None when it can: it exists again, or one of the ``obstacles``
    (``ReturnRule``) is its own.
    """
    if segment in ideal:
        return refused(segment, f"Segment '{segment}' exists in table '{table}'.", _IN_ITS_PLACE)
    if segment not in obstacles:
        return None
    why, remedy = obstacles[segment].explained()
    return refused(segment, f"Segment '{segment}' cannot be restored: {why}.", remedy)


_IN_ITS_PLACE: Final = (
    "Restore with overwrite=true to put the kept one in its place; the present one is then kept in turn."
)


def summary(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """{outcome: how many}, only those that occur."""
    counts: dict[str, int] = {}
    for one in outcomes:
        counts[one.outcome] = counts.get(one.outcome, 0) + 1
    return counts
