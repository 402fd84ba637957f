"""One reingestion as it is on record in ZooKeeper: which segment, which server reads it again, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from segments.errors import StateConflict


class State(StrEnum):
    """Life of a job; the last three are final."""

    QUEUED = "QUEUED"
    READING = "READING"
    BUILDING = "BUILDING"
    UPLOADING = "UPLOADING"
    DONE = "DONE"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def is_final(self) -> bool:
        """Will nothing more come of it?"""
        return self in (State.DONE, State.FAILED, State.CANCELLED)


@dataclass(frozen=True)
class Job:
    """``start`` and ``end`` (exclusive) are the segment's offsets, ``at`` is where reading stands, all as text;
    ``rows`` are those indexed so far. Times in epoch milliseconds.

    ``accepts_loss``: rows that the stream has lost may be left out; ``lost`` is [from, to] of each such range.
    ``missing`` is the range for which the job was given up. ``error``: why it failed; ``by``: who started it.
    """

    id: str
    table: str
    segment: str
    instance: str
    started_ms: int
    start: str
    end: str
    at: str
    state: State = State.QUEUED
    rows: int = 0
    updated_ms: int = 0
    accepts_loss: bool = False
    lost: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, str] | None = None
    error: str = ""
    by: str = ""

    @property
    def is_active(self) -> bool:
        """Is it queued or under way?"""
        return not self.state.is_final

    def moved(self, now_ms: int, **changes: Any) -> Job:
        """The same job, further on."""
        return replace(self, updated_ms=now_ms, **changes)

    def to_json(self) -> dict[str, Any]:
        """As it is kept and shown."""
        return asdict(self)

    def to_pinot(self) -> dict[str, Any]:
        """What a Pinot server answers about a job."""
        return {"jobId": self.id, "segmentName": self.segment, "startTimeMs": self.started_ms}


def from_json(_: str, body: Mapping[str, Any]) -> Job:
    """A job as ``to_json`` made it. KeyError, TypeError and ValueError for anything else."""
    missing = body["missing"]
    return Job(
        **{
            **body,
            "state": State(body["state"]),
            "lost": tuple((a, b) for a, b in body["lost"]),
            "missing": None if missing is None else (missing[0], missing[1]),
        }
    )


def taken(before: Job | None, fresh: Job, *, is_owner_live: bool) -> Job:
    """The job to put on record: ``fresh``, unless the segment has one that a live server is at.

    Raises StateConflict then: one job per segment in the whole cluster.
    """
    if before is not None and before.is_active and is_owner_live:
        raise StateConflict(
            f"Segment '{before.segment}' is being reingested by {before.instance} already (job {before.id}).",
            remedy="Wait for it, or cancel it.",
            job=before.id,
        )
    return fresh


def cancelled(before: Job | None, segment: str, now_ms: int, by: str) -> Job:
    """The job after a cancel. StateConflict when there is none that could be cancelled."""
    if before is None or not before.is_active:
        raise StateConflict(f"Segment '{segment}' is not being reingested.", remedy="There is nothing to cancel.")
    return before.moved(now_ms, state=State.CANCELLED, error=f"Cancelled by {by}.")
