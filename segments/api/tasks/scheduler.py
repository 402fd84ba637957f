"""Pinot's endpoints about schedules, and those that start tasks now."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, need_text, text_field, text_param
from segments.api.bodies import read_body
from segments.domain.formats.json_model import Model
from segments.domain.ingestion.task_config import TASK_TYPE
from segments.errors import InvalidInput, NotFound
from segments.names import OFFLINE, TableName, resolve_table
from segments.services.access.read_rights import readable
from segments.services.schedules import beat_rows, task_changes, task_runs
from segments.services.schedules.schedule_records import read_schedule
from segments.services.tables.tables import existing_tables


class ExecuteBody(Model, forbid_unknown_fields=True):
    """Of ``/tasks/execute``."""

    task_type: str
    table_name: str
    task_name: str | None = None
    task_configs: dict[str, str] | None = None


class SchedulerInformation(ApiView):
    """The scheduler, and its jobs."""

    reading = "filtered"

    def get(self, request: Request) -> Response:
        """As Pinot's, with the schedules of the tables that the asker may read; times in epoch milliseconds."""
        jobs = _jobs(self, request)
        return Response({
            "SchedulerName": "django-celery-beat", "SchedulerInstanceId": self.ctx.cluster,
            "SchedulerClass": "django_celery_beat.schedulers.DatabaseScheduler", "Clustered": True,
            "JobStoreClass": "django_celery_beat.models.PeriodicTask",
            "NumberOfJobsExecuted": sum(job.started for job in jobs), "InStandbyMode": False,
            "JobDetails": [_times(self, job) for job in jobs],
        })  # fmt: skip


class SchedulerJobKeys(ApiView):
    """The jobs of the scheduler."""

    answers = {"GET": {200: "list"}}
    reading = "filtered"

    def get(self, request: Request) -> Response:
        """A list of {"name": table, "group": type}."""
        return Response([_key(job) for job in _jobs(self, request)])


class SchedulerJobDetails(ApiView):
    """One job of the scheduler."""

    parameters = {"GET": ("tableName", "taskType")}

    def table_asked(self, request: Request) -> str | None:
        """The table of the parameter."""
        return text_param(request, "tableName")

    def get(self, request: Request) -> Response:
        """Its cron expression, time zone, next and last time. 404 when the table has no schedule."""
        table, task_type = need_text(request, "tableName"), need_text(request, "taskType")
        task_runs.require_type(task_type)
        job = next((j for j in beat_rows.jobs(self.ctx.cluster) if j.table == table), None)
        if job is None:
            raise NotFound(
                f"Unable to find job detail for table name - {table}, task type - {task_type}.",
                remedy="Give the table's task a schedule; it counts within ten seconds.",
            )
        times = {key: value for key, value in _times(self, job).items() if key != "JobKey"}
        trigger = {"TriggerType": "CronTrigger", "TimeZone": job.zone, "CronExpression": job.expression}
        return Response({
            "JobKey": _key(job), "Description": job.words, "JobDataMap": {}, "Triggers": [{**trigger, **times}],
        })  # fmt: skip


class GeneratorDebug(ApiView):
    """What became of the last starts of a table's task."""

    answers = {"GET": {200: "list"}}
    parameters = {"GET": ("localOnly",)}

    def get(self, request: Request, table: str, task_type: str) -> Response:
        """A list of one: ``mostRecentErrorRunMessages`` {moment: why}, and ``mostRecentSuccessRunTS``."""
        task_runs.require_type(task_type)
        name = existing_tables(self.ctx, table, None)[0]
        record = read_schedule(self.ctx, name.typed)
        return Response([{
            "tableNameWithType": name.typed, "taskType": task_type,
            "mostRecentErrorRunMessages": {beat_rows.iso(at): why for at, why in record.failed},
            "mostRecentSuccessRunTS": [beat_rows.iso(at) for at in record.started],
        }])  # fmt: skip


class ReleaseLock(ApiView):
    """The lock that a controller of Pinot holds on a table while it makes tasks of it."""

    rights = {"DELETE": "administer"}
    parameters = {"DELETE": ("tableNameWithType",)}

    def table_asked(self, request: Request) -> str | None:
        """The table of the parameter."""
        return text_param(request, "tableNameWithType")

    def delete(self, request: Request) -> Response:
        """404: there is no such lock, and nothing to release; a run whose process died is carried on by another."""
        table = existing_tables(self.ctx, need_text(request, "tableNameWithType"), None)[0]
        raise NotFound(
            f"Table '{table}' has no lock to release: a run that nobody works on is carried on within half a minute.",
            remedy=f"To give a session up, DELETE /tasks/{TASK_TYPE}/{table}/metadata.",
        )


class ScheduleTasks(ApiView):
    """Begin tasks now, as their schedules would."""

    rights = {"POST": "operate"}
    parameters = {"POST": ("taskType", "tableName")}

    def table_asked(self, request: Request) -> str | None:
        """The table of the parameter; None: all of them."""
        return text_param(request, "tableName")

    def post(self, request: Request) -> Response:
        """{type: names of tasks, with commas between, empty when none began}. ``generationErrors`` names tables whose
        run is under way and, where others began, those that were refused; ``notes`` those with nothing to do.
        """
        task_runs.require_type(text_param(request, "taskType") or TASK_TYPE)
        name = text_param(request, "tableName")
        table = existing_tables(self.ctx, name, None)[0] if name else None
        return Response(task_changes.schedule_tasks(self.ctx, table, self.actor).to_json())


class ExecuteTask(ApiView):
    """Begin one table's task now."""

    rights = {"POST": "operate"}
    bodies = {"POST": ExecuteBody}

    def table_asked(self, request: Request) -> str | None:
        """The table of the body."""
        name = text_field(request, "tableName")
        return resolve_table(name, OFFLINE).typed if name else None

    def post(self, request: Request) -> Response:
        """{table: task}, ``{}`` when there was nothing to do. What it does is in the table's config: configs and names
        of its own are refused.
        """
        body = read_body(request, ExecuteBody)
        task_runs.require_type(body.task_type)
        if body.task_configs or body.task_name:
            raise InvalidInput(
                "'taskConfigs' and 'taskName' are not taken: a run does what its table's config says.",
                remedy="Leave them out, and change the config with PUT /tables/TABLE if need be.",
            )
        table: TableName = existing_tables(self.ctx, resolve_table(body.table_name, OFFLINE).typed, None)[0]
        name, _ = task_changes.run_now(self.ctx, table, self.actor)
        return Response({table.typed: name} if name else {})


def _jobs(view: ApiView, request: Request) -> list[beat_rows.Job]:
    may_read = readable(request.user, view.cluster_name)
    return [job for job in beat_rows.jobs(view.ctx.cluster) if may_read(job.table)]


def _key(job: beat_rows.Job) -> dict[str, str]:
    return {"name": job.table, "group": TASK_TYPE}


def _times(view: ApiView, job: beat_rows.Job) -> dict[str, Any]:
    taken = read_schedule(view.ctx, job.table).taken_ms
    return {"JobKey": _key(job), "NextFireTime": job.next_ms, "PreviousFireTime": taken or None}
