"""/api/v1/tables/{table}/findings: what is wrong with a table, Fix it with a dry run, assign, and snooze; and
/api/v1/findings: the same of what concerns no table, such as workers.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param
from segments.api.bodies import AssignBody, SnoozeBody, read_body
from segments.api.table_of_path import table_or_offline
from segments.domain.tables.table_config import parse_period
from segments.errors import InvalidInput
from segments.models import Finding
from segments.names import shown
from segments.services.upkeep import inbox, snooze
from segments.services.upkeep.finding_fixes import find_finding, findings_json, fix, fix_json, plan_fix


class TableFindings(ApiView):
    """What the passes found wrong with a table."""

    on_pinot = frozenset(("GET",))
    parameters = {"GET": ("type", "closed")}
    answers = {"GET": {200: "object"}}

    def get(self, request: Request, table: str) -> Response:
        """Open ones, errors first, each with its snooze and whether it can be fixed from here; with ``closed=true``
        those that are gone. A raw name without ``type`` means OFFLINE.
        """
        found = table_or_offline(self, request, table)
        listed = findings_json(self.ctx, found, closed=bool_param(request, "closed"))
        return Response({"table": found.typed, "findings": listed})


class FixFinding(ApiView):
    """Have what is wrong put right."""

    rights = {"POST": "operate"}
    parameters = {"POST": ("type", "dryRun", "reason")}
    answers = {"POST": {200: "object"}}

    def post(self, request: Request, table: str, finding: int) -> Response:
        """``dryRun`` (default true) names each write and changes nothing; ``whyNot`` says why nothing can be done. With
        ``dryRun=false`` it is done: ``sentences`` says what. 409 when there is nothing that can be done now.
        """
        found = table_or_offline(self, request, table)
        row = find_finding(self.ctx, found, finding)
        if bool_param(request, "dryRun", default=True):
            return Response({"dryRun": True, **fix_json(plan_fix(self.ctx, found, row))})
        return Response({"dryRun": False, "sentences": fix(self.ctx, found, row, actor=self.actor)})


class AssignFinding(ApiView):
    """Say who takes care of a finding."""

    rights = {"POST": "operate"}
    parameters = {"POST": ("type", "reason")}
    bodies = {"POST": AssignBody}
    answers = {"POST": {200: "object"}}

    def post(self, request: Request, finding: int, table: str = "") -> Response:
        """Body: ``{"person": "ann"}``; an empty name: nobody does. 400 when nobody of that name may read the table."""
        row, body = _named(self, request, table, finding), read_body(request, AssignBody)
        inbox.assign(self.ctx, row, body.person, actor=self.actor)
        return Response({"assignee": body.person})


class SnoozeFinding(ApiView):
    """No notices of a finding for a while."""

    rights = {"POST": "operate", "DELETE": "operate"}
    parameters = {"POST": ("type", "reason"), "DELETE": ("type", "reason")}
    bodies = {"POST": SnoozeBody}
    answers = {"POST": {200: "object"}, "DELETE": {200: "object"}}

    def post(self, request: Request, finding: int, table: str = "") -> Response:
        """Body: ``{"period": "8h"}`` or ``{"until": "2030-01-01T08:00:00Z"}``, at most 90 days. A reason is required
        (``X-Reason`` or ``reason``).
        """
        row, body = _named(self, request, table, finding), read_body(request, SnoozeBody)
        held = snooze.snooze(self.ctx, row, _end(body), actor=self.actor)
        return Response({"until": held.until.isoformat(), "actor": held.actor, "reason": held.reason})

    def delete(self, request: Request, finding: int, table: str = "") -> Response:
        """End the snooze now. 404 when the finding has none."""
        snooze.lift(self.ctx, _named(self, request, table, finding), actor=self.actor)
        return Response({"status": f"Finding {finding} is not snoozed any more."})


class InstallationFindings(ApiView):
    """What is wrong with the installation, but with no table: workers that do not work, tasks that fail."""

    parameters = {"GET": ("closed",)}
    answers = {"GET": {200: "object"}}

    def get(self, request: Request) -> Response:
        """As those of a table."""
        return Response({"findings": findings_json(self.ctx, None, closed=bool_param(request, "closed"))})


class AssignInstallationFinding(AssignFinding):
    """As of a table's finding; the right is that for the whole cluster."""

    parameters = {"POST": ("reason",)}


class SnoozeInstallationFinding(SnoozeFinding):
    """As of a table's finding; the right is that for the whole cluster."""

    parameters = {"POST": ("reason",), "DELETE": ("reason",)}


def _named(view: ApiView, request: Request, table: str, finding: int) -> Finding:
    """The finding that the address names, of a table or (empty) of none."""
    return find_finding(view.ctx, table_or_offline(view, request, table) if table else None, finding)


def _end(body: SnoozeBody) -> datetime:
    """When the snooze ends. Raises InvalidInput."""
    if (body.until is None) == (body.period is None):
        raise InvalidInput("A snooze needs an end.", remedy="Give either 'period', as in 8h, or 'until'.")
    if body.period is not None:
        length = parse_period(body.period)
        if length is None or length > snooze.LONGEST / timedelta(milliseconds=1):
            raise InvalidInput(
                f"'{shown(body.period)}' is not a period of at most {snooze.LONGEST.days} days.",
                remedy="Write it as 30m, 8h or 2d.",
                field="period",
            )
        return timezone.now() + timedelta(milliseconds=length)
    try:
        found = parse_datetime(body.until or "")
    except ValueError:
        found = None
    if found is None:
        raise InvalidInput(
            f"'{shown(body.until or '')}' is not a time.", remedy="Write it as 2030-01-01T08:00:00Z.", field="until"
        )
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
