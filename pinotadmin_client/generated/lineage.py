"""Operations about lineage.

Generated from the OpenAPI document by ``python -m tests.client.generate``; do not edit.
"""

from __future__ import annotations

from typing import Any

from pinotadmin_client.generated import models
from pinotadmin_client.transport import Transport


class Lineage:
    """Operations about lineage."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def entries(self, table: str, *, type_: str) -> Any:
        """Read the lineage of a table.

        All entries, oldest first; an empty answer when there never was one.
        """
        return self._transport.send(
            "GET", "/segments/{table}/lineage", Any, names={"table": table}, query={"type": type_}
        )

    def start(
        self,
        table: str,
        *,
        type_: str,
        segments_from: list[str] | None = None,
        segments_to: list[str] | None = None,
        custom_map: dict[str, str | int | float | bool | None] | None = None,
        force_cleanup: bool | None = None,
        reason: str | None = None,
    ) -> models.StartedReplacement:
        """Start a replacement.

        The entry's id. Nothing changes for queries before the end.

        403 when the bytes that ``customMap`` declares (``pinotadmin.declaredBytes``) do not fit the table's quota.
        """
        return self._transport.send(
            "POST",
            "/segments/{table}/startReplaceSegments",
            models.StartedReplacement,
            names={"table": table},
            query={"type": type_, "forceCleanup": force_cleanup},
            body={"segmentsFrom": segments_from, "segmentsTo": segments_to, "customMap": custom_map},
            reason=reason,
        )

    def end(
        self,
        table: str,
        entry: str,
        *,
        segments_to: list[str] | None = None,
        cleanup: bool | None = None,
        override_checks: str | None = None,
        type_: str | None = None,
        reason: str | None = None,
    ) -> models.EndJob:
        """End a replacement in the background.

        202 with the job, which survives every restart; follow it at ``GET /api/v1/jobs/{id}``. The body may narrow
        ``segmentsTo``.

        ``overrideChecks`` is the reason for which failed checks of the new data are passed over.
        """
        return self._transport.send(
            "POST",
            "/api/v1/lineage/{table}/{entry}/end",
            models.EndJob,
            names={"table": table, "entry": entry},
            query={"cleanup": cleanup, "overrideChecks": override_checks, "type": type_},
            body={"segmentsTo": segments_to},
            reason=reason,
        )

    def heartbeat(
        self, table: str, entry: str, *, type_: str | None = None, reason: str | None = None
    ) -> models.Heartbeat:
        """Keep a replacement open.

        Until when the replacement stays open, and how often to send the next. 409 when it is no longer IN_PROGRESS.

        From the first heartbeat on the client must go on: a replacement whose client falls silent is reverted within
        90 seconds.
        """
        return self._transport.send(
            "POST",
            "/api/v1/lineage/{table}/{entry}/heartbeat",
            models.Heartbeat,
            names={"table": table, "entry": entry},
            query={"type": type_},
            reason=reason,
        )

    def job(self, job: str) -> models.EndJob:
        """Read a background job.

        Its state, how many of the replicas are online, which are not and why, and what it says.
        """
        return self._transport.send("GET", "/api/v1/jobs/{job}", models.EndJob, names={"job": job})

    def cancel_job(self, job: str, *, reason: str | None = None) -> models.EndJob:
        """Cancel a background job.

        As ``DELETE /api/v1/jobs/{id}``.
        """
        return self._transport.send(
            "POST", "/api/v1/jobs/{job}/cancel", models.EndJob, names={"job": job}, reason=reason
        )

    def preview_rollback(
        self, table: str, *, to: str, force_revert: bool | None = None, type_: str | None = None
    ) -> models.RollbackPreview:
        """Preview a rollback over several entries.

        What going back to before entry ``to`` would do: entries, rows, segments, bytes before and after, what goes,
        what blocks it.
        """
        return self._transport.send(
            "GET",
            "/api/v1/lineage/{table}/rollback",
            models.RollbackPreview,
            names={"table": table},
            query={"to": to, "forceRevert": force_revert, "type": type_},
        )

    def roll_back(
        self,
        table: str,
        *,
        to: str,
        force_revert: bool | None = None,
        type_: str | None = None,
        reason: str | None = None,
    ) -> models.RollbackDone:
        """Roll back to the snapshot before an entry.

        Revert entry ``to`` and everything built on it, in one switch; with dryRun=true only say what it would do.
        """
        return self._transport.send(
            "POST",
            "/api/v1/lineage/{table}/rollback",
            models.RollbackDone,
            names={"table": table},
            query={"to": to, "forceRevert": force_revert, "type": type_},
            reason=reason,
        )

    def preview_undo(
        self, table: str, entry: str, *, force: bool | None = None, type_: str | None = None
    ) -> models.UndoPreview:
        """Preview the undo of a rollback.

        What undoing it would do: rows, segments, bytes before and after, what comes back and goes, until when, what
        blocks it.
        """
        return self._transport.send(
            "GET",
            "/api/v1/lineage/{table}/{entry}/undo",
            models.UndoPreview,
            names={"table": table, "entry": entry},
            query={"force": force, "type": type_},
        )

    def undo(
        self, table: str, entry: str, *, force: bool | None = None, type_: str | None = None, reason: str | None = None
    ) -> models.UndoDone:
        """Undo a rollback.

        Bring back what the rollback of this entry removed, all of its steps in one switch; with dryRun=true only say
        so.

        Possible while the files of deleted segments are kept. 409 when newer data would be seen together with it,
        unless force=true.
        """
        return self._transport.send(
            "POST",
            "/api/v1/lineage/{table}/{entry}/undo",
            models.UndoDone,
            names={"table": table, "entry": entry},
            query={"force": force, "type": type_},
            reason=reason,
        )

    def explain(self, table: str, entry: str, *, type_: str | None = None) -> models.Explanation:
        """Explain the state of a lineage entry.

        State, who and since when; what it hides and locks; what blocks its end and its revert; lease; what happens
        next and when.
        """
        return self._transport.send(
            "GET",
            "/api/v1/lineage/{table}/{entry}/explain",
            models.Explanation,
            names={"table": table, "entry": entry},
            query={"type": type_},
        )

    def compare(
        self, table: str, *, from_: str, to: str | None = None, type_: str | None = None
    ) -> models.SnapshotDiff:
        """Compare two snapshots.

        Segments, rows, bytes, and range and cardinality of every column. Snapshots are ``current``, ENTRY,
        ``ENTRY:from``, ``ENTRY:to``.

        ``to`` is ``current`` unless given.
        """
        return self._transport.send(
            "GET",
            "/api/v1/lineage/{table}/diff",
            models.SnapshotDiff,
            names={"table": table},
            query={"from": from_, "to": to, "type": type_},
        )

    def pin(self, table: str, entry: str, *, type_: str | None = None, reason: str | None = None) -> models.Pin:
        """Pin a lineage entry.

        Pin it. The reason is required: header X-Reason, parameter ``reason``, or ``{"reason": ...}``.
        """
        return self._transport.send(
            "POST",
            "/api/v1/lineage/{table}/{entry}/pin",
            models.Pin,
            names={"table": table, "entry": entry},
            query={"type": type_},
            reason=reason,
        )

    def unpin(self, table: str, entry: str, *, type_: str | None = None, reason: str | None = None) -> models.Pin:
        """Unpin a lineage entry.

        Unpin it; clean-up goes by the usual rules again.
        """
        return self._transport.send(
            "DELETE",
            "/api/v1/lineage/{table}/{entry}/pin",
            models.Pin,
            names={"table": table, "entry": entry},
            query={"type": type_},
            reason=reason,
        )

    def checks(self, table: str, entry: str, *, type_: str | None = None) -> models.CheckReport:
        """Read the results of a snapshot's checks.

        Status, and per check the measured and the allowed value. 404 when they never ran for this entry.
        """
        return self._transport.send(
            "GET",
            "/api/v1/lineage/{table}/{entry}/checks",
            models.CheckReport,
            names={"table": table, "entry": entry},
            query={"type": type_},
        )

    def run_checks(
        self, table: str, entry: str, *, type_: str | None = None, reason: str | None = None
    ) -> models.CheckReport:
        """Run a snapshot's checks.

        Run them now on the entry's segments, which have to be online; nothing switches. 409 for a reverted entry.
        """
        return self._transport.send(
            "POST",
            "/api/v1/lineage/{table}/{entry}/checks",
            models.CheckReport,
            names={"table": table, "entry": entry},
            query={"type": type_},
            reason=reason,
        )
