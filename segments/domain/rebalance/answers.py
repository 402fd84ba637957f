"""What a rebalance answers: what would move, and how far it is, in Pinot's JSON and as values for pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from segments.domain.rebalance.job import NOTHING, Flight, Job, Size, Status
from segments.domain.rebalance.target import Row, row_on

BALANCED: Final = "Table is already balanced"
DRY_RUN: Final = "Dry-run mode"
UNDER_WAY: Final = "In progress: GET /rebalanceStatus/{} says how far it is."


@dataclass(frozen=True)
class Check:
    """One pre-check: ``status`` is PASS, WARN or ERROR."""

    name: str
    status: str
    message: str


@dataclass(frozen=True)
class Plan:
    """What a rebalance moves: by server how many replicas it loads and loses. ``size.bytes`` is what is loaded.

    ``assignment`` is where all segments will be. ``refusal``: why it may not be done without
    ``allowPeerDownloadDataLoss`` and a reason, because of the segments ``at_risk``.
    """

    size: Size = NOTHING
    loads: Mapping[str, int] = field(default_factory=dict)
    loses: Mapping[str, int] = field(default_factory=dict)
    segments: Sequence[str] = ()
    assignment: Mapping[str, Row] = field(default_factory=dict)
    checks: Sequence[Check] = ()
    refusal: str = ""
    at_risk: Sequence[str] = ()


@dataclass(frozen=True)
class Result:
    """The answer to a request for a rebalance; ``body`` is Pinot's RebalanceResult."""

    job_id: str
    status: Status
    description: str
    plan: Plan
    body: Mapping[str, Any]


@dataclass(frozen=True)
class Progress:
    """How far a rebalance is. ``body`` is Pinot's ServerRebalanceJobStatusResponse; ``waiting``: replicas that are
    waited for, None where nobody says. Times in epoch milliseconds, ``finished_ms`` 0 while it runs.
    """

    job_id: str
    table: str
    status: Status
    message: str
    planned: Size
    done: Size
    started_ms: int
    finished_ms: int
    waiting: int | None
    who: str
    reason: str
    body: Mapping[str, Any]

    @property
    def is_open(self) -> bool:
        """Is something still to be done?"""
        return self.status is Status.IN_PROGRESS

    @property
    def percent(self) -> int:
        """Of the replicas that are to be loaded or removed."""
        wanted = self.planned.added + self.planned.removed
        done = self.done.added + self.done.removed
        return 100 if self.status is Status.DONE else min(99, 100 * done // wanted) if wanted else 0


def plan_of(rows: Mapping[str, Row], moved: Mapping[str, Sequence[str]], bytes_of: Mapping[str, int]) -> Plan:
    """The plan that moves these segments. ``bytes_of``: {segment: bytes of one replica}, unknown ones count nothing."""
    flights = {s: Flight(tuple(rows[s]), tuple(target)) for s, target in moved.items()}
    loads = Counter(i for f in flights.values() for i in f.added)
    loses = Counter(i for f in flights.values() for i in f.removed)
    size = Size(
        loads.total(),
        loses.total(),
        len(flights),
        sum(bytes_of.get(s, 0) * len(f.added) for s, f in flights.items()),
    )
    assignment = {s: row_on(row, moved[s]) if s in moved else dict(row) for s, row in rows.items()}
    return Plan(size, dict(sorted(loads.items())), dict(sorted(loses.items())), tuple(moved), assignment)


def result_of(plan: Plan, job_id: str, status: Status, description: str, *, has_checks: bool = False) -> Result:
    """The answer in Pinot's form."""
    body: dict[str, Any] = {"jobId": job_id, "status": status.value, "description": description}
    if status is not Status.NO_OP:
        body["segmentAssignment"] = {s: dict(row) for s, row in plan.assignment.items()}
    if has_checks:
        body["preChecksResult"] = {c.name: {"preCheckStatus": c.status, "message": c.message} for c in plan.checks}
    body["rebalanceSummaryResult"] = _summary(plan)
    return Result(job_id, status, description, plan, body)


def progress_of(job: Job, waiting: int | None, now_ms: int) -> Progress:
    """How far a job of ours is, in Pinot's form."""
    until = job.finished_ms or now_ms
    added, removed = (
        max(0, job.planned.added - job.done.added) if job.is_open else 0,
        max(0, job.planned.removed - job.done.removed) if job.is_open else 0,
    )
    overall = {
        "totalSegmentsToBeAdded": job.planned.added,
        "totalSegmentsToBeDeleted": job.planned.removed,
        "totalRemainingSegmentsToBeAdded": added,
        "totalRemainingSegmentsToBeDeleted": removed,
        "totalRemainingSegmentsToConverge": waiting or 0,
        "percentageRemainingSegmentsToBeAdded": _percent(added, job.planned.added),
        "percentageRemainingSegmentsToBeDeleted": _percent(removed, job.planned.removed),
        "averageSegmentSizeInBytes": job.bytes_each,
        "totalEstimatedDataToBeMovedInBytes": job.planned.bytes,
        "startTimeMs": job.started_ms,
    }
    stats = {
        "status": job.status.value,
        "startTimeMs": job.started_ms,
        "timeToFinishInSeconds": (job.finished_ms - job.started_ms) // 1000 if job.finished_ms else 0,
        "completionStatusMsg": job.message,
        "rebalanceProgressStatsOverall": overall,
    }
    body = {
        "tableRebalanceProgressStats": stats,
        "timeElapsedSinceStartInSeconds": (until - job.started_ms) // 1000,
        "tableName": job.table,
        "bytesMoved": job.done.bytes,
        "segmentsInFlight": sum(f.segments for f in job.in_flight.values()),
    }
    return Progress(
        job.id, job.table, job.status, job.message, job.planned, job.done, job.started_ms, job.finished_ms, waiting,
        job.who.name, job.who.reason, body,
    )  # fmt: skip


def _summary(plan: Plan) -> dict[str, Any]:
    size, servers = plan.size, sorted({*plan.loads, *plan.loses})
    changes = {i: {"segmentsAdded": plan.loads.get(i, 0), "segmentsDeleted": plan.loses.get(i, 0)} for i in servers}
    return {
        "segmentInfo": {
            "totalSegmentsToBeMoved": size.added,
            "totalSegmentsToBeDeleted": size.removed,
            "maxSegmentsAddedToASingleServer": max(plan.loads.values(), default=0),
            "estimatedAverageSegmentSizeInBytes": size.bytes // size.added if size.added else 0,
            "totalEstimatedDataToBeMovedInBytes": size.bytes,
            "numSegmentsInSingleReplica": {"newValueAfterRebalance": len(plan.assignment)},
        },
        "serverInfo": {
            "numServersGettingNewSegments": len(plan.loads),
            "serversGettingNewSegments": sorted(plan.loads),
            "serverSegmentChangeInfo": changes,
        },
    }


def _percent(left: int, whole: int) -> float:
    return round(100.0 * left / whole, 1) if whole else 0.0
