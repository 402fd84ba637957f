"""The writes that repair a table's consumption: cases in, ideal-state rows and segment records out, all of one
transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.commit.start import consuming_record
from segments.domain.realtime.flush_threshold import (
    RATIO_KEY,
    committed_of,
    is_tuned,
    learned_ratio,
    next_row_limit,
    row_limit,
)
from segments.domain.realtime.llc_name import LLCName
from segments.domain.realtime.pause import stream_partition
from segments.domain.realtime.realtime_assignment import consuming_row_of
from segments.domain.realtime.realtime_repair import AGAIN_KEY, Case, Kind, Known
from segments.domain.realtime.streams.stream_config import FlushThresholds
from segments.domain.realtime.streams.unread_range import UnreadRange
from segments.domain.segments.ideal_state import CONSUMING, OFFLINE, ONLINE, with_rows, without_rows

_MINUTE_MS = 60_000


@dataclass(frozen=True)
class Start:
    """Where a new segment begins. ``lost_from``: rows from there on had left the stream before they were read, up to
    ``offset``, or to what is skipped before it; None: none.
    """

    offset: str
    lost_from: str | None = None
    skips: UnreadRange | None = None

    def unread(self, partition: int) -> list[UnreadRange]:
        """What no segment will have, by cause."""
        skipped = [self.skips] if self.skips is not None else []
        if self.lost_from is None:
            return skipped
        return [UnreadRange(partition, self.lost_from, self.skips.start if self.skips else self.offset), *skipped]


@dataclass(frozen=True)
class Blueprint:
    """The shape of new segments of a table. ``instances``: the tenant's servers in the table's order; ``kept``: rows of
    partitions that stay on the servers where they are; ``first_sequences``: of partitions that have no segment yet, 0
    of those that are not named.
    """

    raw: str
    typed: str
    replicas: int
    topics: int
    instances: Sequence[str]
    flush_of: Callable[[int], FlushThresholds]
    partitions_per_server: int
    partition_metadata: Callable[[int], str | None]
    kept: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    first_sequences: Mapping[int, int] = field(default_factory=dict)


@dataclass
class Changes:
    """``rows`` and ``created`` are written, ``dropped`` rows and ``discarded`` {name: version} removed, ``checked``
    {name: version} may not change meanwhile.
    """

    rows: dict[str, dict[str, str]] = field(default_factory=dict)
    created: dict[str, ZNRecord] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    discarded: dict[str, int] = field(default_factory=dict)
    checked: dict[str, int] = field(default_factory=dict)
    losses: list[UnreadRange] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Nothing to write."""
        return not (self.rows or self.created or self.discarded or self.dropped)

    def apply(self, ideal: ZNRecord) -> ZNRecord:
        """The ideal state with these rows."""
        return without_rows(with_rows(ideal, self.rows) if self.rows else ideal, self.dropped)


def plan_changes(
    cases: Sequence[Case],
    ideal: ZNRecord,
    blueprint: Blueprint,
    starts: Mapping[int, Start],
    taken: Collection[str],
    now_ms: int,
) -> Changes:
    """The repair of these cases. ``starts`` has an entry for every partition that gets a new segment, others of them
    are left alone.

    ``taken``: names in use, also by segments still being deleted; a new segment never takes one of them.
    Raises StateConflict when there are fewer servers than replicas.
    """
    changes = Changes()
    for case in cases:
        if case.kind.makes_segment and case.partition not in starts:
            continue
        _plan_case(changes, case, ideal, blueprint, starts.get(case.partition), taken, now_ms)
        _drop_bare(changes, case)
    return changes


def _drop_bare(changes: Changes, case: Case) -> None:
    changes.dropped.update(case.bare)
    changes.sentences += [
        f"Partition {case.partition}: {s} was assigned without a record and is not any more." for s in case.bare
    ]


def _plan_case(
    changes: Changes,
    case: Case,
    ideal: ZNRecord,
    blueprint: Blueprint,
    start: Start | None,
    taken: Collection[str],
    now_ms: int,
) -> None:
    latest, orphan = case.latest, case.orphan
    if case.kind in (Kind.FINISH, Kind.CLOSE) and latest is not None:
        _put_online(changes, ideal, latest)
    if start is not None and case.kind.makes_segment:
        _make_segment(changes, case, blueprint, start, taken, now_ms)
    elif case.kind is Kind.CLOSE and latest is not None:
        changes.sentences.append(f"Partition {case.partition} has ended: its last segment {latest.name} is online.")
    elif case.kind is Kind.ADOPT and orphan is not None:
        if latest is not None and CONSUMING in ideal.maps[latest.name.text].values():
            _put_online(changes, ideal, latest)
        changes.rows[orphan.name.text] = _row(blueprint, case.partition)
        changes.checked[orphan.name.text] = orphan.version
        changes.sentences.append(
            f"Partition {case.partition}: assigned {orphan.name}, which had been made and forgotten."
        )
    elif case.kind is Kind.DISCARD and orphan is not None:
        changes.discarded[orphan.name.text] = orphan.version
        changes.sentences.append(
            f"Partition {case.partition}: removed the record of {orphan.name}, which nobody was to consume."
        )
    elif case.kind in (Kind.REPLICAS, Kind.TAKE_BACK) and latest is not None:
        _put_back(changes, case, latest, ideal, blueprint)


def _put_back(changes: Changes, case: Case, latest: Known, ideal: ZNRecord, blueprint: Blueprint) -> None:
    """Replicas of a segment that is not committed consume it, from its start on or where they are."""
    row = ideal.maps[latest.name.text]
    if case.kind is Kind.REPLICAS:
        changes.rows[latest.name.text] = {i: CONSUMING if s == OFFLINE else s for i, s in row.items()}
    else:
        changes.rows[latest.name.text] = dict.fromkeys(row, CONSUMING) or _row(blueprint, case.partition)
    changes.checked[latest.name.text] = latest.version
    changes.sentences.append(f"Partition {case.partition}: replicas of {latest.name} that had stopped consume again.")


def _make_segment(
    changes: Changes, case: Case, blueprint: Blueprint, start: Start, taken: Collection[str], now_ms: int
) -> None:
    first = blueprint.first_sequences.get(case.partition, 0)
    sequence = case.latest.name.sequence + 1 if case.latest is not None else first
    name = _free_name(blueprint.raw, case.partition, sequence, taken, now_ms)
    if case.latest is not None:
        changes.checked[case.latest.name.text] = case.latest.version
    changes.rows[name.text] = _row(blueprint, case.partition)
    changes.created[name.text] = consuming_record(
        name,
        start_offset=start.offset,
        replicas=blueprint.replicas,
        flush_rows=_row_limit(blueprint, case),
        now_ms=now_ms,
        partition_metadata=blueprint.partition_metadata(case.partition),
        custom={**_learned(blueprint, case), **_times_again(case)},
    )
    changes.sentences.append(
        f"Partition {case.partition}: {name} consumes from offset {start.offset} ({case.kind.partition(': ')[2]})."
    )
    unread = start.unread(case.partition)
    changes.losses += unread
    changes.sentences += [loss.sentence for loss in unread]


def _put_online(changes: Changes, ideal: ZNRecord, known: Known) -> None:
    changes.rows[known.name.text] = dict.fromkeys(ideal.maps[known.name.text], ONLINE)
    changes.checked[known.name.text] = known.version


def _row(blueprint: Blueprint, partition: int) -> dict[str, str]:
    if kept := blueprint.kept.get(partition):
        return {**kept}
    own = stream_partition(partition, blueprint.topics)
    return consuming_row_of(blueprint.typed, own, blueprint.replicas, blueprint.instances)


def _row_limit(blueprint: Blueprint, case: Case) -> int:
    """That of a segment begun again is not above what the one before came to: it may have been lowered because more
    cannot be built.
    """
    flush = blueprint.flush_of(case.partition)
    if case.latest is None or not case.latest.is_committed:
        usual = row_limit(flush, blueprint.partitions_per_server)
        before = committed_of(case.latest.metadata).limit if case.latest is not None else 0
        return min(usual, before) if before > 0 else usual
    return next_row_limit(flush, blueprint.partitions_per_server, committed_of(case.latest.metadata))


def _learned(blueprint: Blueprint, case: Case) -> dict[str, str]:
    """What the partition's segments have taught of their size goes on."""
    if case.latest is None or not is_tuned(blueprint.flush_of(case.partition)):
        return {}
    ratio = learned_ratio(committed_of(case.latest.metadata))
    return {RATIO_KEY: repr(ratio)} if ratio else {}


def _times_again(case: Case) -> dict[str, str]:
    return {AGAIN_KEY: str(case.latest.times_again + 1)} if case.kind is Kind.AGAIN and case.latest is not None else {}


def _free_name(raw: str, partition: int, sequence: int, taken: Collection[str], now_ms: int) -> LLCName:
    """Names have minutes: one that was used in this very minute, say by a segment just deleted, is passed over."""
    created = now_ms
    while (name := LLCName(raw, partition, sequence, created)).text in taken:
        created += _MINUTE_MS
    return name
