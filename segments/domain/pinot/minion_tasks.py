"""Minion tasks of Apache Pinot as its REST API reports them: states, numbers of sub-tasks, times, and which tables ask
for them.

The shapes were read from the controllers of 0.11.0, 1.2.0 and 1.5.1 and seen on a running 0.11.0. Times are texts in
the zone of the controller's machine; only one in UTC is a moment for sure, any other is shown as it came.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from segments.domain.formats.whole_number import whole_number

#: Helix's states of a task in which nothing of it runs any more.
FINAL: Final = frozenset({"COMPLETED", "FAILED", "ABORTED", "TIMED_OUT"})
STOPPED: Final = "STOPPED"
#: Keys of Pinot's numbers of sub-tasks that mean a failure; the last three came later than 0.11.0.
_FAILED: Final = ("error", "unknown", "dropped", "timedOut", "aborted")
_FAILED_STATES: Final = frozenset({"TASK_ERROR", "ERROR", "TIMED_OUT", "TASK_ABORTED", "DROPPED"})
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d+)? (?:UTC|GMT|Z|Coordinated Universal Time)\Z")
_LONG_NUMBER: Final = re.compile(r"_([0-9]{10,40})")


@dataclass(frozen=True)
class ReportedTime:
    """A moment as Pinot reports it: ``ms`` (epoch milliseconds) where that is certain, else only its ``text``; neither:
    not reported.
    """

    ms: int | None = None
    text: str = ""

    def __bool__(self) -> bool:
        return self.ms is not None or bool(self.text)


#: What the controller does not report.
NOT_REPORTED: Final = ReportedTime()


@dataclass(frozen=True)
class SubTask:
    """One piece of a task on one minion. ``info`` is what it says of itself: progress, or why it failed."""

    name: str
    state: str
    worker: str = ""
    table: str = ""
    started: ReportedTime = NOT_REPORTED
    finished: ReportedTime = NOT_REPORTED
    info: str = ""

    @property
    def is_failed(self) -> bool:
        """Did it go wrong?"""
        return self.state in _FAILED_STATES


@dataclass(frozen=True)
class MinionTask:
    """One task with its sub-tasks. ``total`` None: their number is not reported. ``subtasks``: those that the
    controller reports, which may be the unfinished and failed ones only. ``note``: what could not be read of it, and
    why.
    """

    name: str
    state: str
    total: int | None = None
    completed: int = 0
    running: int = 0
    waiting: int = 0
    failed: int = 0
    created: ReportedTime = NOT_REPORTED
    started: ReportedTime = NOT_REPORTED
    finished: ReportedTime = NOT_REPORTED
    trigger: str = ""
    subtasks: tuple[SubTask, ...] = ()
    note: str = ""

    @property
    def is_final(self) -> bool:
        """Does nothing of it run any more?"""
        return self.state in FINAL

    @property
    def errors(self) -> tuple[str, ...]:
        """What its failed sub-tasks say, each text once. A task whose sub-tasks all failed is COMPLETED
        all the same.
        """
        return tuple(dict.fromkeys(s.info for s in self.subtasks if s.is_failed and s.info))

    @property
    def tables(self) -> tuple[str, ...]:
        """Typed names of the tables that its sub-tasks are about, as far as they are reported."""
        return tuple(dict.fromkeys(s.table for s in self.subtasks if s.table))

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {**asdict(self), "errors": list(self.errors)}


def task_of(name: str, state: str, body: Any) -> MinionTask:
    """From GET /tasks/task/{name}/debug. ``state`` holds where the answer has none; what is no such answer is a task
    without details.
    """
    reported = body if isinstance(body, dict) else {}
    counts = reported.get("subtaskCount") if isinstance(reported.get("subtaskCount"), dict) else None
    number = _numbers(counts or {})
    subtasks = tuple(_subtask(s) for s in reported.get("subtaskInfos") or () if isinstance(s, dict))
    return MinionTask(
        name=name,
        state=str(reported.get("taskState") or state),
        total=number("total") if counts is not None else None,
        completed=number("completed"),
        running=number("running"),
        waiting=number("waiting"),
        failed=sum(number(key) for key in _FAILED),
        created=reported_time(reported.get("startTime")),
        started=reported_time(reported.get("executionStartTime")),
        finished=reported_time(reported.get("finishTime"))
        or _last_finished(str(reported.get("taskState") or state), subtasks),
        trigger=str(reported.get("triggeredBy") or ""),
        subtasks=subtasks,
    )


def task_of_states(name: str, state: str, states: Any, note: str) -> MinionTask:
    """From GET /tasks/subtask/{name}/state, where the details cannot be had: ``note`` says why."""
    known = {str(k): str(v) for k, v in states.items()} if isinstance(states, dict) else {}
    subtasks = tuple(SubTask(sub, its) for sub, its in sorted(known.items(), key=lambda item: _in_order(item[0])))
    counted = [s.state for s in subtasks]
    return MinionTask(
        name=name,
        state=state,
        total=len(subtasks) if known else None,
        completed=counted.count("COMPLETED"),
        running=counted.count("RUNNING"),
        failed=sum(s.is_failed for s in subtasks),
        waiting=sum(s not in {"COMPLETED", "RUNNING"} and s not in _FAILED_STATES for s in counted),
        subtasks=subtasks,
        note=note,
        created=made_at(name),
    )


def made_at(name: str) -> ReportedTime:
    """When a task was made, by the number that Pinot puts behind its name; not given by names of another kind."""
    made = _made_ms(name)
    return ReportedTime(made) if made else NOT_REPORTED


def newest_first(names: Iterable[str]) -> list[str]:
    """Names of tasks by the time in them (their last number), newest first; those without one last, by name."""
    return sorted(names, key=lambda name: (-_made_ms(name), name))


def count_states(states: Mapping[str, str]) -> dict[str, int]:
    """{state: number of tasks}, sorted."""
    counts: dict[str, int] = {}
    for state in states.values():
        counts[state] = counts.get(state, 0) + 1
    return dict(sorted(counts.items()))


def asked_for(config: Any) -> dict[str, str]:
    """{type of task: its cron expression, empty without one} that a table's config asks for; nothing for what is no
    config.
    """
    task = config.get("task") if isinstance(config, dict) else None
    types = task.get("taskTypeConfigsMap") if isinstance(task, dict) else None
    if not isinstance(types, dict):
        return {}
    return {str(t): str(c.get("schedule") or "") if isinstance(c, dict) else "" for t, c in sorted(types.items())}


def reported_time(value: Any) -> ReportedTime:
    """Epoch milliseconds as a number, ISO 8601 or ``yyyy-MM-dd HH:mm:ss z``; anything else is kept as the text that it
    is.
    """
    if isinstance(value, bool) or value in (None, ""):
        return NOT_REPORTED
    if isinstance(value, int | float):
        return ReportedTime(int(value))
    text = str(value).strip()
    if found := _TIME.match(text):
        return ReportedTime(_ms(datetime.fromisoformat(found[1]).replace(tzinfo=UTC)), text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return ReportedTime(None, text)
    return ReportedTime(None, text) if moment.tzinfo is None else ReportedTime(_ms(moment), text)


def _subtask(body: Mapping[str, Any]) -> SubTask:
    config = body.get("taskConfig")
    configs = config.get("configs") if isinstance(config, dict) else None
    table = configs.get("tableName") if isinstance(configs, dict) else ""
    return SubTask(
        str(body.get("taskId") or ""),
        str(body.get("state") or ""),
        str(body.get("participant") or ""),
        str(table or ""),
        reported_time(body.get("startTime")),
        reported_time(body.get("finishTime")),
        str(body.get("info") or ""),
    )


def _last_finished(state: str, subtasks: Iterable[SubTask]) -> ReportedTime:
    """When the last of its sub-tasks ended; for versions that do not report it for the task."""
    ends = [s.finished for s in subtasks if s.finished.ms is not None]
    return max(ends, key=lambda t: t.ms or 0) if state in FINAL and ends else NOT_REPORTED


def _numbers(counts: Mapping[str, Any]) -> Any:
    def number(key: str) -> int:
        value = counts.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    return number


def _made_ms(name: str) -> int:
    found = _LONG_NUMBER.findall(name)
    return int(found[-1]) if found else 0


def _in_order(name: str) -> tuple[int, str]:
    """Sub-tasks are named after their task with a number behind it."""
    last = name.rpartition("_")[2]
    return (whole_number(last) or 0, name)


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
