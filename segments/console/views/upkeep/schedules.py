"""The button that runs a schedule of a pass once, now. Schedules themselves are pages of the admin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django_celery_beat.models import PeriodicTask

from segments.console.access import ADMINISTER
from segments.console.operation import Operation, Outcome, Target, no_table
from segments.services.core.context import Actor
from segments.services.upkeep.run_now import run_now, why_not_now


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
