"""The button that runs a pass once, over one table or all of the page's cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django import forms
from django.urls import reverse

from segments.console.access import find_table
from segments.console.operation import Operation, Outcome, Target
from segments.console.presenters.clusters import cluster_frame
from segments.console.rest_calls.call import Rest
from segments.names import resolve_table
from segments.services.core.context import Actor
from segments.services.upkeep import passes

#: Sentences of a run that its message quotes; the rest is in the list of runs.
_QUOTED: Final = 3


def _table(target: Target) -> None:
    """The table that ``table`` names; none: all tables, for which the right on everything is needed."""
    if typed := target.value("table"):
        target.row = find_table(target.request, typed)[0]


def _to_run(target: Target, plain: Operation) -> Operation:
    row, choices = target.row, [(n, f"{n}: {does}") for n, does in sorted(passes.WORDS.items())]
    task = target.value("task") if target.value("task") in passes.PASSES else choices[0][0]
    task_field = forms.ChoiceField(label="Pass", choices=choices, initial=task)
    theirs = sorted(cluster_frame(target.request).offers.own_passes)
    notes = [f"{' and '.join(theirs)} are Pinot's own: its controllers run them, and their logs have what they did."]
    return replace(
        plain,
        title=f"Run a pass over {row.name if row else 'all tables'}",
        fields={"task": task_field},
        hold={"table": [row.name]} if row else {},
        notes=notes if theirs else [],
        call=Rest("GET", "periodictask/run", {"taskname": task, **({"tableName": "{table}"} if row else {})}),
    )


def _run(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    task, name = values["task"], resolve_table(target.row.name, None) if target.row else None
    sentences = passes.run_pass(target.ctx, task, name, actor)
    is_theirs = task in target.ctx.engine.offers.own_passes
    ran = "" if is_theirs else f"{task} ran over {name or 'all tables'}: "
    return Outcome(f"{ran}{_summary(sentences)}")


def _summary(sentences: list[str]) -> str:
    if not sentences:
        return "nothing to do."
    more = f" And {len(sentences) - _QUOTED} more." if len(sentences) > _QUOTED else ""
    return " ".join(sentences[:_QUOTED]) + more


def _back(target: Target) -> str:
    return target.address("table_passes") if target.row else reverse("console:passes")


RUN: Final = Operation(
    action="run",
    title="Run a pass",
    button="Run now",
    tab="passes",
    place="passes",
    find=_table,
    action_of=lambda target: f"run {target.value('task')}"[:64],
    explain=["The pass runs once, now, as its schedule would run it; what it did is in the list of runs."],
    preview=_to_run,
    run=_run,
    back=_back,
)
