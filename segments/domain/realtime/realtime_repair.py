"""What is wrong with the consumption of a realtime table, partition by partition.

Invariant that is restored: every partition that may consume has exactly one latest segment, and that one is consuming.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.llc_name import LLCName, is_llc_name, parse_llc_name
from segments.domain.realtime.pause import PauseState, pause_of
from segments.domain.segments.ideal_state import CONSUMING, OFFLINE, ONLINE
from segments.domain.segments.segment_metadata import COMMITTING, COMPLETED_STATUSES, IN_PROGRESS, SegmentMetadata

#: Custom map of a consuming segment's record: how many times in a row its partition began again without committing
#: anything. Ours.
AGAIN_KEY: Final = "pinotadmin.startedAgain"
#: How long a segment that was begun again has to consume before the next try may follow: doubling with each, from the
#: second on.
_FIRST_AGAIN_MS: Final = 5_000
_LONGEST_AGAIN_MS: Final = 600_000
#: A half-finished commit is somebody's work in progress for this long (``max.segment.completion.time.millis``).
MAX_COMPLETION_MS: Final = 300_000
END_OFFSET: Final = "segment.realtime.endOffset"
START_OFFSET: Final = "segment.realtime.startOffset"


class Kind(StrEnum):
    """What a partition needs; numbered as the cases of the tests."""

    FIRST = "12: the stream's partition has no segment"
    NEXT = "7: the latest segment is committed and nothing consumes"
    AGAIN = "6: every replica stopped consuming"
    FINISH = "2: the commit stopped half-way; its successor is missing"
    CLOSE = "3: the commit stopped half-way; the partition has ended"
    ADOPT = "10: a successor was made and never assigned"
    DISCARD = "10: a record that nobody continues from"
    REPLICAS = "1: some replicas stopped consuming"
    FAILING = "6: every replica stopped again and again; the next try comes later"
    WAIT = "4: too young to tell"
    BARE = "11: assigned without a record, so that nobody can consume it"
    TAKE_BACK = "9: a person has it consumed again"
    STUCK = "9: needs a person"

    @property
    def makes_segment(self) -> bool:
        """Does the repair make a new consuming segment?"""
        return self in (Kind.FIRST, Kind.NEXT, Kind.AGAIN, Kind.FINISH)


@dataclass(frozen=True)
class Known:
    """A segment with its record as read; ``modified_ms`` is the record's mtime, ``version`` what a write must name."""

    name: LLCName
    metadata: SegmentMetadata
    modified_ms: int
    version: int

    @property
    def is_committed(self) -> bool:
        """DONE, UPLOADED, or COMMITTING with its end offset on record."""
        return self.metadata.status in COMPLETED_STATUSES or (
            self.metadata.status == COMMITTING and self.end is not None
        )

    @property
    def times_again(self) -> int:
        """How many times in a row the partition had to begin again for this segment to be there."""
        text = self.metadata.custom.get(AGAIN_KEY, "")
        return int(text) if text.isdigit() else 0

    @property
    def start(self) -> str | None:
        """Start offset, None when there is none."""
        return self.metadata.fields.get(START_OFFSET)

    @property
    def end(self) -> str | None:
        """End offset (exclusive), None while consuming."""
        return self.metadata.fields.get(END_OFFSET)


@dataclass(frozen=True)
class Seen:
    """A realtime table at one moment.

    ``segments`` holds at least the latest assigned and the latest unassigned segment of every partition.
    ``partitions``: what the streams have, None when they could not be asked (then nobody's end is assumed). ``topics``:
    number of stream configs.
    """

    ideal: ZNRecord
    pause: PauseState
    segments: Collection[Known]
    partitions: frozenset[int] | None
    topics: int
    max_completion_ms: int = MAX_COMPLETION_MS
    returns_replicas: bool = False
    #: Somebody is waiting: nothing is put off.
    is_urgent: bool = False
    #: Partitions of segments that are still being deleted: what goes on there waits until they are gone.
    leaving: frozenset[int] = frozenset()
    #: By partition: rows later than all that have a record, themselves without one.
    bare: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    #: A person wants everything put right now: nothing is too young, and what stands still consumes again.
    is_forced: bool = False

    def with_ideal(self, ideal: ZNRecord) -> Seen:
        """The same, had the ideal state been this one."""
        return replace(self, ideal=ideal, pause=pause_of(ideal))


@dataclass(frozen=True)
class Case:
    """One partition's need. ``latest`` is what a new segment continues; ``orphan`` a record without a row."""

    partition: int
    kind: Kind
    latest: Known | None = None
    orphan: Known | None = None
    #: Why, for a person: only where it is not plain from the kind.
    reason: str = ""
    #: Rows without a record that go in the same step.
    bare: tuple[str, ...] = ()

    @property
    def base_offset(self) -> str | None:
        """Where the next segment begins unless the caller says otherwise: the end of what is committed, else the start
        again.
        """
        if self.latest is None:
            return None
        return self.latest.end if self.latest.is_committed and self.latest.end is not None else self.latest.start


@dataclass
class _Partition:
    assigned: Known | None = None
    orphans: list[Known] = field(default_factory=list)


def diagnose(seen: Seen, now_ms: int) -> list[Case]:
    """What each partition needs, in order; healthy ones are left out. A partition that is paused needs nothing."""
    cases = []
    grouped = _by_partition(seen)
    for partition in sorted(set(grouped) | set(seen.partitions or ()) | set(seen.bare)):
        if seen.pause.stops(partition, seen.topics):
            continue
        found = _partition_cases(seen, partition, grouped.get(partition, _Partition()), now_ms)
        found = _with_bare(seen, partition, found)
        if partition in seen.leaving and any(c.kind.makes_segment for c in found):
            found = [Case(partition, Kind.WAIT, reason="a segment of it is still being deleted")]
        cases += found
    return cases


def bare_rows(rows: Iterable[str], records: Collection[str]) -> dict[int, tuple[str, ...]]:
    """By partition, the rows later than all that have a record, themselves without one: half of a commit's start."""
    latest: dict[int, LLCName] = {}
    names = [parse_llc_name(s) for s in rows if is_llc_name(s)]
    for name in (n for n in names if n.text in records):
        if name.partition not in latest or latest[name.partition] < name:
            latest[name.partition] = name
    found: dict[int, list[str]] = defaultdict(list)
    for name in (n for n in names if n.text not in records):
        if name.partition not in latest or latest[name.partition] < name:
            found[name.partition].append(name.text)
    return {partition: tuple(sorted(texts)) for partition, texts in found.items()}


def latest_names(rows: Iterable[str], records: Collection[str], deleted: Collection[str]) -> list[str]:
    """Names whose records a diagnosis must see: per partition the latest with a row and a record, and every later one
    without a row.

    ``deleted`` names are on their way out and count for nothing.
    """
    with_row = {s: parse_llc_name(s) for s in rows if s in records and is_llc_name(s)}
    latest: dict[int, LLCName] = {}
    for name in with_row.values():
        if name.partition not in latest or latest[name.partition] < name:
            latest[name.partition] = name
    wanted = {n.text for n in latest.values()}
    for text in records:
        if text in with_row or text in deleted or not is_llc_name(text):
            continue
        name = parse_llc_name(text)
        before = latest.get(name.partition)
        if before is None or name.sequence >= before.sequence:
            wanted.add(text)
    return sorted(wanted)


def unsettled(names: Iterable[str], rows: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Those of ``latest_names`` that may need something by what their rows say alone: of partitions with a record that
    has no row, or with a replica that does not consume. What only its record shows is left to the next whole pass.
    """
    parsed = [parse_llc_name(s) for s in names]
    doubtful = {n.partition for n in parsed if set(rows.get(n.text, {}).values()) != {CONSUMING}}
    return [n.text for n in parsed if n.partition in doubtful]


def _by_partition(seen: Seen) -> Mapping[int, _Partition]:
    grouped: dict[int, _Partition] = defaultdict(_Partition)
    for known in seen.segments:
        partition = grouped[known.name.partition]
        if known.name.text not in seen.ideal.maps:
            partition.orphans.append(known)
        elif partition.assigned is None or partition.assigned.name < known.name:
            partition.assigned = known
    return grouped


def _with_bare(seen: Seen, partition: int, found: list[Case]) -> list[Case]:
    """What is done about a partition, and about its rows without a record, in one step.

    One that is to be consumed goes: no server can read a segment whose start is not on record, and its rows are read by
    the one that takes its place. One that was committed may be served all the same, and waits for a person.
    """
    bare = tuple(s for s in seen.bare.get(partition, ()) if s in seen.ideal.maps)
    served = [s for s in bare if set(seen.ideal.maps[s].values()) != {CONSUMING}]
    if served:
        return [Case(partition, Kind.STUCK, reason=f"{served[0]} is assigned and has no record")]
    if not bare:
        return found
    if any(c.kind.makes_segment or c.kind is Kind.TAKE_BACK for c in found):
        return [replace(c, bare=bare) for c in found]
    return [*found, Case(partition, Kind.BARE, bare=bare)]


def _partition_cases(seen: Seen, partition: int, found: _Partition, now_ms: int) -> list[Case]:
    orphans = [o for o in found.orphans if o.metadata.status == IN_PROGRESS]
    for orphan in sorted(orphans, key=lambda o: o.name, reverse=True):
        case = _orphan_case(seen, partition, found.assigned, orphan, now_ms)
        if case.kind is not Kind.DISCARD:
            return [case]
    discards = [Case(partition, Kind.DISCARD, found.assigned, o) for o in orphans]
    case_or_none = _assigned_case(seen, partition, found.assigned, now_ms)
    return [*discards, *([case_or_none] if case_or_none else [])]


def _orphan_case(seen: Seen, partition: int, latest: Known | None, orphan: Known, now_ms: int) -> Case:
    """A consuming record without a row continues the latest segment, or nobody does."""
    if _is_young(seen, orphan, now_ms):
        return Case(partition, Kind.WAIT, latest, orphan)
    continues = latest is None or (latest.is_committed and latest.end == orphan.start and latest.name < orphan.name)
    return Case(partition, Kind.ADOPT if continues else Kind.DISCARD, latest, orphan)


def _assigned_case(seen: Seen, partition: int, latest: Known | None, now_ms: int) -> Case | None:
    has_ended = seen.partitions is not None and partition not in seen.partitions
    if latest is None:
        return None if has_ended or seen.partitions is None else Case(partition, Kind.FIRST)
    states = set(seen.ideal.maps[latest.name.text].values())
    if CONSUMING in states:
        return _consuming_case(seen, partition, latest, states, now_ms, has_ended)
    if has_ended:
        return None
    if latest.is_committed:
        return Case(partition, Kind.NEXT, latest)
    if states == {OFFLINE}:
        return Case(
            partition, Kind.AGAIN if seen.is_urgent or _may_begin_again(latest, now_ms) else Kind.FAILING, latest
        )
    if seen.is_forced:
        return Case(partition, Kind.TAKE_BACK, latest)
    reason = (
        f"{latest.name.text} is {latest.metadata.status} and its replicas are {', '.join(sorted(states)) or 'nowhere'}"
    )
    return Case(partition, Kind.STUCK, latest, reason=reason)


def _consuming_case(
    seen: Seen, partition: int, latest: Known, states: set[str], now_ms: int, has_ended: bool
) -> Case | None:
    if latest.is_committed:
        if _is_young(seen, latest, now_ms):
            return Case(partition, Kind.WAIT, latest)
        return Case(partition, Kind.CLOSE if has_ended else Kind.FINISH, latest)
    if OFFLINE in states and seen.returns_replicas and ONLINE not in states:
        return Case(partition, Kind.REPLICAS, latest)
    return None


def _may_begin_again(latest: Known, now_ms: int) -> bool:
    """At once when it is the first time, or when it went well for long enough; a segment per try would pile up
    otherwise.
    """
    times = latest.times_again
    pause_ms = min(_LONGEST_AGAIN_MS, _FIRST_AGAIN_MS * 2 ** min(times - 1, 20)) if times else 0
    return now_ms - (latest.metadata.creation_ms or 0) >= pause_ms


def _is_young(seen: Seen, known: Known, now_ms: int) -> bool:
    return not seen.is_forced and now_ms - known.modified_ms <= seen.max_completion_ms
