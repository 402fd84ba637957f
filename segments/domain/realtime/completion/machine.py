"""The completion machine of one segment as a value: who reported which offset, who commits, until when; durable as a
ZNRecord (rule `any-process-answers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.streams.stream_offset import Offset, parse_offset
from segments.errors import RecordCorrupt

#: How long a server that hears HOLD sleeps.
HOLD_MS: Final = 3_000
#: From the round's start until a winner is picked without the missing replicas, and until a picked winner must have
#: come back.
PICK_MS: Final = 3_300
NOTIFY_MS: Final = 6_600
#: The longest time from the start of a round to its commit.
CAP_MS: Final = 1_800_000
DEFAULT_EXTENSION_S: Final = 120
#: A committer that asks so often instead of ending its commit makes way for another replica at the same offset.
MOST_QUESTIONS: Final = 3
#: Which table of rules a round follows: fixed when it opens. Another protocol is another name here and another table in
#: ``tables``.
STANDARD: Final = "standard"
PAUSELESS: Final = "pauseless"


class State(StrEnum):
    """Pinot's states. ABORTED is not a machine at all; COMMITTING takes no time, since a commit is one
    transaction (rule `one-transaction`). In a pauseless round COMMITTER_UPLOADING means that the segment's record is
    COMMITTING.
    """

    PARTIAL_CONSUMING = "PARTIAL_CONSUMING"
    HOLDING = "HOLDING"
    COMMITTER_DECIDED = "COMMITTER_DECIDED"
    COMMITTER_NOTIFIED = "COMMITTER_NOTIFIED"
    COMMITTER_UPLOADING = "COMMITTER_UPLOADING"
    COMMITTED = "COMMITTED"


@dataclass(frozen=True)
class Machine:
    """One round of agreeing on a segment's end. Times in epoch milliseconds.

    Invariant: from COMMITTER_DECIDED on there is a winner and a winning offset; before there is neither. A pauseless
    commit that has started may have lost its winner, its winning offset is on record and stays. ``offsets``
    holds what each replica reported last, ``sessions`` its live session then ("" for one that was not alive).
    ``budget_ms`` is what a committer gets at first, ``lease_ms`` what it gets again when its upload starts.
    ``ended_at``: where the partition ended, as a replica found. ``asked_again``: how often the committer came back to
    ask instead of ending its commit. ``reading_on``: replicas that said last that they have read behind their offset.
    """

    stream_type: str
    replicas: int
    start_ms: int
    kind: str = STANDARD
    state: State = State.HOLDING
    offsets: Mapping[str, Offset] = field(default_factory=dict)
    sessions: Mapping[str, str] = field(default_factory=dict)
    excluded: frozenset[str] = frozenset()
    winner: str | None = None
    winning: Offset | None = None
    deadline_ms: int = 0
    budget_ms: int = NOTIFY_MS + 120_000
    lease_ms: int = 120_000
    ended_at: Offset | None = None
    asked_again: int = 0
    reading_on: frozenset[str] = frozenset()

    def has_heard_all(self, awaited: int | None = None) -> bool:
        """Have all replicas that still consume reported? ``awaited``: as in ``Message``."""
        return awaited == 0 if awaited is not None else len(self.offsets) >= self.replicas - len(self.excluded)

    @property
    def has_started(self) -> bool:
        """Is the commit's start on record?"""
        return self.kind == PAUSELESS and self.state is State.COMMITTER_UPLOADING

    @property
    def is_end_of_partition(self) -> bool:
        """Does the commit end where the partition ended?"""
        return self.ended_at is not None and self.ended_at == self.winning

    @property
    def has_rows_behind(self) -> bool:
        """Does a replica that still takes part have rows behind its end?"""
        return any(i in self.offsets for i in self.reading_on)

    @property
    def build_time_s(self) -> int:
        """``buildTimeSec`` of the committer's answer: from the round's start to the deadline."""
        return (self.deadline_ms - self.start_ms) // 1000

    def moved(self, now_ms: int) -> Machine:
        """The machine with its times moved when the clock went back, so that no window stays open for ever."""
        if now_ms >= self.start_ms:
            return self
        return replace(
            self, start_ms=now_ms, deadline_ms=self.deadline_ms - (self.start_ms - now_ms) if self.deadline_ms else 0
        )

    def to_record(self, segment: str) -> ZNRecord:
        """The znode to write."""
        simple: dict[str, str | None] = {
            "streamType": self.stream_type,
            "replicas": str(self.replicas),
            "startMs": str(self.start_ms),
            "kind": self.kind,
            "state": self.state.value,
            "winner": self.winner,
            "winningOffset": self.winning.text if self.winning else None,
            "deadlineMs": str(self.deadline_ms),
            "budgetMs": str(self.budget_ms),
            "leaseMs": str(self.lease_ms),
            "endedAt": self.ended_at.text if self.ended_at else None,
            "askedAgain": str(self.asked_again) if self.asked_again else None,
        }
        maps = {
            "offsets": {i: o.text for i, o in sorted(self.offsets.items())},
            "sessions": dict(sorted(self.sessions.items())),
        }
        lists = {"excluded": sorted(self.excluded), "readingOn": sorted(self.reading_on)}
        return ZNRecord(segment, {k: v for k, v in simple.items() if v is not None}, maps, lists)


def open_machine(
    stream_type: str,
    replicas: int,
    now_ms: int,
    *,
    commit_timeout_ms: int,
    remembered_ms: int = 0,
    is_first_stop: bool = False,
    kind: str = STANDARD,
) -> Machine:
    """A new round. ``remembered_ms``: how long a commit of this table once took, when that was longer than allowed."""
    return Machine(
        kind=kind,
        stream_type=stream_type,
        replicas=replicas,
        start_ms=now_ms,
        state=State.PARTIAL_CONSUMING if is_first_stop else State.HOLDING,
        budget_ms=min(CAP_MS, max(NOTIFY_MS + commit_timeout_ms, remembered_ms)),
        lease_ms=commit_timeout_ms,
    )


def committing_machine(stream_type: str, replicas: int, end: Offset, now_ms: int, *, commit_timeout_ms: int) -> Machine:
    """What is known of a pauseless commit that has started when only the segment's record says so: its end."""
    return Machine(
        stream_type,
        replicas,
        now_ms,
        kind=PAUSELESS,
        state=State.COMMITTER_UPLOADING,
        winning=end,
        budget_ms=NOTIFY_MS + commit_timeout_ms,
        lease_ms=commit_timeout_ms,
    )


def committed_machine(stream_type: str, end: Offset, now_ms: int) -> Machine:
    """What remains of a round when the segment's record says DONE: its end."""
    return Machine(stream_type, 0, now_ms, state=State.COMMITTED, winner="UNKNOWN", winning=end)


def from_record(record: ZNRecord) -> Machine:
    """The machine in a znode. Raises RecordCorrupt."""
    simple = record.simple
    try:
        kind = simple["streamType"]
        return Machine(
            stream_type=kind,
            replicas=int(simple["replicas"]),
            start_ms=int(simple["startMs"]),
            kind=simple["kind"],
            state=State(simple["state"]),
            offsets={i: parse_offset(kind, text) for i, text in record.maps.get("offsets", {}).items()},
            sessions=dict(record.maps.get("sessions", {})),
            excluded=frozenset(record.lists.get("excluded", ())),
            winner=simple.get("winner"),
            winning=parse_offset(kind, simple["winningOffset"]) if "winningOffset" in simple else None,
            deadline_ms=int(simple["deadlineMs"]),
            budget_ms=int(simple["budgetMs"]),
            lease_ms=int(simple["leaseMs"]),
            ended_at=parse_offset(kind, simple["endedAt"]) if "endedAt" in simple else None,
            asked_again=int(simple.get("askedAgain", "0")),
            reading_on=frozenset(record.lists.get("readingOn", ())),
        )
    except (KeyError, ValueError) as error:
        raise RecordCorrupt(
            f"The completion state of '{record.id}' cannot be read: {error}.", remedy="Remove the znode."
        ) from error
