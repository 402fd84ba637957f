"""What a file ingestion task would do as it is configured, and what is missing, wrong or without effect in it; nothing
runs for this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from segments.domain.formats.plural import counted
from segments.domain.ingestion.replaced_part import partition_problems
from segments.domain.ingestion.task_config import (
    TASK_TYPE,
    IngestionMode,
    IngestionTask,
    ModifiedFilePolicy,
    Problem,
    parse_ingestion_task,
    problems,
    task_map,
)
from segments.domain.ingestion.task_keys import wrong
from segments.domain.schedules.cron_times import next_times, time_zone
from segments.domain.schedules.cron_words import plain_words
from segments.domain.schedules.quartz import parse_cron
from segments.domain.tables.table_config import TableConfig
from segments.names import OFFLINE
from segments.secret_texts import mask_text

#: Runs of a schedule that are named ahead.
_AHEAD: Final = 5
#: Where the task stands in a table config.
PATH: Final = f"task.taskTypeConfigsMap.{TASK_TYPE}"
_UNITS: Final = {"GB": 1 << 30, "MB": 1 << 20, "KB": 1 << 10}
_CHANGED: Final = {
    ModifiedFilePolicy.ADD: "rows of a file that changed are added to its old ones",
    ModifiedFilePolicy.REPLACE: "rows of a file that changed replace its old ones",
    ModifiedFilePolicy.SKIP: "a file that changed is left as it was",
}


@dataclass(frozen=True)
class ScheduleAhead:
    """A schedule in words, with the next runs in UTC; none: it never fires again."""

    expression: str
    words: str
    zone: str
    runs: tuple[datetime, ...]


@dataclass(frozen=True)
class TaskLint:
    """``problems``: what is wrong first. ``effective``: sentences about what a run does; empty when it cannot run."""

    problems: tuple[Problem, ...]
    effective: tuple[str, ...]
    schedule: ScheduleAhead | None

    @property
    def is_runnable(self) -> bool:
        """Nothing is wrong."""
        return not any(p.is_wrong for p in self.problems)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        ahead = self.schedule
        return {
            "isRunnable": self.is_runnable,
            "effective": list(self.effective),
            "problems": [problem_json(p) for p in self.problems],
            "schedule": None
            if ahead is None
            else {
                "expression": ahead.expression,
                "words": ahead.words,
                "timeZone": ahead.zone,
                "nextRuns": [run.isoformat() for run in ahead.runs],
            },
        }


def lint(config: TableConfig, now: datetime, zone: str) -> TaskLint | None:
    """Read the task of a config; ``zone`` is where schedules count that name none. None: the table has no such task."""
    given = task_map(config)
    if given is None:
        return None
    found = sorted((*_of_the_table(config, given), *problems(given)), key=lambda p: not p.is_wrong)
    if any(p.is_wrong for p in found):
        return TaskLint(tuple(found), (), None)
    task = parse_ingestion_task(config)
    assert task is not None
    ahead = _ahead(task, now, zone)
    if ahead is not None and not ahead.runs:
        what = f"'schedule' never fires again: {ahead.words}"
        found.append(Problem("schedule", what, "Change it, or remove it to start runs by hand only."))
    return TaskLint(tuple(found), tuple(_effective(task, given, ahead)), ahead)


def problem_json(problem: Problem) -> dict[str, Any]:
    """JSON-ready form; ``key`` is the path in the table config."""
    found = {
        "key": PATH if problem.key == TASK_TYPE else f"{PATH}.{problem.key}",
        "problem": f"{problem.what}.",
        "remedy": problem.remedy,
        "isWrong": problem.is_wrong,
    }
    return found if problem.position is None else {**found, "position": problem.position}


def _of_the_table(config: TableConfig, given: Mapping[str, str]) -> list[Problem]:
    if config.table.type == OFFLINE:
        return partition_problems(given, config)
    what = f"Table '{config.table}' is not an OFFLINE table, and files are ingested into those only"
    return [wrong(TASK_TYPE, what, "Add the task to an OFFLINE table.")]


def _ahead(task: IngestionTask, now: datetime, zone: str) -> ScheduleAhead | None:
    if task.schedule is None:
        return None
    expression, name = parse_cron(task.schedule), task.schedule_zone or zone
    runs = next_times(expression, now, time_zone(name), _AHEAD)
    return ScheduleAhead(task.schedule, plain_words(expression), name, tuple(runs))


def _effective(task: IngestionTask, given: Mapping[str, str], ahead: ScheduleAhead | None) -> list[str]:
    files = f"{task.input_format} files below {mask_text(task.input_dir)}"
    if task.swap:
        first = f"A session reads all {files} and replaces the whole table by them in one switch."
    elif task.selector is not None:
        first = f"A session reads all {files}, in place of {mask_text(task.selector.words)}."
    elif task.mode is IngestionMode.SYNC:
        first = f"A session keeps the table in step with the {files}: new, changed and deleted ones."
    else:
        first = f"A session adds the {files} that are new; {_CHANGED[task.modified_file_policy]}."
    together = (
        "Queries see all of its files at once, at its end."
        if task.consistent
        else "Queries see files as they are finished, not all at once: neither consistentPushEnabled nor "
        "consistentPushSwapEnabled is true."
    )
    found = [first, together]
    if task.consistent:
        found.append(
            f"Files that fail are read again at the next trigger, {counted(task.max_retries, 'time')} at most; then "
            "the session begins again."
            if task.max_retries
            else "A session in which a file fails is discarded as a whole: consistentPushMaxRetries is 0."
        )
    if limits := limit_words(task):
        rest = "and the session goes on at the next triggers" if task.consistent else "and the next triggers the others"
        found.append(f"One run reads {limits} at most, {rest}.")
    if ahead is None:
        found.append("There is no schedule: sessions begin only when somebody starts one.")
    else:
        found.append(f"Schedule: {ahead.words} ({ahead.zone}).")
    return found


def limit_words(task: IngestionTask) -> str:
    """What one run reads at most; empty: it has no limit."""
    run = task.run
    found = [counted(run.files, "file")] if run.files else []
    found += [_size(run.bytes)] if run.bytes else []
    found += [f"what {counted(run.tasks, 'task')} can"] if run.tasks else []
    return ", ".join(found)


def _size(number: int) -> str:
    unit = next((unit for unit in _UNITS if number % _UNITS[unit] == 0), "")
    return f"{number // _UNITS[unit]:,} {unit}" if unit else counted(number, "byte")


def wrong_problems(config: TableConfig) -> list[Problem]:
    """What keeps the task of a config from being carried out; none also when it has no task."""
    given = task_map(config)
    return [] if given is None else [p for p in (*_of_the_table(config, given), *problems(given)) if p.is_wrong]
