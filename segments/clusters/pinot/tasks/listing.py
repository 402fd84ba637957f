"""The tasks of one type of minion task of a real Pinot, a page of them with details, and one task with all its
sub-tasks.

A page costs three calls, one to three for each task that it shows, and one for each table that asks for the type
(``MOST_TABLES`` at most).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from segments.clusters.pinot.calls import controller, quoted, refusals_translated, version
from segments.clusters.pinot.tasks.queues import (
    CHAIN,
    live_minions,
    queue_state,
    tables_with,
    task_states,
    wanted_tasks,
)
from segments.domain.pinot import capabilities
from segments.domain.pinot.minion_tasks import (
    NOT_REPORTED,
    MinionTask,
    ReportedTime,
    made_at,
    newest_first,
    reported_time,
    task_of,
    task_of_states,
)
from segments.errors import NotFound, PinotAdminError
from segments.services.core.context import Context

#: Tasks of a page, and tables whose generation is asked about: each costs the controller a call.
PAGE: Final = 20
MOST_TABLES: Final = 10
#: Characters of a generator's error that are shown; Pinot keeps whole stack traces.
_LONGEST: Final = 600


@dataclass(frozen=True)
class Generation:
    """When Pinot last ran the generator of this type for a table, and what went wrong since; ``cron`` as in the table's
    config.
    """

    table: str
    cron: str
    at: ReportedTime = NOT_REPORTED
    failed_at: ReportedTime = NOT_REPORTED
    error: str = ""


@dataclass(frozen=True)
class TypePage:
    """One page of a type's tasks, newest first. ``queue`` empty: it has none yet, or it is not reported."""

    task_type: str
    queue: str
    tasks: tuple[MinionTask, ...]
    total: int
    number: int
    tables: tuple[Generation, ...]
    left_out: int = 0
    minions: tuple[str, ...] | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be read of its tasks, each once."""
        return tuple(dict.fromkeys(t.note for t in self.tasks if t.note))

    @property
    def has_next(self) -> bool:
        """Are there older ones?"""
        return self.number * PAGE < self.total


def read_type(ctx: Context, task_type: str, number: int = 1) -> TypePage:
    """Page ``number`` (from 1). NotFound for a type that neither has a queue nor is configured by a
    table; Unavailable.
    """
    wanted = wanted_tasks(ctx)
    states, tables = task_states(ctx, task_type), tables_with(wanted, task_type)
    queue = queue_state(ctx, task_type)
    if not states and not queue and not tables:
        raise NotFound(
            f"No minion task of type '{task_type}' is known here.", remedy="The page Minion tasks lists the types."
        )
    names = newest_first(states)[(number - 1) * PAGE : number * PAGE]
    verbosity = _verbosity(ctx)
    return TypePage(
        task_type,
        queue,
        tuple(_details(ctx, name, states[name], verbosity) for name in names),
        len(states),
        number,
        tuple(_generation(ctx, table, task_type, wanted) for table in tables[:MOST_TABLES]),
        max(len(tables) - MOST_TABLES, 0),
        live_minions(ctx),
    )


def read_task(ctx: Context, task_type: str, name: str) -> MinionTask:
    """One task with all sub-tasks that are reported. NotFound, Unavailable."""
    state = task_states(ctx, task_type).get(name)
    if state is None:
        raise NotFound(
            f"There is no task '{name}' of type '{task_type}'.",
            remedy="Pinot forgets tasks a day or some after their end.",
        )
    return _details(ctx, name, state, 1)


def _verbosity(ctx: Context) -> int:
    """0: finished sub-tasks are left out, unless their times are the only way to know when a task finished."""
    return 0 if capabilities.has(version(ctx), capabilities.TASK_FINISH) else 1


def _details(ctx: Context, name: str, state: str, verbosity: int) -> MinionTask:
    """As much as the controller can report: some write no sub-tasks, or only their states (a 0.11.0 on a Java that came
    after it).
    """
    note = ""
    for level in range(verbosity, -1, -1):
        try:
            with refusals_translated(is_change=False):
                found = controller(ctx).get(f"/tasks/task/{quoted(name)}/debug", {"verbosity": level})
        except PinotAdminError as error:
            note = note or f"The controller cannot list all of its tasks: {CHAIN.sub('', error.message)}"
        else:
            return replace(task_of(name, state, found), note=note)
    try:
        with refusals_translated(is_change=False):
            return task_of_states(name, state, controller(ctx).get(f"/tasks/subtask/{quoted(name)}/state"), note)
    except PinotAdminError:
        return MinionTask(name, state, created=made_at(name), note=note)


def _generation(ctx: Context, table: str, task_type: str, wanted: Mapping[str, Mapping[str, str]]) -> Generation:
    cron = wanted[table][task_type]
    try:
        with refusals_translated(is_change=False):
            found = controller(ctx).get(
                f"/tasks/generator/{quoted(table)}/{quoted(task_type)}/debug", {"localOnly": False}
            )
    except PinotAdminError:
        return Generation(table, cron)
    reported = [t for t in found if isinstance(t, dict)] if isinstance(found, list) else []
    good = [reported_time(at) for t in reported for at in t.get("mostRecentSuccessRunTS") or ()]
    bad = {str(at): str(text) for t in reported for at, text in (t.get("mostRecentErrorRunMessages") or {}).items()}
    last = max(bad, default="", key=lambda at: reported_time(at).ms or 0)
    latest, failed = max(good, default=NOT_REPORTED, key=_ms), reported_time(last) if last else NOT_REPORTED
    is_over = _ms(latest) >= _ms(failed)
    return Generation(table, cron, latest, *((NOT_REPORTED, "") if is_over else (failed, bad[last][:_LONGEST])))


def _ms(reported: Any) -> int:
    return reported.ms or 0
