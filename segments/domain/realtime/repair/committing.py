"""What a segment whose commit has started and not ended needs.

Its end offset is on record and its successor consumes, so nothing stands still; what is missing is a file in the deep
store and the facts about it in the record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from segments.domain.segments.ideal_state import CONSUMING, ERROR, OFFLINE, ONLINE


class Need(StrEnum):
    """What is to be done about a segment that is COMMITTING."""

    WAIT = "its committer is at work"
    UPLOAD = "a server has it sealed: its copy is uploaded and the commit ended"
    REINGEST = "no replica has it: its rows are to be read again from the stream"
    UNBUILT = (
        "its servers have its rows, and none of them builds it any more: they are to be read again from the stream"
    )
    FORBIDDEN = "no replica has it, and the table's disaster recovery mode keeps its rows from being read again"
    UNREACHABLE = "no live server has it, and a server that may have it is down"
    LATE = "its servers are alive, and none of them has it sealed yet"


@dataclass(frozen=True)
class Committing:
    """One such segment. ``since_ms``: mtime of its record; ``wanted``: its row of the ideal state; ``view``: {instance:
    what it reports}. ``until_ms``: how long its committer may be at work, 0 when nobody is.
    """

    name: str
    since_ms: int
    wanted: Mapping[str, str]
    view: Mapping[str, str]
    live: Collection[str]
    until_ms: int = 0

    @property
    def holders(self) -> list[str]:
        """Live servers that report it ONLINE: they have it sealed."""
        return sorted(i for i in self.live if self.view.get(i) == ONLINE)

    @property
    def has_only_errors(self) -> bool:
        """Is every replica that should serve it alive and in ERROR?"""
        replicas = [i for i, state in self.wanted.items() if state != OFFLINE]
        return bool(replicas) and all(i in self.live and self.view.get(i) == ERROR for i in replicas)

    @property
    def has_rows_only(self) -> bool:
        """Does every replica report, and none has more than the rows that it consumed?"""
        states = {self.view.get(i) for i, state in self.wanted.items() if state != OFFLINE}
        return CONSUMING in states and states <= {CONSUMING, ERROR}

    @property
    def down(self) -> list[str]:
        """Servers that should have it and are not alive."""
        return sorted(i for i in self.wanted if i not in self.live)


def need_of(segment: Committing, now_ms: int, *, completion_ms: int, may_reingest: bool) -> Need:
    """What it needs. ``completion_ms``: for how long a commit is its committer's own business.

    A segment with all its replicas in ERROR is nobody's work in progress, however young it is.
    """
    if segment.has_only_errors:
        return Need.REINGEST if may_reingest else Need.FORBIDDEN
    if now_ms - segment.since_ms <= completion_ms:
        return Need.WAIT
    if segment.holders:
        return Need.UPLOAD
    if segment.down:
        return Need.UNREACHABLE
    is_given_up = may_reingest and segment.has_rows_only and now_ms > segment.until_ms
    return Need.UNBUILT if is_given_up else Need.LATE
