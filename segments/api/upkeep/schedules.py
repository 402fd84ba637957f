"""/api/v1/schedules: when the passes run: read in words, run one now, switch one on or off. For administrators of the
installation.
"""

from __future__ import annotations

from typing import Any, Final

from django.utils import timezone
from django_celery_beat.models import PeriodicTask
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView
from segments.api.bodies import ScheduleBody, read_body
from segments.api.permissions import Right
from segments.errors import NotFound
from segments.services.access.rights import has_right_everywhere
from segments.services.upkeep.next_runs import how_often, last_result, next_runs
from segments.services.upkeep.run_now import run_now
from segments.services.upkeep.switched_schedules import switch_schedules

#: Numbers of schedules end here.
_LAST: Final = (1 << 31) - 1


class _SchedulesView(ApiView):
    """All of it takes ``administer`` for the whole installation, as the pages of the admin do."""

    def needs(self, request: Request) -> tuple[Right | None, str | None]:
        """The right; that a grant for one cluster is not enough is checked on the way."""
        return ("administer" if has_right_everywhere(request.user, "administer") else None), None


class Schedules(_SchedulesView):
    """All schedules."""

    answers = {"GET": {200: "object"}}

    def get(self, request: Request) -> Response:
        """By name: what each does, how often, its next five runs (none while it is off), and what came of the last."""
        return Response({"schedules": [schedule_json(row) for row in _rows().order_by("name")]})


class OneSchedule(_SchedulesView):
    """One schedule by its id."""

    bodies = {"PUT": ScheduleBody}
    parameters = {"PUT": ("reason",)}
    answers = {"GET": {200: "object"}, "PUT": {200: "object"}}

    def get(self, request: Request, schedule: int) -> Response:
        """As in the list."""
        return Response(schedule_json(_find(schedule)))

    def put(self, request: Request, schedule: int) -> Response:
        """Switch it on or off: ``{"enabled": false}``. What it leaves out while it is off is not made up for."""
        switch_schedules([_find(schedule)], self.actor, is_on=read_body(request, ScheduleBody).enabled)
        return Response(schedule_json(_find(schedule)))


class RunSchedule(_SchedulesView):
    """Run a schedule's work once."""

    parameters = {"POST": ("reason",)}
    answers = {"POST": {202: "object"}}

    def post(self, request: Request, schedule: int) -> Response:
        """Now, besides its schedule. 202: the workers have it. 409 for a table's file ingestion, which is triggered by
        its own call.
        """
        row = _find(schedule)
        run_now(self.ctx, row, self.actor)
        return Response({"status": f"{row.name} was handed to the workers."}, status=202)


def schedule_json(row: PeriodicTask) -> dict[str, Any]:
    """A schedule in words, without what Celery needs to know of it."""
    return {
        "id": row.pk,
        "name": row.name,
        "does": row.description,
        "enabled": row.enabled,
        "runs": how_often(row),
        "nextRuns": [due.isoformat() for due in next_runs(row, timezone.now())],
        "lastResult": last_result(row),
    }


def _rows() -> Any:
    """Without what Celery does for its own sake."""
    return PeriodicTask.objects.exclude(task__startswith="celery.").select_related("interval", "crontab")


def _find(schedule: int) -> PeriodicTask:
    row: PeriodicTask | None = _rows().filter(pk=schedule).first() if schedule <= _LAST else None
    if row is None:
        raise NotFound(f"Schedule {schedule} does not exist.", remedy="List them with GET /api/v1/schedules.")
    return row
