"""What is old enough to go: replaced snapshots, stale lineage entries, APPEND data by time, files of deleted segments.

Rules `lineage-clean-up` and `a-way-back`. Every function decides from what it is given; nothing is read
or deleted here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from segments.domain.formats.plural import counted
from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.domain.replacement.kept_snapshots import rollback_targets, snapshots_before, superseded_by
from segments.domain.replacement.lease import last_sign_ms
from segments.domain.replacement.lineage import Entry, Lineage, State
from segments.domain.replacement.replacement_settings import settings_or_default
from segments.domain.segments.ideal_state import OFFLINE as OFFLINE_STATE
from segments.domain.segments.segment_metadata import (
    COMPLETED_STATUSES,
    DONE,
    IN_PROGRESS,
    TIME_RANGE_MS,
    SegmentMetadata,
)
from segments.domain.tables.table_config import DAY_MS, TableConfig, parse_period
from segments.errors import InvalidInput
from segments.names import REALTIME

_UNTIL: Final = "__RETENTION_UNTIL__"
_UNTIL_FORMAT: Final = "%Y%m%d%H%M"
#: Staged files of uploads are given up after this long.
STRANDED_MS: Final = DAY_MS
#: A consuming segment that no server consumes is given up after this long.
GIVEN_UP_MS: Final = 5 * DAY_MS
#: At most this many files of deleted segments go per table and pass.
AGED_BATCH: Final = 1000


@dataclass(frozen=True)
class LineagePlan:
    """``drop``: ids of entries to remove; ``delete``: segments to take out; ``why``: one sentence each.

    ``orphans``: names of dropped unfinished entries; a record that one of them still has, without a row, goes too
    (rule `lineage-clean-up`).
    """

    drop: tuple[str, ...]
    delete: tuple[str, ...]
    why: tuple[str, ...]
    orphans: tuple[str, ...] = ()


def plan_lineage(
    lineage: Lineage, config: TableConfig, ideal: Collection[str], now_ms: int, *, spare: Collection[str] = ()
) -> LineagePlan:
    """Which entries are spent and which hidden segments are old enough. Usually two passes: first segments, then the
    entry.

    Kept whatever its age: both sides of a pinned entry, what a rollback over the snapshots that the table asks for
    would need (rule `previous-snapshots-kept`), and ``spare`` (last committed segments of a realtime table). An entry
    that hides one of those stays too: dropped, it would show it again. And the history between such an old snapshot and
    the present one stays, or going back would not know what to remove.
    """
    drop: list[str] = []
    delete: list[str] = []
    why: list[str] = []
    orphans: list[str] = []
    for fate in _fates(lineage, config, ideal, spare):
        entry, side = fate.entry, fate.entry.hides
        if fate.is_dropped(config, now_ms):
            drop.append(entry.id)
            orphans += side if entry.state is not State.COMPLETED else ()
            why.append(
                f"Dropped lineage entry {entry.id} ({entry.state}): none of its {len(side)} old segments is left."
            )
        elif fate.going and fate.is_due(config, now_ms):
            delete += fate.going
            why.append(f"Deleted {counted(len(fate.going), 'segment')} of lineage entry {entry.id} ({entry.state}).")
    return LineagePlan(tuple(drop), tuple(dict.fromkeys(delete)), tuple(why), tuple(dict.fromkeys(orphans)))


@dataclass(frozen=True)
class _Fate:
    """What becomes of an entry that is not pinned, and of the segments that it hides, whenever it is due. ``is_left``:
    is one of them there? ``going``: those that nothing keeps. ``is_linked``: its chain still needs the entry.
    """

    entry: Entry
    is_left: bool
    going: list[str]
    is_superseded: bool
    is_linked: bool

    def is_due(self, config: TableConfig, now_ms: int) -> bool:
        """Is it time for its segments to go?"""
        return self.is_superseded or _is_spent(self.entry, config, now_ms)

    def is_dropped(self, config: TableConfig, now_ms: int) -> bool:
        """Does the entry itself go?"""
        if self.is_left or self.is_linked:
            return False
        return self.entry.state is State.COMPLETED or self.is_due(config, now_ms)


def _fates(lineage: Lineage, config: TableConfig, ideal: Collection[str], spare: Collection[str]) -> Iterator[_Fate]:
    wanted = settings_or_default(config)
    kept = lineage.pinned() | rollback_targets(lineage, wanted.kept_by_time) | set(spare)
    superseded = _superseded(lineage, wanted.kept_by_push) if config.is_refresh else set()
    linked = _built_on_what_is_left(lineage, ideal)
    for entry in (e for e in lineage.in_order() if not e.is_pinned):
        left = [s for s in entry.hides if s in ideal]
        going = [s for s in left if s not in kept]
        yield _Fate(entry, bool(left), going, entry.id in superseded, entry.id in linked)


def _built_on_what_is_left(lineage: Lineage, ideal: Collection[str]) -> set[str]:
    """Completed entries above one in a chain that is pinned, or whose old side is not all gone."""
    completed = [e for e in lineage.entries.values() if e.state is State.COMPLETED]
    reached = {s for e in completed if e.is_pinned or any(s in ideal for s in e.segments_from) for s in e.segments_to}
    found: set[str] = set()
    while level := [e for e in completed if e.id not in found and not reached.isdisjoint(e.segments_from)]:
        found |= {e.id for e in level}
        reached |= {s for e in level for s in e.segments_to}
    return found


def _superseded(lineage: Lineage, keep: int) -> set[str]:
    before = snapshots_before(lineage)
    return {old.id for entry in lineage.entries.values() for old in superseded_by(before, entry, keep)}


def _is_spent(entry: Entry, config: TableConfig, now_ms: int) -> bool:
    match entry.state:
        case State.COMPLETED:
            return now_ms - entry.timestamp_ms > config.replaced_retention_ms
        case State.REVERTED:
            return True
        case State.IN_PROGRESS:
            return now_ms - last_sign_ms(entry) > config.entry_retention_ms


def plan_time(
    config: TableConfig,
    segments: Iterable[SegmentMetadata],
    locked: Collection[str],
    now_ms: int,
    rows: Mapping[str, Mapping[str, str]] | None = None,
) -> list[str]:
    """Segments whose end time is older than the table's retention and that no replacement locks: APPEND and REALTIME
    tables.

    Of a REALTIME table only committed ones, never the last of a partition; a consuming one that nobody consumes goes
    after five days. ``rows`` is the ideal state, needed for those.
    """
    keep_ms = config.time_retention_ms
    is_realtime = config.table.type == REALTIME
    if keep_ms is None or (config.is_refresh and not is_realtime):
        return []
    known = list(segments)
    spared = last_committed(known) if is_realtime else set()
    due = [m for m in known if _is_old(m, keep_ms, now_ms) or (is_realtime and _is_given_up(m, rows or {}, now_ms))]
    return sorted(m.name for m in due if m.name not in locked and m.name not in spared)


def _is_old(meta: SegmentMetadata, keep_ms: int, now_ms: int) -> bool:
    low, high = TIME_RANGE_MS
    if meta.status not in COMPLETED_STATUSES or meta.end_ms is None:
        return False
    return low <= meta.end_ms <= high and now_ms - meta.end_ms > keep_ms


def _is_given_up(meta: SegmentMetadata, rows: Mapping[str, Mapping[str, str]], now_ms: int) -> bool:
    """A consuming segment without a server for five days."""
    if meta.status != IN_PROGRESS or meta.creation_ms is None or now_ms - meta.creation_ms <= GIVEN_UP_MS:
        return False
    return all(state == OFFLINE_STATE for state in rows.get(meta.name, {}).values())


def last_committed(segments: Iterable[SegmentMetadata]) -> set[str]:
    """The committed segment with the highest sequence of every partition: consumption goes on from its end (rule
    `last-committed-stays`).
    """
    last: dict[int, tuple[int, str]] = {}
    for meta in segments:
        if meta.status == DONE and is_llc_name(meta.name):
            name = parse_llc_name(meta.name)
            last[name.partition] = max(last.get(name.partition, (-1, "")), (name.sequence, meta.name))
    return {segment for _, segment in last.values()}


class CleanUps:
    """When clean-ups will touch entries of a lineage; it is gone through once, for however many entries."""

    def __init__(self, lineage: Lineage, config: TableConfig, ideal: Collection[str]) -> None:
        self._config = config
        self._fates = {f.entry.id: f for f in _fates(lineage, config, ideal, ())}
        self._going: dict[str, list[_Fate]] = {}
        for fate in self._fates.values():
            for name in fate.going:
                self._going.setdefault(name, []).append(fate)

    def touched_from_ms(self, entry: Entry, now_ms: int) -> int | None:
        """From when on (epoch ms) a retention pass would delete of the entry's hidden side, or drop it; None: under the
        present rules never.
        """
        after = entry.timestamp_ms + self._config.replaced_retention_ms + 1
        return next((at for at in (now_ms, max(after, now_ms)) if self._touches(entry, at)), None)

    def rollback_deadline_ms(self, entry: Entry, now_ms: int, next_pass_ms: int | None) -> int | None:
        """Until when (epoch ms) a COMPLETED entry can be taken back as far as clean-ups go; None: no clean-up ends it,
        or it is not known when.

        An entry with an empty old side has nothing that is kept: the next pass, at ``next_pass_ms``, drops it whatever
        its age. So goes what a later snapshot superseded. What is pinned or among the snapshots that the table keeps
        stays.
        """
        if entry.state is not State.COMPLETED:
            return None
        due = self.touched_from_ms(entry, now_ms)
        if due is None:
            return None
        kept_until = entry.timestamp_ms + self._config.replaced_retention_ms
        is_by_age = bool(entry.segments_from) and (due > now_ms or kept_until < now_ms)
        return kept_until if is_by_age else next_pass_ms

    def _touches(self, entry: Entry, at_ms: int) -> bool:
        own = self._fates.get(entry.id)
        if own is not None and own.is_dropped(self._config, at_ms):
            return True
        hidden = {f.entry.id: f for s in entry.hides for f in self._going.get(s, ())}
        return any(fate.is_due(self._config, at_ms) for fate in hidden.values())


def check_retention(text: str | None) -> None:
    """Raise InvalidInput unless ``text`` is None or a period such as ``3d``, ``12h`` or ``0d``."""
    if text is not None and parse_period(text) is None:
        raise InvalidInput(f"'{text}' is not a retention.", remedy="Use for example 7d, 12h or 0d.")


def deleted_kept_ms(own: str | None, cluster_days: int) -> int:
    """How long (ms) the file of a segment that is deleted now is kept, by the table's ``own`` term or the cluster's; 0:
    it goes at once.
    """
    term = parse_period(own)
    return term if term is not None else cluster_days * DAY_MS


def deleted_file_path(raw_table: str, encoded: str, own: str | None, cluster_days: int, now_ms: int) -> str | None:
    """Where a deleted segment's file is kept; None when it goes at once. An own term is written into the name (UTC)."""
    term = parse_period(own)
    if deleted_kept_ms(own, cluster_days) <= 0:
        return None
    suffix = ""
    if term is not None:
        suffix = _UNTIL + datetime.fromtimestamp((now_ms + term) / 1000, UTC).strftime(_UNTIL_FORMAT)
    return f"Deleted_Segments/{raw_table}/{encoded}{suffix}"


def expires_ms(file_name: str, modified_ms: int, cluster_days: int) -> int:
    """When a deleted segment's file may go: by its name, else so long after it was moved to the archive."""
    found = re.search(r"__RETENTION_UNTIL__(\d{12})$", file_name)
    if found:
        return int(datetime.strptime(found[1], _UNTIL_FORMAT).replace(tzinfo=UTC).timestamp() * 1000)
    return modified_ms + cluster_days * DAY_MS


def is_aged(file_name: str, modified_ms: int, cluster_days: int, now_ms: int) -> bool:
    """Has the term of a deleted segment's file passed?"""
    return expires_ms(file_name, modified_ms, cluster_days) < now_ms


def is_stranded(file_name: str, modified_ms: int, now_ms: int) -> bool:
    """Is this the file of one version of a segment, too old to belong to a living upload?"""
    return version_of_file(file_name)[1] != "" and now_ms - modified_ms > STRANDED_MS


def version_of_file(file_name: str) -> tuple[str, str]:
    """Encoded segment and version of ``<segment>.tmp.<version>`` (staged) or ``<segment>@<CRC>`` (at rest in a remote
    store); the version is empty for any other name.
    """
    segment, _, version = file_name.partition("@")  # no encoded name holds it, while some hold ".tmp."
    if not version and ".tmp." in file_name:
        segment, _, version = file_name.rpartition(".tmp.")
    return segment, version
