"""The buttons that run a schedule of a pass once, now, and switch schedules on and off. Schedules themselves are pages
of the admin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.http import urlencode
from django_celery_beat.models import PeriodicTask

from segments.console.access import ADMINISTER
from segments.console.operation import Operation, Outcome, Target, no_table
from segments.domain.formats.plural import counted
from segments.domain.formats.whole_number import whole_number
from segments.services.core.context import Actor
from segments.services.upkeep.run_now import run_now, why_not_now
from segments.services.upkeep.switched_schedules import switch_schedules


def _schedule(target: Target) -> PeriodicTask:
    found: PeriodicTask = get_object_or_404(PeriodicTask, pk=target.arguments["schedule"])
    return found


def _shown(target: Target, plain: Operation) -> Operation:
    row = _schedule(target)
    does = [f"{row.name}: {row.description}."] if row.description else []
    return replace(plain, title=f"Run {row.name} now", explain=[*does, *plain.explain], why_not=why_not_now(row))


def _run(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    row = _schedule(target)
    run_now(target.ctx, row, actor)
    return Outcome(f"{row.name} was handed to the workers.")


RUN_NOW: Final = Operation(
    action="runSchedule",
    title="Run a schedule now",
    button="Run now",
    right=ADMINISTER,
    everywhere=True,
    is_hidden=True,
    asks="nothing",
    place="passes",
    find=no_table,
    explain=["A worker runs it once, now, over all tables. Its schedule stays as it is."],
    preview=_shown,
    run=_run,
    back=lambda _: reverse("console:passes"),
)


def _chosen(target: Target) -> list[PeriodicTask]:
    """Those that ``s`` names by their numbers, but for Celery's own."""
    numbers = [n for text in target.values("s") if (n := whole_number(text)) is not None and n < 1 << 31]
    return list(PeriodicTask.objects.filter(pk__in=numbers).exclude(task__startswith="celery.").order_by("name"))


def _switcher(*, is_on: bool) -> Callable[[Target, Operation], Operation]:
    def shown(target: Target, plain: Operation) -> Operation:
        rows = _chosen(target)
        changing = [row.name for row in rows if row.enabled != is_on]
        word = "on" if is_on else "off"
        return replace(
            plain,
            title=f"Switch {counted(len(rows), 'schedule')} {word}",
            hold={"s": [str(row.pk) for row in rows]},
            lists=[
                (f"Switched {word}", changing),
                (f"Is {word} already", [row.name for row in rows if row.enabled == is_on]),
            ],
            why_not="" if changing else f"All of them are {word} already." if rows else "No schedule is chosen.",
        )

    return shown


def _switched(*, is_on: bool) -> Callable[[Target, Mapping[str, Any], Actor], Outcome]:
    def run(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
        names = switch_schedules(_chosen(target), actor, is_on=is_on)
        way_back = reverse(f"console:switch_schedules_{'off' if is_on else 'on'}")
        undo = f"{way_back}?{urlencode({'s': target.values('s')}, doseq=True)}"
        return Outcome(f"Switched {'on' if is_on else 'off'}: {', '.join(names)}.", undo)

    return run


def _switch(explain: Sequence[str], *, is_on: bool) -> Operation:
    word = "on" if is_on else "off"
    return Operation(
        action="enableSchedule" if is_on else "disableSchedule",
        title=f"Switch schedules {word}",
        button=f"Switch {word}",
        right=ADMINISTER,
        everywhere=True,
        is_hidden=True,
        asks="nothing",
        place="passes",
        find=no_table,
        explain=explain,
        preview=_switcher(is_on=is_on),
        run=_switched(is_on=is_on),
        back=lambda _: reverse("console:passes"),
    )


SWITCH_ON: Final = _switch(
    ["They run again from their next time on; what they left out is not made up for."], is_on=True
)
SWITCH_OFF: Final = _switch(
    ["They do not run until they are switched on again: what they clean up, repair or check is left until then."],
    is_on=False,
)
