"""Operations about consumption.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from pinotadmin_client.generated import models
from pinotadmin_client.transport import Transport


class Consumption:
    """Operations about consumption."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def pause(
        self,
        table: str,
        *,
        batch_size: int | None = None,
        batch_status_check_interval_sec: int | None = None,
        batch_status_check_timeout_sec: int | None = None,
        comment: str | None = None,
        resume_after: str | None = None,
        reason: str | None = None,
    ) -> models.PauseStatus:
        """Pause the consumption of a table.

        The flag is set when this returns; poll pauseStatus until nothing consumes. ``resumeAfter`` (``30m``) plans
        the end.
        """
        return self._transport.send(
            "POST",
            "/tables/{table}/pauseConsumption",
            models.PauseStatus,
            names={"table": table},
            query={
                "batchSize": batch_size,
                "batchStatusCheckIntervalSec": batch_status_check_interval_sec,
                "batchStatusCheckTimeoutSec": batch_status_check_timeout_sec,
                "comment": comment,
                "resumeAfter": resume_after,
            },
            reason=reason,
        )

    def resume(
        self, table: str, *, comment: str | None = None, consume_from: str | None = None, reason: str | None = None
    ) -> models.PauseStatus:
        """Resume the consumption of a table.

        Flag and new consuming segments are one change; the answer lists what consumes then.
        """
        return self._transport.send(
            "POST",
            "/tables/{table}/resumeConsumption",
            models.PauseStatus,
            names={"table": table},
            query={"comment": comment, "consumeFrom": consume_from},
            reason=reason,
        )

    def pause_status(self, table: str) -> models.PauseStatus:
        """Read whether a table is paused.

        Flag, reason, comment, time, and what still consumes.
        """
        return self._transport.send("GET", "/tables/{table}/pauseStatus", models.PauseStatus, names={"table": table})

    def lag(self, table: str) -> models.TableLag:
        """Read the lag of each partition.

        Messages and milliseconds, now and over the last day (a sample a minute).
        """
        return self._transport.send("GET", "/api/v1/tables/{table}/lag", models.TableLag, names={"table": table})

    def force_commit(
        self,
        table: str,
        *,
        batch_size: int | None = None,
        batch_status_check_interval_sec: int | None = None,
        batch_status_check_timeout_sec: int | None = None,
        partitions: str | None = None,
        segments: str | None = None,
        reason: str | None = None,
    ) -> models.ForceCommitStarted:
        """Commit consuming segments now.

        All of them, or those of ``partitions``, or ``segments``; a job follows it.
        """
        return self._transport.send(
            "POST",
            "/tables/{table}/forceCommit",
            models.ForceCommitStarted,
            names={"table": table},
            query={
                "batchSize": batch_size,
                "batchStatusCheckIntervalSec": batch_status_check_interval_sec,
                "batchStatusCheckTimeoutSec": batch_status_check_timeout_sec,
                "partitions": partitions,
                "segments": segments,
            },
            reason=reason,
        )
