"""An end that is carried out in the background: its record in ZooKeeper and what may become of it (rule
`all-replicas-first`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import RecordCorrupt

#: Note of a lineage entry: the job that is to end it.
END_JOB: Final = "end.job"
#: Note of a lineage entry: the job that was to end it and failed or was cancelled.
END_LAST: Final = "end.last"
#: Finished jobs can be asked about for this long.
KEPT_MS: Final = 7 * 86_400_000


class JobState(StrEnum):
    """RUNNING until it is decided."""

    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True)
class EndJob:
    """One job. Times in epoch milliseconds, 0: not yet. ``segments_to`` narrows the entry's list, empty: all of it.

    ``override`` is the reason for which failed checks are passed over, ``cleanup`` asks for a retention pass
    afterwards, ``strict``: the new side must be all that queries see. ``online`` of ``wanted`` replicas is what was
    seen at the last change of the record; a running job is read again.
    """

    id: str
    table: str
    entry: str
    requested_ms: int
    deadline_ms: int
    actor: str
    reason: str = ""
    address: str = ""
    segments_to: tuple[str, ...] = ()
    override: str = ""
    cleanup: bool = False
    state: JobState = JobState.RUNNING
    finished_ms: int = 0
    message: str = ""
    online: int = 0
    wanted: int = 0
    strict: bool = False

    @property
    def is_open(self) -> bool:
        """Something is still to be done."""
        return self.state is JobState.RUNNING

    def finished(self, state: JobState, message: str, now_ms: int) -> EndJob:
        """The job as it stays."""
        return replace(self, state=state, message=message, finished_ms=now_ms)

    def is_forgotten(self, now_ms: int) -> bool:
        """Is it long enough over for its record to go?"""
        return not self.is_open and now_ms - self.finished_ms > KEPT_MS

    def to_record(self) -> ZNRecord:
        """The znode."""
        simple = {
            "table": self.table,
            "entry": self.entry,
            "requestedMs": str(self.requested_ms),
            "deadlineMs": str(self.deadline_ms),
            "actor": self.actor,
            "reason": self.reason,
            "address": self.address,
            "override": self.override,
            "cleanup": str(self.cleanup).lower(),
            "strictSnapshot": str(self.strict).lower(),
            "state": self.state.value,
            "finishedMs": str(self.finished_ms),
            "message": self.message,
            "online": str(self.online),
            "wanted": str(self.wanted),
        }
        return ZNRecord(self.id, simple, lists={"segmentsTo": list(self.segments_to)} if self.segments_to else {})


def from_record(record: ZNRecord) -> EndJob:
    """The job in a znode. RecordCorrupt when it cannot be read."""
    found = record.simple
    try:
        return EndJob(
            id=record.id,
            table=found["table"],
            entry=found["entry"],
            requested_ms=int(found["requestedMs"]),
            deadline_ms=int(found["deadlineMs"]),
            actor=found["actor"],
            reason=found["reason"],
            address=found["address"],
            segments_to=tuple(record.lists.get("segmentsTo", ())),
            override=found["override"],
            cleanup=found["cleanup"] == "true",
            strict=found.get("strictSnapshot") == "true",
            state=JobState(found["state"]),
            finished_ms=int(found["finishedMs"]),
            message=found["message"],
            online=int(found["online"]),
            wanted=int(found["wanted"]),
        )
    except (KeyError, ValueError) as error:
        raise RecordCorrupt(
            f"Job '{record.id}' cannot be read: {error}.", remedy="Remove the znode below /PINOTADMIN/JOBS."
        ) from error
