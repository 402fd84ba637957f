"""The drain of a server as a value: everything that it holds moves to others, and nothing new comes to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from segments.domain.formats.plural import counted
from segments.domain.rebalance.job import Who
from segments.domain.rebalance.target import Row
from segments.domain.segments.ideal_state import CONSUMING, OFFLINE

#: Pinot's tag of a server that belongs to no tenant. Nothing is placed on one that carries only this.
UNTAGGED: Final = "server_untagged"
#: Milliseconds after which a table that could not be moved is tried again.
AGAIN_MS: Final = 15_000
#: Milliseconds for which a drained server is still checked: what was placed on it before it lost its tags may have
#: been written since.
_LATE_MS: Final = 300_000


class Phase(StrEnum):
    """What is done with the server. DRAINED: it holds nothing; RETURNING: it gets its tags back."""

    DRAINING = "DRAINING"
    DRAINED = "DRAINED"
    RETURNING = "RETURNING"


@dataclass(frozen=True)
class Held:
    """Segments of one table on the server: those that it serves, consumes, and that are switched off on it."""

    online: int = 0
    consuming: int = 0
    off: int = 0

    @property
    def segments(self) -> int:
        """All of them."""
        return self.online + self.consuming + self.off


@dataclass(frozen=True)
class Try:
    """The last attempt to move a table: when (epoch milliseconds), the rebalance that it began, or why it did not."""

    at_ms: int
    job: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Drain:
    """One server's drain. ``tags``: those that it had, and gets back. ``commits``: what it consumes is committed first
    and goes on elsewhere; else another server reads it again from the segment's start. ``min_available``: as of a
    rebalance. ``planned``: the segments that it held. Times in epoch milliseconds, ``finished_ms`` 0 until it is
    drained.
    """

    server: str
    tags: tuple[str, ...]
    who: Who
    started_ms: int
    planned: int
    commits: bool = True
    min_available: int | None = None
    phase: Phase = Phase.DRAINING
    finished_ms: int = 0
    tries: Mapping[str, Try] = field(default_factory=dict)

    @property
    def is_at_work(self) -> bool:
        """Is something still to be done?"""
        return self.phase is not Phase.DRAINED

    @property
    def problems(self) -> dict[str, str]:
        """{table: why it does not move}."""
        return {table: t.problem for table, t in self.tries.items() if t.problem}

    def is_watched(self, now_ms: int) -> bool:
        """Is it at work, or was it until a few minutes ago?"""
        return self.is_at_work or now_ms - self.finished_ms < _LATE_MS

    def may_try(self, table: str, now_ms: int) -> bool:
        """Was the table not tried in vain just now?"""
        last = self.tries.get(table)
        return last is None or not last.problem or now_ms - last.at_ms >= AGAIN_MS

    def after(self, tries: Mapping[str, Try], *, is_empty: bool, now_ms: int) -> Drain:
        """After a check of its tables: what of them was tried, and whether nothing is left."""
        if not is_empty:
            return replace(self, tries=dict(tries), phase=Phase.DRAINING, finished_ms=0)
        finished = self.finished_ms or now_ms
        jobs = {table: replace(t, problem="") for table, t in tries.items() if t.job}
        return replace(self, tries=jobs, phase=Phase.DRAINED, finished_ms=finished)

    def to_json(self) -> dict[str, Any]:
        """As a document."""
        return {
            "tags": list(self.tags),
            "who": [self.who.name, self.who.reason, self.who.address],
            "started": self.started_ms,
            "planned": self.planned,
            "commits": self.commits,
            "minAvailable": self.min_available,
            "phase": self.phase.value,
            "finished": self.finished_ms,
            "tries": {table: [t.at_ms, t.job, t.problem] for table, t in self.tries.items()},
        }


def drain_of(server: str, body: Mapping[str, Any]) -> Drain:
    """The drain in a document. Raises KeyError, TypeError, ValueError."""
    return Drain(
        server=server,
        tags=tuple(body["tags"]),
        who=Who(*body["who"]),
        started_ms=int(body["started"]),
        planned=int(body["planned"]),
        commits=bool(body["commits"]),
        min_available=body["minAvailable"],
        phase=Phase(body["phase"]),
        finished_ms=int(body["finished"]),
        tries={table: Try(int(at), job, problem) for table, (at, job, problem) in body["tries"].items()},
    )


def held_by(server: str, rows: Mapping[str, Row]) -> Held:
    """What the ideal state of one table gives the server."""
    states = Counter(row[server] for row in rows.values() if server in row)
    return Held(states.total() - states[CONSUMING] - states[OFFLINE], states[CONSUMING], states[OFFLINE])


def too_few(
    table: str, replicas: int, tags: Collection[str], usable: Mapping[str, Collection[str]], server: str
) -> str:
    """Why the table cannot do without the server; empty when it can.

    ``tags``: those that its servers need; ``usable``: {server: its tags} of those that are enabled and alive.
    """
    for tag in sorted(set(tags)):
        left = sum(1 for name, found in usable.items() if name != server and tag in found)
        if left < replicas:
            return (
                f"Table '{table}' keeps {counted(replicas, 'replica')}, and without '{server}' only "
                f"{counted(left, 'enabled server')} with the tag '{tag}' would be alive."
            )
    return ""
