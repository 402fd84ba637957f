"""What a segment whose commit has started and not ended needs.

Its end offset is on record and its successor consumes, so nothing stands still; what is missing is a file in the deep
store and the facts about it in the record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from segments.domain.segments.ideal_state import ERROR, OFFLINE, ONLINE


class Need(StrEnum):
    """What is to be done about a segment that is COMMITTING."""

    WAIT = "its committer is at work"
    UPLOAD = "a server has it sealed: its copy is uploaded and the commit ended"
    REINGEST = "no replica has it: its rows are to be read again from the stream"
    FORBIDDEN = "no replica has it, and the table's disaster recovery mode keeps its rows from being read again"
    UNREACHABLE = "no live server has it, and a server that may have it is down"
    LATE = "its servers are alive, and none of them has it sealed yet"


@dataclass(frozen=True)
class Committing:
    """One such segment. ``since_ms``: mtime of its record; ``wanted``: its row of the ideal state; ``view``: {instance:
    what it reports}.
    """

    name: str
    since_ms: int
    wanted: Mapping[str, str]
    view: Mapping[str, str]
    live: Collection[str]

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
    return Need.UNREACHABLE if segment.down else Need.LATE
