"""Pinot's endpoints about one task and its sub-tasks: a run of a file ingestion session, and its files."""

from __future__ import annotations

from functools import cached_property

from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.base import ApiView, int_param, need_text, text_param
from segments.domain.ingestion.session import FileRecord
from segments.domain.ingestion.task_runs import (
    WORKER_STATES,
    TaskRun,
    debug_info,
    subtask_config,
    subtask_names,
    subtask_progress,
    subtask_state,
)
from segments.domain.jobs.workers.pools import ON_DEMAND
from segments.errors import InvalidInput, StateConflict
from segments.names import shown
from segments.services.access.read_rights import readable
from segments.services.schedules import task_runs


class _OfRun(ApiView):
    """About one run; the right is that for its table."""

    def table_asked(self, request: Request) -> str | None:
        """The table of the run. NotFound."""
        return self.run.table

    @cached_property
    def run(self) -> TaskRun:
        """The run of the address. NotFound."""
        return task_runs.find_run(self.ctx, str(self.kwargs["task"]))

    def files(self, request: Request, run: TaskRun) -> dict[str, FileRecord]:
        """Its sub-tasks by name; those that ``subtaskNames`` lists, where it is given."""
        found = subtask_names(run, task_runs.files_of(self.ctx, run))
        wanted = {name.strip() for name in (text_param(request, "subtaskNames") or "").split(",") if name.strip()}
        return {name: file for name, file in found.items() if not wanted or name in wanted}


class OneTask(_OfRun):
    """A single task."""

    rights = {"DELETE": "administer"}
    parameters = {"DELETE": ("forceDelete",)}

    def delete(self, request: Request, task: str) -> Response:
        """409: a run goes with its session."""
        run = self.run
        raise StateConflict(
            f"Task '{run.name}' is a run of session '{run.session.id}' and goes with it.",
            remedy=f"DELETE /tasks/FileIngestionTask/{run.table}/metadata forgets the sessions of its table.",
        )


class TaskState(_OfRun):
    """The state of a task."""

    answers = {"GET": {200: "json"}}

    def get(self, request: Request, task: str) -> Response:
        """IN_PROGRESS, COMPLETED, FAILED or ABORTED; as in Pinot COMPLETED does not say that every file was good."""
        return Response(self.run.state)


class TaskConfigs(_OfRun):
    """What the sub-tasks of a task were given."""

    answers = {"GET": {200: "list"}}

    def get(self, request: Request, task: str) -> Response:
        """A list of configs, secrets masked; of an earlier run than the session's last one without files."""
        run = self.run
        configs, files = task_runs.configs_of(self.ctx, run), self.files(request, run)
        return Response(
            [subtask_config(run, configs, file) for file in files.values()] or [subtask_config(run, configs)]
        )


class RuntimeConfig(_OfRun):
    """The limits of a task."""

    def get(self, request: Request, task: str) -> Response:
        """{name: text}."""
        _ = self.run  # 404 where there is none
        rule = ON_DEMAND["ingestion_session"]
        return Response({"ConcurrentTasksPerWorker": str(rule.pool.slots), "TaskTimeoutMs": str(rule.limit_s * 1000)})


class TaskDebug(_OfRun):
    """Everything about a task; what failed is shown with values of its rows."""

    rights = {"GET": "query"}
    parameters = {"GET": ("verbosity",)}

    def get(self, request: Request, task: str) -> Response:
        """State, numbers, sub-tasks, and ``outcome``: whether all, some or none of its files were good."""
        run, shows_all = self.run, (int_param(request, "verbosity") or 0) > 0
        configs = task_runs.configs_of(self.ctx, run)
        return Response(debug_info(run, task_runs.files_of(self.ctx, run), configs, shows_all=shows_all))


class SubtaskStates(_OfRun):
    """The states of a task's sub-tasks."""

    def get(self, request: Request, task: str) -> Response:
        """{sub-task: state}, null for one that has not begun."""
        return Response({name: subtask_state(file) for name, file in self.files(request, self.run).items()})


class SubtaskConfigs(_OfRun):
    """The configs of a task's sub-tasks."""

    parameters = {"GET": ("subtaskNames",)}

    def get(self, request: Request, task: str) -> Response:
        """{sub-task: config}, secrets masked."""
        run = self.run
        configs = task_runs.configs_of(self.ctx, run)
        return Response({n: subtask_config(run, configs, file) for n, file in self.files(request, run).items()})


class SubtaskProgress(_OfRun):
    """How far a task's sub-tasks are."""

    rights = {"GET": "query"}
    parameters = {"GET": ("subtaskNames",)}

    def get(self, request: Request, task: str) -> Response:
        """{sub-task: words}."""
        return Response({n: subtask_progress(file) for n, file in self.files(request, self.run).items()})


class WorkersProgress(ApiView):
    """How far sub-tasks are, by the worker that is at them."""

    rights = {"GET": "query"}
    parameters = {"GET": ("subTaskState", "minionWorkerIds")}
    reading = "filtered"

    def get(self, request: Request) -> Response:
        """{worker: {sub-task: words}} of the runs under way, for the tables that the asker may read. ``subTaskState``:
        UNKNOWN, IN_PROGRESS, SUCCEEDED, CANCELLED or ERROR; ``minionWorkerIds`` names workers, with commas between.
        """
        state = need_text(request, "subTaskState").upper()
        if state not in WORKER_STATES:
            raise InvalidInput(
                f"'subTaskState' cannot be '{shown(state)}'.", remedy=f"Write one of {', '.join(WORKER_STATES)}."
            )
        named = (text_param(request, "minionWorkerIds") or "").split(",")
        workers = frozenset(name.strip() for name in named if name.strip())
        may_read = readable(request.user, self.cluster_name)
        return Response(task_runs.workers_progress(self.ctx, may_read, state, workers))
