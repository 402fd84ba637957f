"""Models of consumption.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from msgspec import Struct, field


class ForceCommitStarted(Struct, frozen=True, kw_only=True):
    """The job that follows the commit."""

    force_commit_status: str = field(name="forceCommitStatus")
    job_meta_zkwrite_status: str = field(name="jobMetaZKWriteStatus")
    force_commit_job_id: str = field(name="forceCommitJobId")


class LagAt(Struct, frozen=True, kw_only=True):
    """A sample of the past."""

    at_ms: int = field(name="atMs")
    messages: int | None
    behind_ms: int | None = field(name="behindMs")
    rows_per_second: float | None = field(default=None, name="rowsPerSecond")


class PartitionLag(Struct, frozen=True, kw_only=True):
    """The lag of a partition, as its best replica has it, and samples of the last day."""

    partition: int
    segment: str | None
    messages: int | None
    behind_ms: int | None = field(name="behindMs")
    offset: str | None
    last_consumed_ms: int | None = field(name="lastConsumedMs")
    replicas: list[ReplicaLag]
    history: list[LagAt]


class PauseStatus(Struct, frozen=True, kw_only=True):
    """Whether a table is paused, why, since when, and what still consumes."""

    pause_flag: bool = field(name="pauseFlag")
    consuming_segments: list[str] = field(name="consumingSegments")
    reason_code: str | None = field(default=None, name="reasonCode")
    comment: str | None = field(default=None)
    timestamp: str | None = field(default=None)
    description: str | None = field(default=None)
    actor: str | None = field(default=None)
    resume_at_ms: int | None = field(default=None, name="resumeAtMs")
    paused_partitions: list[int] | None = field(default=None, name="pausedPartitions")


class ReplicaLag(Struct, frozen=True, kw_only=True):
    """How far one replica is behind the end of the stream; null: not known."""

    server: str
    consuming: bool
    offset: str | None
    messages: int | None
    behind_ms: int | None = field(name="behindMs")


class TableLag(Struct, frozen=True, kw_only=True):
    """The lag of each partition."""

    table: str
    partitions: list[PartitionLag]
