"""May this upload come in? Each rule of the upload's check order as one function (rule `upload-checks`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from segments.domain.realtime.llc_name import is_llc_name
from segments.domain.replacement.lineage import Entry, Lineage, State
from segments.domain.segments.segment_metadata import COMMITTING, IN_PROGRESS, TIME_RANGE_MS, SegmentMetadata
from segments.domain.segments.upload import UploadedSegment
from segments.domain.tables.keyed_tables import is_keyed
from segments.domain.tables.table_config import TableConfig
from segments.errors import Forbidden, Gone, InvalidInput, PreconditionFailed, StateConflict
from segments.names import OFFLINE, REALTIME, TableName

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)B?", re.IGNORECASE)
#: Table setting: ``strict``, or absent.
FENCE: Final = "pinotadmin.upload.fence"
_FACTORS: Final = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}


@dataclass(frozen=True)
class Conditions:
    """What the caller asks for: refresh allowed, refresh only, the CRC that must be on record, the parallel-push lock.

    ``keeps_content``: a segment that exists may come again, but not with other content.
    """

    allow_refresh: bool = True
    refresh_only: bool = False
    if_match: str | None = None
    is_protected: bool = False
    keeps_content: bool = False


def check_name_form(config: TableConfig, segment: str) -> None:
    """An OFFLINE table takes no name of the uploaded-realtime form ``a__b__c__d__e``. Raises InvalidInput."""
    if config.table.type == OFFLINE and segment.count("__") == 4:
        raise InvalidInput(
            f"Segment '{segment}' is named like an uploaded realtime segment, but table '{config.table}' is OFFLINE.",
            remedy="Give it a name without four '__', or upload it to a REALTIME table.",
        )


def check_other_half(other: TableName, names: Sequence[str], taken: Collection[str]) -> None:
    """Refuse segments that share their file's name with the ``other`` half of a hybrid table: those ``taken`` there,
    and names that only its stream gives. Raises StateConflict.
    """
    foreign = [n for n in names if n in taken or (other.type == REALTIME and is_llc_name(n))]
    if foreign:
        text = f"Segment '{foreign[0]}' is, or is named like, one of table '{other}', whose file it would replace."
        raise StateConflict(text, remedy="Give it another name.", segment=foreign[0])


def check_time(config: TableConfig, segment: UploadedSegment) -> None:
    """A table with a time column takes only segments inside 1971..2071, unless the table switches this off. Raises
    Forbidden.
    """
    if config.time_column is None or not config.segment_time_check or segment.total_docs == 0:
        return
    low, high = TIME_RANGE_MS
    start, end = segment.start_ms, segment.end_ms
    if start is None or end is None or not low <= start <= end <= high:
        raise Forbidden(
            f"Segment '{segment.name}' of table '{config.table}' has the time interval {start}..{end} ms, "
            "outside 1971-01-01..2071-01-01.",
            remedy="Check the time column's format, or set ingestionConfig.segmentTimeValueCheck to false.",
        )


def check_existing(
    table: str, segment: str, old: SegmentMetadata | None, wanted: Conditions, *, now_ms: int, lock_ms: int
) -> None:
    """The caller's conditions against the record, None when the segment is new.

    Raises Gone, StateConflict or PreconditionFailed, in Pinot's order.
    """
    if old is None:
        if wanted.refresh_only:
            raise Gone(
                f"Segment '{segment}' of table '{table}' does not exist, so it cannot be refreshed.",
                remedy="Upload it first.",
            )
        return
    if not wanted.allow_refresh:
        raise StateConflict(
            f"Segment: {segment} already exists in table: {table}. Refresh not permitted.",
            remedy="Upload with allowRefresh=true or under another name.",
        )
    if old.status in (IN_PROGRESS, COMMITTING):
        raise StateConflict(
            f"Segment '{segment}' of table '{table}' is {old.status}.", remedy="Wait until it is committed."
        )
    if wanted.if_match is not None and wanted.if_match.strip().strip('"') != str(old.crc):
        raise PreconditionFailed(
            f"Segment '{segment}' of table '{table}' has CRC {old.crc}, not {wanted.if_match} as If-Match asks.",
            remedy="Read the record again and decide again.",
        )
    if wanted.is_protected and old.upload_lock_ms is not None and now_ms - old.upload_lock_ms < lock_ms:
        raise another_upload(table, segment)


def another_upload(table: str, segment: str) -> StateConflict:
    """The refusal while somebody else uploads the same name."""
    return StateConflict(
        f"Another segment upload is in progress for segment: {segment} of table: {table}.", remedy="Retry later."
    )


def check_comes_from_stream(config: TableConfig, segment: UploadedSegment) -> None:
    """Where a primary key has one row, a row's place in its stream decides. Raises InvalidInput."""
    if is_keyed(config):
        raise InvalidInput(
            f"Segment '{segment.name}' cannot be added to upsert or dedup table '{config.table}': its rows have no "
            "place among those of the stream.",
            remedy="Send the rows to the stream; a segment that came from it can be uploaded again under its name.",
        )


def check_offsets(config: TableConfig, segment: UploadedSegment) -> None:
    """A new segment of a REALTIME table named like a consumed one must know its offsets (rule `upload-checks`). Raises
    InvalidInput.
    """
    if config.table.type != REALTIME or not is_llc_name(segment.name):
        return
    if segment.start_offset is None or segment.end_offset is None:
        raise InvalidInput(
            f"Segment '{segment.name}' is named like a consumed segment, but its file holds no start and end offset.",
            remedy="Give it another name, or build it with segment.realtime.startOffset and endOffset in its metadata.",
        )


def check_not_hidden(
    lineage: Lineage, segments: Iterable[str], new: Collection[str], *, began_ms: int, is_strict: bool
) -> list[str]:
    """An upload that names no lineage entry may not bring what no query would ever see (rule `fenced-uploads`). Returns
    warnings; raises StateConflict.

    Refused: a name of a push that was reverted while the upload ran, and a new segment under a name that was replaced.
    One that begins after the revert is let in, as Pinot does, hidden and with a warning; a table that sets
    ``pinotadmin.upload.fence`` to ``strict`` refuses it too.
    """
    warnings = []
    named = set(segments)
    live = {s for e in lineage.entries.values() if e.state is not State.REVERTED for s in e.segments_to}
    for entry in lineage.in_order():
        if entry.state is State.COMPLETED:
            hidden, is_final = sorted(named.intersection(entry.segments_from, new)), True
        elif entry.state is State.REVERTED:
            hidden, is_final = (
                sorted(named.intersection(entry.segments_to) - live),
                is_strict or entry.timestamp_ms >= began_ms,
            )
        else:
            continue
        if hidden and is_final:
            raise _hidden(lineage.table, hidden[0], entry)
        warnings += [
            f"Segment '{s}' belongs to reverted lineage entry '{entry.id}': no query sees it, it will be removed."
            for s in hidden
        ]
    return warnings


def _hidden(table: str, segment: str, entry: Entry) -> StateConflict:
    what = "was reverted" if entry.state is State.REVERTED else "replaced it"
    return StateConflict(
        f"Segment '{segment}' of table '{table}' belongs to lineage entry '{entry.id}', which {what}: no query "
        "would see it.",
        remedy="Start a new replacement that lists it, or upload it under another name.",
        entry=entry.id,
        segments=[segment],
    )


def is_fence_strict(config: TableConfig) -> bool:
    """Does the table refuse every upload into a reverted push, however late it begins?"""
    return config.custom.get(FENCE, "").strip().lower() == "strict"


def check_fence(lineage: Lineage, entry_id: str | None, segments: Iterable[str]) -> None:
    """An upload that names its lineage entry comes in only while that entry runs and lists the segment (rule
    `fenced-uploads`).

    Raises StateConflict; NotFound when there is no such entry.
    """
    if entry_id is None:
        return
    entry = lineage.entry(entry_id)
    if entry.state is not State.IN_PROGRESS:
        raise StateConflict(
            f"Lineage entry '{entry_id}' of table '{lineage.table}' is {entry.state}, so its segments cannot be "
            "uploaded any more.",
            remedy="Start a new replacement.",
            entry=entry_id,
        )
    strangers = sorted(set(segments) - set(entry.segments_to))
    if strangers:
        raise StateConflict(
            f"Segment '{strangers[0]}' is not in segmentsTo of lineage entry '{entry_id}'.",
            remedy="List all new segments when the replacement is started.",
            entry=entry_id,
            segments=strangers,
        )


def parse_size(text: str | None) -> int | None:
    """``100G``, ``512 MB`` -> bytes; None for no or unreadable text (then there is no quota)."""
    found = _SIZE.fullmatch(text.strip()) if text else None
    return int(float(found[1]) * _FACTORS[found[2].upper()]) if found else None


def quota_bytes(config: TableConfig) -> int | None:
    """Bytes that one copy of the table may take (``quota.storage``), None: no limit."""
    quota = config.model.quota
    return parse_size(quota.storage) if quota is not None else None


def check_quota(config: TableConfig, kept_bytes: int, incoming_bytes: int) -> None:
    """``kept_bytes`` is what stays next to the incoming segments, hidden snapshots included (rule
    `declared-size-fits`). Raises Forbidden.
    """
    allowed = quota_bytes(config)
    if allowed is not None and kept_bytes + incoming_bytes > allowed:
        raise Forbidden(
            f"Storage quota check failed for table '{config.table}': {kept_bytes} bytes are stored, "
            f"{incoming_bytes} more"
            f" would exceed quota.storage of {allowed} bytes per copy.",
            remedy="Raise quota.storage or delete segments.",
        )


def check_projected(config: TableConfig, stored_bytes: int, promised_bytes: int, declared_bytes: int) -> None:
    """At the start of a replacement (rule `declared-size-fits`): bytes stored, promised to other pushes and declared
    now, of one copy each. Raises Forbidden.
    """
    allowed = quota_bytes(config)
    projected = stored_bytes + promised_bytes + declared_bytes
    if allowed is None or projected <= allowed:
        return
    copies = config.replication
    raise Forbidden(
        f"Storage quota check failed for table '{config.table}': {stored_bytes} bytes are stored,"
        f" {promised_bytes} promised to other pushes, {declared_bytes} declared;"
        f" {projected} in all, quota.storage allows {allowed} per copy"
        f" ({projected * copies} of {allowed * copies} bytes with {copies} {'copies' if copies > 1 else 'copy'}).",
        remedy="Raise quota.storage, delete old segments, or keep fewer snapshots. Nothing was started.",
        storedBytes=stored_bytes,
        promisedBytes=promised_bytes,
        declaredBytes=declared_bytes,
        allowedBytes=allowed,
        replication=copies,
    )
