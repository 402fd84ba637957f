"""/api/v1/lineage and /api/v1/jobs: what Pinot lacks around a replacement (lease, background end, rollback, pin,
explain, diff).
"""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from segments import wiring
from segments.api.base import ApiView, bool_param, need_text, parse_bool, text_param
from segments.api.bodies import BackgroundEndBody, ReasonBody, read_body
from segments.errors import NotFound
from segments.names import OFFLINE, TableName, split_table_name
from segments.services.core.context import Actor
from segments.services.core.page_addresses import address_of
from segments.services.jobs.queue import enqueue_end
from segments.services.replacement import entry_lease, explain, pins, rollback, snapshot_diff
from segments.services.replacement.ends import end_jobs
from segments.services.replacement.ends.end_job_record import find_job
from segments.services.replacement.ends.end_job_status import JobStatus, job_status
from segments.services.tables import tables


class Heartbeat(ApiView):
    """A sign of life of the client of an unfinished replacement."""

    rights = {"POST": "operate"}
    parameters = {"POST": ("type",)}

    def post(self, request: Request, table: str, entry: str) -> Response:
        """Until when the replacement stays open, and how often to send the next. 409 when it is no longer IN_PROGRESS.

        From the first heartbeat on the client must go on: a replacement whose client falls silent is reverted within 90
        seconds.
        """
        return Response(entry_lease.heartbeat(self.ctx, table_of(self, request, table), entry, self.actor).to_json())


class EndInBackground(ApiView):
    """End a replacement as a job."""

    answers = {"POST": {202: "object"}}
    bodies = {"POST": BackgroundEndBody}
    rights = {"POST": "operate"}
    parameters = {"POST": ("type", "cleanup", "overrideChecks")}

    def post(self, request: Request, table: str, entry: str) -> Response:
        """202 with the job, which survives every restart; follow it at ``GET /api/v1/jobs/{id}``. The body may narrow
        ``segmentsTo``.

        ``overrideChecks`` is the reason for which failed checks of the new data are passed over.
        """
        new = read_body(request, BackgroundEndBody, optional=True).segments_to or []
        return end_in_background(self, request, table_of(self, request, table), entry, new)


class _OfAJob(ApiView):
    """A background end."""

    def table_asked(self, request: Request) -> str | None:
        """The table that the job works on."""
        return find_job(self.ctx, self.kwargs["job"]).table


class Job(_OfAJob):
    """A background end."""

    rights = {"DELETE": "operate"}
    parameters = {"DELETE": ("reason",)}

    def get(self, request: Request, job: str) -> Response:
        """Its state, how many of the replicas are online, which are not and why, and what it says."""
        return Response(job_status(self.ctx, job, wiring.replica_errors(self.ctx)).to_json())

    def delete(self, request: Request, job: str) -> Response:
        """Cancel it. The replacement stays open. 409 when the job is over or has just switched."""
        return Response(JobStatus(end_jobs.cancel_job(self.ctx, job, self.actor)).to_json())


class CancelJob(_OfAJob):
    """Cancel a background end."""

    rights = {"POST": "operate"}
    parameters = {"POST": ("reason",)}

    def post(self, request: Request, job: str) -> Response:
        """As ``DELETE /api/v1/jobs/{id}``."""
        return Response(JobStatus(end_jobs.cancel_job(self.ctx, job, self.actor)).to_json())


class Rollback(ApiView):
    """Go back several replacements in one switch."""

    rights = {"POST": "operate"}
    parameters = dict.fromkeys(("GET", "POST"), ("type", "to", "forceRevert", "dryRun", "reason"))

    def get(self, request: Request, table: str) -> Response:
        """What going back to before entry ``to`` would do: entries, rows, segments, bytes before and after, what goes,
        what blocks it.
        """
        return self._preview(request, table)

    def post(self, request: Request, table: str) -> Response:
        """Revert entry ``to`` and everything built on it, in one switch; with dryRun=true only say what
        it would do.
        """
        if bool_param(request, "dryRun"):
            return self._preview(request, table)
        found, force = table_of(self, request, table), bool_param(request, "forceRevert")
        return Response(
            rollback.roll_back(self.ctx, found, need_text(request, "to"), force=force, actor=self.actor).to_json()
        )

    def _preview(self, request: Request, table: str) -> Response:
        found, force = table_of(self, request, table), bool_param(request, "forceRevert")
        return Response(rollback.preview_rollback(self.ctx, found, need_text(request, "to"), force=force).to_json())


class RollbackUnderWay(ApiView):
    """A rollback over several entries of a real Pinot, which reverts one by one and so may stop half-way."""

    rights = {"POST": "operate", "DELETE": "operate"}
    parameters = dict.fromkeys(("GET", "POST", "DELETE"), ("type", "reason"))

    def get(self, request: Request, table: str) -> Response:
        """The last one: its steps, what is reverted and what is left. 404 when there never was one; on the own cluster
        it is one switch.
        """
        found = self.ctx.engine.lineage.rollback_on_record(self.ctx, table_of(self, request, table))
        if found is None:
            raise NotFound(
                f"No rollback of table '{table}' is on record.", remedy="Begin one with POST .../rollback?to=ENTRY."
            )
        return Response(found.to_json())

    def post(self, request: Request, table: str) -> Response:
        """Carry it on now. 404 when none is under way."""
        found = table_of(self, request, table)
        return Response(self.ctx.engine.lineage.continue_rollback(self.ctx, found, self.actor).to_json())

    def delete(self, request: Request, table: str) -> Response:
        """Give it up: the table stays at the snapshot that it has reached. 404 when none is under way."""
        found = table_of(self, request, table)
        return Response(self.ctx.engine.lineage.give_up_rollback(self.ctx, found, self.actor).to_json())


class PinEntry(ApiView):
    """Keep an entry and both its sides from every clean-up."""

    bodies = {"POST": ReasonBody}
    rights = {"POST": "operate", "DELETE": "operate"}
    parameters = dict.fromkeys(("POST", "DELETE"), ("type", "reason"))

    def post(self, request: Request, table: str, entry: str) -> Response:
        """Pin it. The reason is required: header X-Reason, parameter ``reason``, or ``{"reason": ...}``."""
        return Response(pins.pin_entry(self.ctx, table_of(self, request, table), entry, self._actor(request)).to_json())

    def delete(self, request: Request, table: str, entry: str) -> Response:
        """Unpin it; clean-up goes by the usual rules again."""
        return Response(pins.unpin_entry(self.ctx, table_of(self, request, table), entry, self.actor).to_json())

    def _actor(self, request: Request) -> Actor:
        reason = read_body(request, ReasonBody, optional=True).reason or ""
        return Actor(self.actor.name, reason.strip() or self.actor.reason, self.actor.address)


class ExplainEntry(ApiView):
    """Why an entry is where it is."""

    parameters = {"GET": ("type",)}

    def get(self, request: Request, table: str, entry: str) -> Response:
        """State, who and since when; what it hides and locks; what blocks its end and its revert; lease; what happens
        next and when.
        """
        return Response(
            explain.explain_entry(
                self.ctx, table_of(self, request, table), entry, wiring.replica_errors(self.ctx)
            ).to_json()
        )


class DiffSnapshots(ApiView):
    """What differs between two snapshots of a table."""

    parameters = {"GET": ("type", "from", "to")}

    def get(self, request: Request, table: str) -> Response:
        """Segments, rows, bytes, and range and cardinality of every column. Snapshots are ``current``, ENTRY,
        ``ENTRY:from``, ``ENTRY:to``.

        ``to`` is ``current`` unless given.
        """
        found = table_of(self, request, table)
        old, new = need_text(request, "from"), text_param(request, "to") or "current"
        return Response(
            snapshot_diff.diff_snapshots(self.ctx, found, old, new, wiring.column_profiles(self.ctx)).to_json()
        )


def end_in_background(view: ApiView, request: Request, table: TableName, entry: str, new: list[str]) -> Response:
    """Note the end down, wake the workers, answer 202 with the job."""
    cleanup = parse_bool(text_param(request, "cleanup"), "cleanup", False)
    override = text_param(request, "overrideChecks") or ""
    job = end_jobs.request_end(
        view.ctx,
        table,
        entry,
        segments_to=new,
        cleanup=cleanup,
        override=override,
        actor=view.actor,
        strict=bool_param(request, "strictSnapshot"),
    )
    if job.is_open:
        enqueue_end(view.ctx, job.id)
    return Response(JobStatus(job).to_json(), status=202, headers={"Location": address_of(f"/api/v1/jobs/{job.id}")})


def table_of(view: ApiView, request: Request, table: str) -> TableName:
    """The table; a raw name without ``type`` means OFFLINE, since replacements mostly are."""
    kind = text_param(request, "type") or (None if split_table_name(table)[1] else OFFLINE)
    return tables.one_table(view.ctx, table, kind)
