"""A rebalance as a value: what was asked, what is in flight, how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from segments.domain.rebalance.options import Options, options_of
from segments.domain.rebalance.target import Placement, placement_of

#: So many rebalances of a table are kept on record.
KEPT: Final = 10


class Status(StrEnum):
    """Pinot's states of a rebalance. FAILED: it gave up; ABORTED: Pinot stopped it to begin it again; CANCELLED: a
    person stopped it.
    """

    NO_OP = "NO_OP"
    DONE = "DONE"
    FAILED = "FAILED"
    IN_PROGRESS = "IN_PROGRESS"
    ABORTED = "ABORTED"
    CANCELLED = "CANCELLED"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"


@dataclass(frozen=True)
class Flight:
    """What is on its way, so many segments together: the servers that had it, and those that should."""

    before: tuple[str, ...]
    target: tuple[str, ...]
    segments: int = 1

    @property
    def added(self) -> list[str]:
        """Servers that load it."""
        return [s for s in self.target if s not in self.before]

    @property
    def removed(self) -> list[str]:
        """Servers that it leaves."""
        return [s for s in self.before if s not in self.target]


@dataclass(frozen=True)
class Who:
    """Who asked for it, from where and why."""

    name: str
    reason: str = ""
    address: str = ""


@dataclass(frozen=True)
class Size:
    """Replicas that are loaded and removed, of how many segments, and bytes that are loaded."""

    added: int = 0
    removed: int = 0
    segments: int = 0
    bytes: int = 0

    def plus(self, other: Size) -> Size:
        """Both together."""
        return Size(
            self.added + other.added,
            self.removed + other.removed,
            self.segments + other.segments,
            self.bytes + other.bytes,
        )


NOTHING: Final = Size()


@dataclass(frozen=True)
class Job:
    """One rebalance of one table. Times in epoch milliseconds, ``finished_ms`` 0 while it runs; ``progressed_ms``: when
    something last moved. ``planned`` was found at the start, ``done`` is what became of it.

    ``commits``: consuming segments that are committed first, and moved then. ``in_flight``: by segment, or by
    ``table__partition`` where partitions move whole.
    """

    id: str
    table: str
    who: Who
    started_ms: int
    progressed_ms: int
    options: Options
    placement: Placement
    planned: Size
    done: Size = NOTHING
    status: Status = Status.IN_PROGRESS
    message: str = ""
    finished_ms: int = 0
    commits: tuple[str, ...] = ()
    in_flight: Mapping[str, Flight] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Is something still to be done?"""
        return self.status is Status.IN_PROGRESS

    @property
    def bytes_each(self) -> int:
        """Bytes of a replica, on average."""
        return self.planned.bytes // self.planned.added if self.planned.added else 0

    def finished(self, status: Status, message: str, now_ms: int) -> Job:
        """The job as it stays."""
        return replace(self, status=status, message=message, finished_ms=now_ms, in_flight={})

    def to_json(self) -> dict[str, Any]:
        """As a document."""
        return {
            "id": self.id,
            "table": self.table,
            "who": [self.who.name, self.who.reason, self.who.address],
            "started": self.started_ms,
            "progressed": self.progressed_ms,
            "finished": self.finished_ms,
            "options": self.options.to_json(),
            "placement": self.placement.to_json(),
            "planned": _numbers(self.planned),
            "done": _numbers(self.done),
            "status": self.status.value,
            "message": self.message,
            "commits": list(self.commits),
            "inFlight": {u: [list(f.before), list(f.target), f.segments] for u, f in self.in_flight.items()},
        }


def job_of(body: Mapping[str, Any]) -> Job:
    """The job in a document. Raises KeyError, TypeError, ValueError."""
    return Job(
        id=body["id"],
        table=body["table"],
        who=Who(*body["who"]),
        started_ms=int(body["started"]),
        progressed_ms=int(body["progressed"]),
        finished_ms=int(body["finished"]),
        options=options_of(body["options"]),
        placement=placement_of(body["placement"]),
        planned=Size(*body["planned"]),
        done=Size(*body["done"]),
        status=Status(body["status"]),
        message=body["message"],
        commits=tuple(body["commits"]),
        in_flight={u: Flight(tuple(b), tuple(t), *more) for u, (b, t, *more) in body["inFlight"].items()},
    )


@dataclass(frozen=True)
class Jobs:
    """The rebalances of one table, the newest last: only that one may be open."""

    table: str
    jobs: tuple[Job, ...] = ()

    @property
    def newest(self) -> Job | None:
        """The one that runs, or ran last."""
        return self.jobs[-1] if self.jobs else None

    @property
    def running(self) -> Job | None:
        """The one that runs."""
        return self.newest if self.newest is not None and self.newest.is_open else None

    def find(self, job_id: str) -> Job | None:
        """The job of that id."""
        return next((job for job in self.jobs if job.id == job_id), None)

    def having(self, job: Job) -> Jobs:
        """With this job in its newest form; the oldest ones go."""
        others = tuple(one for one in self.jobs if one.id != job.id)
        return replace(self, jobs=(*others, job)[-KEPT:])

    def to_json(self) -> list[dict[str, Any]]:
        """As a document."""
        return [job.to_json() for job in self.jobs]


def jobs_of(table: str, body: list[Any]) -> Jobs:
    """The rebalances in a document. Raises KeyError, TypeError, ValueError."""
    return Jobs(table, tuple(job_of(one) for one in body))


def _numbers(size: Size) -> list[int]:
    return [size.added, size.removed, size.segments, size.bytes]
