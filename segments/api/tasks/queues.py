"""Pinot's endpoints about a type of task, of the installation's own cluster: its queue, its tasks, their numbers."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, bool_param, int_param, status, text_param
from segments.domain.ingestion.task_config import TASK_TYPE
from segments.domain.ingestion.task_runs import TaskRun, counts, debug_info
from segments.names import TableName
from segments.services.access.read_rights import readable
from segments.services.ingestion import sessions
from segments.services.schedules import task_changes, task_runs
from segments.services.schedules.schedule_records import set_stopped
from segments.services.tables.tables import existing_tables
from segments.store import paths


class _Tasks(ApiView):
    """What all have: the runs that the asker may read, the table of the address, everything about a run."""

    def runs(self, request: Request, task_type: str) -> list[TaskRun]:
        """The runs of those tables. NotFound for a type that nothing runs."""
        task_runs.require_type(task_type)
        return task_runs.all_runs(self.ctx, readable(request.user, self.cluster_name))

    def table(self, table: str) -> TableName:
        """The table of the address."""
        return existing_tables(self.ctx, table, None)[0]

    def debug(self, run: TaskRun, verbosity: int) -> dict[str, Any]:
        """Pinot's answer about one run."""
        files = task_runs.files_of(self.ctx, run)
        return debug_info(run, files, task_runs.configs_of(self.ctx, run), shows_all=verbosity > 0)


class _OfType(_Tasks):
    """About one type of task, over all tables that the asker may read."""

    reading = "filtered"


class TaskTypes(ApiView):
    """Types of tasks that are carried out."""

    answers = {"GET": {200: "list"}}
    reading = "open"

    def get(self, request: Request) -> Response:
        """A list of names."""
        return Response([TASK_TYPE])


class Summary(_OfType):
    """Sub-tasks that run or wait."""

    parameters = {"GET": ("tenant",)}

    def get(self, request: Request) -> Response:
        """{"totalRunningTasks", "totalWaitingTasks", "taskBreakdown"} by server tenant."""
        may_read = readable(request.user, self.cluster_name)
        return Response(task_runs.summary(self.ctx, may_read, text_param(request, "tenant")))


class QueueState(_OfType):
    """The queue of a type."""

    answers = {"GET": {200: "json"}}

    def get(self, request: Request, task_type: str) -> Response:
        """IN_PROGRESS, STOPPING or STOPPED."""
        return Response(task_runs.queue_state(self.ctx, self.runs(request, task_type)))


class TaskNames(_OfType):
    """The tasks of a type."""

    answers = {"GET": {200: "json"}}
    counts_only = False

    def get(self, request: Request, task_type: str) -> Response:
        """Their names, or with ``/count`` how many."""
        names = sorted(run.name for run in self.runs(request, task_type))
        return Response(len(names) if self.counts_only else names)


class TaskStates(_OfType):
    """The states of a type's tasks."""

    def get(self, request: Request, task_type: str) -> Response:
        """{task: state}."""
        return Response({run.name: run.state for run in self.runs(request, task_type)})


class TaskCounts(_OfType):
    """Numbers of sub-tasks of a type's tasks."""

    parameters = {"GET": ("state", "table")}

    def get(self, request: Request, task_type: str) -> Response:
        """{task: numbers by state}; ``state`` and ``table`` narrow it, several with commas between."""
        states = {s.strip().upper() for s in (text_param(request, "state") or "").split(",") if s.strip()}
        table = text_param(request, "table")
        runs = self.runs(request, task_type)
        return Response({
            run.name: counts(run) for run in runs
            if (not states or run.state in states) and table in (None, run.table)
        })  # fmt: skip


class TypeDebug(_OfType):
    """Everything about a type's tasks; what failed is shown with values of its rows."""

    rights = {"GET": "query"}
    parameters = {"GET": ("verbosity",)}

    def get(self, request: Request, task_type: str) -> Response:
        """{task: state, numbers, sub-tasks, outcome}; finished sub-tasks with ``verbosity`` above 0 only."""
        verbosity = int_param(request, "verbosity") or 0
        return Response({run.name: self.debug(run, verbosity) for run in self.runs(request, task_type)})


class TableTasks(_Tasks):
    """The tasks of a type that are about one table."""

    def get(self, request: Request, task_type: str, table: str) -> Response:
        """{task: state}."""
        task_runs.require_type(task_type)
        return Response({run.name: run.state for run in task_runs.table_runs(self.ctx, self.table(table))})


class TableDebug(_Tasks):
    """Everything about one table's tasks."""

    rights = {"GET": "query"}
    parameters = {"GET": ("verbosity",)}

    def get(self, request: Request, task_type: str, table: str) -> Response:
        """{task: state, numbers, sub-tasks, outcome}; finished sub-tasks with ``verbosity`` above 0 only."""
        task_runs.require_type(task_type)
        runs, verbosity = task_runs.table_runs(self.ctx, self.table(table)), int_param(request, "verbosity") or 0
        return Response({run.name: self.debug(run, verbosity) for run in runs})


class TaskMetadata(_Tasks):
    """What is on record of a table's task."""

    rights = {"DELETE": "administer"}

    def get(self, request: Request, task_type: str, table: str) -> Response:
        """The record as Pinot writes it, ``{}`` when there is none."""
        task_runs.require_type(task_type)
        node = self.ctx.store.get(paths.ingestion_task(self.table(table).typed))
        record = node.record if node is not None else None
        found = None if record is None else {
            "id": record.id, "simpleFields": record.simple, "mapFields": record.maps, "listFields": record.lists,
        }  # fmt: skip
        return Response(found or {})

    def delete(self, request: Request, task_type: str, table: str) -> Response:
        """Forget the table's sessions; an open one is given up. What is visible stays, and is known as ingested."""
        task_runs.require_type(task_type)
        name = self.table(table)
        sessions.clear_state(self.ctx, name, self.actor)
        return status(f"Successfully deleted metadata for task type: {task_type} from table: {name}")


class StopTasks(_Tasks):
    """Stop or resume a type of task, or one table's."""

    rights = {"PUT": "administer"}
    stops = True

    def put(self, request: Request, task_type: str, table: str | None = None) -> Response:
        """No run begins while it is stopped; one under way comes to its end."""
        task_runs.require_type(task_type)
        name = self.table(table).typed if table else task_type
        set_stopped(self.ctx, name, is_stopped=self.stops, actor=self.actor)
        word = "stopped" if self.stops else "resumed"
        what = f"table: {name}, task type: {task_type}" if table else f"task type: {task_type}"
        return status(f"Successfully {word} tasks for {what}")


class CleanUpTasks(_Tasks):
    """Forget finished tasks."""

    rights = {"PUT": "administer"}

    def put(self, request: Request, task_type: str, table: str | None = None) -> Response:
        """Runs go with their sessions: those that are over go, but for a table's newest one and those that can still
        be undone.
        """
        task_runs.require_type(task_type)
        removed = task_changes.clean_up(self.ctx, self.table(table) if table else None, self.actor)
        if not removed:
            return status(
                f"Nothing to clean up for task type: {task_type}. A table's newest session is kept, and those whose "
                "rows are in the table."
            )
        what = f"{task_type}: {len(removed)} session{'' if len(removed) == 1 else 's'} removed, with their runs"
        return status(f"Successfully cleaned up tasks for task type: {what}")


class DeleteTasks(_Tasks):
    """Forget all tasks of a type."""

    rights = {"DELETE": "administer"}
    parameters = {"DELETE": ("forceDelete",)}

    def delete(self, request: Request, task_type: str) -> Response:
        """Forget every table's sessions; 409 while one runs, unless ``forceDelete``. What is visible stays."""
        task_runs.require_type(task_type)
        task_changes.delete_all(self.ctx, self.actor, force=bool_param(request, "forceDelete"))
        return status(f"Successfully deleted tasks for task type: {task_type}")
