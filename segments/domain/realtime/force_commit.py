"""A force-commit job: which segments, in which batches, what of it is done."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from segments.errors import InvalidInput

#: Pinot's defaults.
MAX_BATCH: Final = 2_147_483_647
DEFAULT_INTERVAL_S: Final = 5
DEFAULT_TIMEOUT_S: Final = 180
#: Jobs on record; the oldest finished one is forgotten first.
KEPT_JOBS: Final = 100


@dataclass(frozen=True)
class BatchSettings:
    """``size`` segments at once; the next batch follows when these are committed and ``interval_s`` are over, or after
    ``timeout_s``.
    """

    size: int = MAX_BATCH
    interval_s: int = DEFAULT_INTERVAL_S
    timeout_s: int = DEFAULT_TIMEOUT_S

    def __post_init__(self) -> None:
        if min(self.size, self.interval_s, self.timeout_s) <= 0:
            raise InvalidInput(
                "Invalid batch config: every batch value must be above 0.", remedy="Leave them out for one batch."
            )

    def to_params(self) -> dict[str, str]:
        """As parameters of Pinot's calls; none for everything at once."""
        if self.size >= MAX_BATCH:
            return {}
        return {
            "batchSize": str(self.size),
            "batchStatusCheckIntervalSec": str(self.interval_s),
            "batchStatusCheckTimeoutSec": str(self.timeout_s),
        }


@dataclass(frozen=True)
class ForceCommitJob:
    """``segments`` in the order in which they are sent, ``pending`` those not committed at the last check, ``sent`` how
    many were sent.

    ``sent_ms``: when the present batch was sent. ``late``: segments of batches that took longer than their time; they
    are still sent.
    """

    id: str
    table: str
    submitted_ms: int
    segments: tuple[str, ...]
    pending: tuple[str, ...]
    batch: BatchSettings
    sent: int = 0
    sent_ms: int = 0
    late: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Everything is committed."""
        return not self.pending

    @property
    def asked(self) -> list[str]:
        """Segments that were sent and are not committed."""
        waiting = set(self.pending)
        return [s for s in self.segments[: self.sent] if s in waiting]

    def after_commits(self, committed: Collection[str]) -> ForceCommitJob:
        """The job once these are committed."""
        pending = tuple(s for s in self.pending if s not in committed)
        return replace(self, pending=pending, late=tuple(s for s in self.late if s in pending))

    def with_next_batch(self, now_ms: int) -> ForceCommitJob:
        """The job with its next batch sent, if it is time: the last one is committed and its interval over, or it is
        late.
        """
        if self.sent >= len(self.segments):
            return self
        waited_s = (now_ms - self.sent_ms) / 1000
        is_late = waited_s >= self.batch.timeout_s
        if self.sent and ((self.asked and not is_late) or waited_s < self.batch.interval_s):
            return self
        late = tuple(dict.fromkeys([*self.late, *self.asked])) if self.sent else ()
        return replace(self, sent=min(len(self.segments), self.sent + self.batch.size), sent_ms=now_ms, late=late)

    def to_fields(self) -> dict[str, str]:
        """The job's map field; Pinot's keys, then ours. As in Pinot the open list is there as soon as it is shorter
        than the whole.
        """
        open_list = {} if self.pending == self.segments else {"segmentsYetToBeCommitted": _text(self.pending)}
        return {
            "jobId": self.id,
            "tableName": self.table,
            "jobType": "FORCE_COMMIT",
            "submissionTimeMs": str(self.submitted_ms),
            "segmentsForceCommitted": _text(self.segments),
            **open_list,
            "batchSize": str(self.batch.size),
            "batchIntervalSec": str(self.batch.interval_s),
            "batchTimeoutSec": str(self.batch.timeout_s),
            "sent": str(self.sent),
            "sentMs": str(self.sent_ms),
            "late": _text(self.late),
        }

    def to_json(self) -> dict[str, Any]:
        """The answer of forceCommitStatus: the fields; the open list as a real array, and its length."""
        fields: dict[str, Any] = dict(self.to_fields())
        fields["segmentsYetToBeCommitted"] = list(self.pending)
        fields["numberOfSegmentsYetToBeCommitted"] = len(self.pending)
        fields["batches"] = math.ceil(len(self.segments) / self.batch.size)
        return fields


def job_of(fields: Mapping[str, str]) -> ForceCommitJob:
    """The job in a map field; one that a real Pinot wrote has everything sent."""
    segments = tuple(json.loads(fields["segmentsForceCommitted"]))
    pending = fields.get("segmentsYetToBeCommitted")
    batch = BatchSettings(
        int(fields.get("batchSize", MAX_BATCH)),
        int(fields.get("batchIntervalSec", DEFAULT_INTERVAL_S)),
        int(fields.get("batchTimeoutSec", DEFAULT_TIMEOUT_S)),
    )
    return ForceCommitJob(
        id=fields["jobId"],
        table=fields["tableName"],
        submitted_ms=int(fields["submissionTimeMs"]),
        segments=segments,
        pending=segments if pending is None else tuple(json.loads(pending)),
        batch=batch,
        sent=int(fields.get("sent", len(segments))),
        sent_ms=int(fields.get("sentMs", 0)),
        late=tuple(json.loads(fields.get("late", "[]"))),
    )


def in_rounds(by_server: Mapping[str, Sequence[str]]) -> list[str]:
    """Segments taken in turn from every server's queue, each once: a batch burdens all servers alike."""
    queues = [deque(names) for _, names in sorted(by_server.items())]
    order: dict[str, None] = {}
    while any(queues):
        for queue in queues:
            while queue:
                name = queue.popleft()
                if name not in order:
                    order[name] = None
                    break
    return list(order)


def _text(names: Sequence[str]) -> str:
    return json.dumps(list(names), separators=(",", ":"))
