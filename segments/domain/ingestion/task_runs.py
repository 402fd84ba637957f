"""Runs of file ingestion sessions as tasks of Pinot: one run is one task, one file of it one sub-task.

Pinot calls a task COMPLETED even if all of its sub-tasks failed; ``outcome`` says how it really was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from segments.domain.formats.plural import counted
from segments.domain.ingestion.session import FileRecord, FileState, IngestionSession, Run
from segments.domain.ingestion.task_config import TASK_TYPE

IN_PROGRESS: Final = "IN_PROGRESS"
COMPLETED: Final = "COMPLETED"
FAILED: Final = "FAILED"
ABORTED: Final = "ABORTED"
_ERROR: Final = "TASK_ERROR"
#: Sub-task states of Pinot; None: it has not begun.
_STATES: Final[Mapping[FileState, str | None]] = {
    FileState.PENDING: None,
    FileState.RUNNING: "RUNNING",
    FileState.BUILT: COMPLETED,
    FileState.DONE: COMPLETED,
    FileState.SKIPPED: COMPLETED,
    FileState.FAILED: _ERROR,
    FileState.DEFERRED: None,
    FileState.DROPPED: "DROPPED",
}
#: States of what Pinot's workers know of.
WORKER_STATES: Final = ("UNKNOWN", "IN_PROGRESS", "SUCCEEDED", "CANCELLED", "ERROR")
_OF_WORKERS: Final = {"RUNNING": IN_PROGRESS, COMPLETED: "SUCCEEDED", _ERROR: "ERROR", "DROPPED": "CANCELLED"}
_COUNTED: Final = {None: "waiting", "RUNNING": "running", COMPLETED: "completed", _ERROR: "error", "DROPPED": "dropped"}
_NUMBERS: Final = (
    "total", "completed", "running", "waiting", "error", "unknown", "dropped", "timedOut", "aborted",
)  # fmt: skip


class Outcome(StrEnum):
    """How a run went."""

    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    PARTIALLY_FAILED = "PARTIALLY_FAILED"
    FAILED = "FAILED"
    ABORTED = "ABORTED"


@dataclass(frozen=True)
class TaskRun:
    """One run of a session of a typed table. ``is_last``: the session had none after it, so that the session's files
    and error are this run's.
    """

    table: str
    session: IngestionSession
    run: Run
    is_last: bool

    @property
    def name(self) -> str:
        """As Pinot names tasks: ``Task_FileIngestionTask_<uuid>_<ms>``."""
        return self.run.task

    @property
    def is_running(self) -> bool:
        """It is under way."""
        return self.session.is_running and self.session.task == self.run.task

    @property
    def state(self) -> str:
        """Pinot's state of a task. FAILED: not a file but the run itself went wrong."""
        if self.is_running:
            return IN_PROGRESS
        if self.is_last and self.session.end_reason:
            return ABORTED
        is_broken = self.is_last and self.session.is_open and self.session.error and not self.session.counts.failed
        return FAILED if is_broken else COMPLETED

    @property
    def outcome(self) -> Outcome:
        """How it really went."""
        if self.state == IN_PROGRESS:
            return Outcome.RUNNING
        if self.state == ABORTED:
            return Outcome.ABORTED
        if self.state == FAILED or (self.run.failed and not self.run.ok):
            return Outcome.FAILED
        return Outcome.PARTIALLY_FAILED if self.run.failed else Outcome.SUCCEEDED

    @property
    def finished_ms(self) -> int | None:
        """When it came to its end; None while it runs, and for earlier runs, of which only the start is on record."""
        if self.is_running or not self.is_last:
            return None
        return self.session.end_ms or self.session.updated_ms or None


def runs_of(table: str, sessions: Iterable[IngestionSession]) -> list[TaskRun]:
    """All runs on record of a table's sessions."""
    return [
        TaskRun(table, session, run, is_last=run is session.runs[-1]) for session in sessions for run in session.runs
    ]


def counts(run: TaskRun, files: Iterable[FileRecord] | None = None) -> dict[str, int]:
    """Pinot's numbers of sub-tasks. Of the last run those of the session's files, of earlier ones what they finished
    and lost.
    """
    if files is not None:
        found = Counter(_COUNTED[_STATES[f.state]] for f in files)
    elif run.is_last:
        known = run.session.counts
        found = Counter(
            completed=known.done, error=known.failed, waiting=known.pending + known.deferred, dropped=known.dropped
        )
    else:
        found = Counter(completed=run.run.ok, error=run.run.failed)
    return {name: sum(found.values()) if name == "total" else found[name] for name in _NUMBERS}


def debug_info(
    run: TaskRun, files: Iterable[FileRecord], configs: Mapping[str, str], *, shows_all: bool
) -> dict[str, Any]:
    """Pinot's answer about one task, with ``outcome``. Without ``shows_all`` finished sub-tasks are left out."""
    listed = list(files) if run.is_last else []
    subtasks = [
        _subtask(name, file, run, configs)
        for name, file in subtask_names(run, listed).items()
        if shows_all or _STATES[file.state] != COMPLETED
    ]
    found = {
        "taskState": run.state,
        "subtaskCount": counts(run, listed if run.is_last else None),
        "startTime": _moment(run.run.start_ms),
        "executionStartTime": _moment(run.run.start_ms),
        "finishTime": _moment(run.finished_ms),
        "triggeredBy": run.session.triggered_by,
        "subtaskInfos": subtasks,
        "outcome": run.outcome.value,
        "session": run.session.id,
        "error": run.session.error if run.is_last else "",
    }
    return {key: value for key, value in found.items() if value not in (None, "")}


def subtask_names(run: TaskRun, files: Iterable[FileRecord]) -> dict[str, FileRecord]:
    """{name of the sub-task: file}: ``<task>_<number>`` in the order of the files."""
    return {f"{run.name}_{number}": file for number, file in enumerate(files)}


def subtask_state(file: FileRecord) -> str | None:
    """Pinot's state of a sub-task; None: it has not begun."""
    return _STATES[file.state]


def subtask_config(run: TaskRun, configs: Mapping[str, str], file: FileRecord | None = None) -> dict[str, Any]:
    """Pinot's config of a sub-task: the task's keys, and the file."""
    more = {} if file is None else {"input.data.file.uri": file.uri}
    return {"taskType": TASK_TYPE, "tableName": run.table, "configs": {**configs, **more, "tableName": run.table}}


def subtask_progress(file: FileRecord) -> str:
    """What became of a file so far, in words."""
    state = _STATES[file.state]
    if state is None:
        return "No worker has run this subtask"
    if state == _ERROR:
        line = f", line {file.line}" if file.line is not None else ""
        return f"Failed after {file.attempts} attempt{'' if file.attempts == 1 else 's'}{line}: {file.error}"
    bad = f"; {counted(file.bad_rows, 'row', 'does', 'do')} not fit" if file.bad_rows else ""
    return f"{file.state.value}: {counted(file.rows or 0, 'row')}, {counted(file.bytes or 0, 'byte')}{bad}"


def worker_of(run: TaskRun) -> str:
    """The process that a run is carried out by; empty: none has taken it up, or it is over."""
    return run.session.owner.rpartition(":")[0] if run.is_running else ""


def worker_state(file: FileRecord) -> str | None:
    """One of ``WORKER_STATES``; None for a file that no worker has begun with."""
    state = _STATES[file.state]
    return None if state is None else _OF_WORKERS[state]


def _subtask(name: str, file: FileRecord, run: TaskRun, configs: Mapping[str, str]) -> dict[str, Any]:
    found = {
        "taskId": name,
        "state": _STATES[file.state],
        "info": subtask_progress(file) if _STATES[file.state] else None,
        "triggeredBy": run.session.triggered_by,
        "taskConfig": subtask_config(run, configs, file),
    }
    return {key: value for key, value in found.items() if value is not None}


def _moment(ms: int | None) -> str | None:
    return None if not ms else f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
