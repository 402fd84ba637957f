"""What is old enough to go: replaced snapshots, stale lineage entries, APPEND data by time, files of deleted segments.

Rules: lineage.md 7 (lineage), 8 (time, deleted segments). Every function decides from what it is given; nothing is read or deleted here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from segments.domain.lease import last_sign_ms
from segments.domain.lineage import Entry, Lineage, State
from segments.domain.replacement import superseded_by
from segments.domain.segment_metadata import COMPLETED_STATUSES, TIME_RANGE_MS, SegmentMetadata
from segments.domain.table_config import DAY_MS, TableConfig, parse_period
from segments.errors import InvalidInput

_UNTIL: Final = "__RETENTION_UNTIL__"
_UNTIL_FORMAT: Final = "%Y%m%d%H%M"
#: Staged files of uploads are given up after this long.
STRANDED_MS: Final = DAY_MS
#: At most this many files of deleted segments go per table and pass.
AGED_BATCH: Final = 1000


@dataclass(frozen=True)
class LineagePlan:
    """``drop``: ids of entries to remove; ``delete``: segments to take out; ``why``: one sentence each."""

    drop: tuple[str, ...]
    delete: tuple[str, ...]
    why: tuple[str, ...]


def plan_lineage(lineage: Lineage, config: TableConfig, ideal: Collection[str], now_ms: int) -> LineagePlan:
    """Which entries are spent and which hidden segments are old enough. Usually two passes: first segments, then the entry.

    Pinned entries stay, and so does an entry that hides a segment which another one's pin keeps: dropped, it would show it again.
    """
    drop: list[str] = []
    delete: list[str] = []
    why: list[str] = []
    superseded = {o.id for e in lineage.entries.values() for o in superseded_by(lineage, e)} if config.is_refresh else set()
    pinned = lineage.pinned()
    for entry in lineage.in_order():
        side, due = _spent_side(entry, config, now_ms)
        due = due or entry.id in superseded
        if entry.is_pinned:
            continue
        left = [s for s in side if s in ideal]
        going = [s for s in left if s not in pinned]
        if not left and (entry.state is State.COMPLETED or due):
            drop.append(entry.id)
            why.append(f"Dropped lineage entry {entry.id} ({entry.state}): none of its {len(side)} old segments is left.")
        elif going and due:
            delete += going
            why.append(f"Deleted {len(going)} segments of lineage entry {entry.id} ({entry.state}).")
    return LineagePlan(tuple(drop), tuple(dict.fromkeys(delete)), tuple(why))


def _spent_side(entry: Entry, config: TableConfig, now_ms: int) -> tuple[tuple[str, ...], bool]:
    """(the side that is to go, is it time?)"""
    age = now_ms - entry.timestamp_ms
    match entry.state:
        case State.COMPLETED:
            return entry.segments_from, age > config.replaced_retention_ms
        case State.REVERTED:
            return entry.segments_to, True
        case State.IN_PROGRESS:
            return entry.segments_to, now_ms - last_sign_ms(entry) > config.entry_retention_ms


def plan_time(config: TableConfig, segments: Iterable[SegmentMetadata], locked: Collection[str], now_ms: int) -> list[str]:
    """APPEND segments whose end time is older than the table's retention and that no replacement locks."""
    keep_ms = config.time_retention_ms
    if keep_ms is None or config.is_refresh:
        return []
    low, high = TIME_RANGE_MS
    return sorted(
        m.name
        for m in segments
        if m.name not in locked
        and m.status in COMPLETED_STATUSES
        and m.end_ms is not None
        and low <= m.end_ms <= high
        and now_ms - m.end_ms > keep_ms
    )


def rollback_deadline_ms(entry: Entry, config: TableConfig) -> int | None:
    """Until when (epoch ms) the old side of a COMPLETED entry is kept; None for other states."""
    return entry.timestamp_ms + config.replaced_retention_ms if entry.state is State.COMPLETED else None


def check_retention(text: str | None) -> None:
    """Raise InvalidInput unless ``text`` is None or a period such as ``3d``, ``12h`` or ``0d``."""
    if text is not None and parse_period(text) is None:
        raise InvalidInput(f"'{text}' is no retention.", remedy="Use for example 7d, 12h or 0d.")


def deleted_file_path(raw_table: str, encoded: str, own: str | None, cluster_days: int, now_ms: int) -> str | None:
    """Where a deleted segment's file is kept; None when it goes at once. An own term is written into the name (UTC)."""
    term = parse_period(own)
    kept_ms = term if term is not None else cluster_days * DAY_MS
    if kept_ms <= 0:
        return None
    suffix = ""
    if term is not None:
        suffix = _UNTIL + datetime.fromtimestamp((now_ms + term) / 1000, UTC).strftime(_UNTIL_FORMAT)
    return f"Deleted_Segments/{raw_table}/{encoded}{suffix}"


def expires_ms(file_name: str, modified_ms: int, cluster_days: int) -> int:
    """When a deleted segment's file may go: by its name, else so long after it was put away."""
    found = re.search(_UNTIL + r"(\d{12})$", file_name)
    if found:
        return int(datetime.strptime(found[1], _UNTIL_FORMAT).replace(tzinfo=UTC).timestamp() * 1000)
    return modified_ms + cluster_days * DAY_MS


def is_aged(file_name: str, modified_ms: int, cluster_days: int, now_ms: int) -> bool:
    """Has the term of a deleted segment's file passed?"""
    return expires_ms(file_name, modified_ms, cluster_days) < now_ms


def is_stranded(file_name: str, modified_ms: int, now_ms: int) -> bool:
    """Is this a staged file (``<segment>.tmp.<something>``) too old to belong to a living upload?"""
    return ".tmp." in file_name and now_ms - modified_ms > STRANDED_MS
