"""Draining a server: what moves, what is in the way, and giving it its tags back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django import forms
from django.urls import reverse

from segments.console.operation import Operation, Outcome, Target, no_table
from segments.domain.formats.plural import counted
from segments.domain.rebalance.drain import Held, Phase
from segments.services.core.context import Actor
from segments.services.rebalance import drain
from segments.services.rebalance.drain import Outlook


def _to_drain(target: Target, plain: Operation) -> Operation:
    found = drain.outlook_of(target.ctx, target.arguments["instance"])
    shown = replace(plain, title=f"Drain {found.server}", lists=_lists(found))
    if found.drain is not None:
        return replace(shown, why_not=_state(found), why_not_title="This server has been drained already.")
    if found.refusals:
        return replace(shown, why_not=" ".join(found.refusals.values()))
    if any(some.consuming for some in found.held.values()):
        return shown
    return replace(shown, fields={})


def _lists(found: Outlook) -> list[tuple[str, list[str]]]:
    tables = [f"{table.typed}: {_words(some)}" for table, some in sorted(found.held.items(), key=str)]
    return [(f"Tables with {counted(found.left, 'segment')} on this server", tables)]


def _words(some: Held) -> str:
    more = f", {some.consuming} of them consuming" if some.consuming else ""
    return counted(some.segments, "segment") + more + (f", {some.off} switched off" if some.off else "")


def _state(found: Outlook) -> str:
    assert found.drain is not None  # callers ask only about a server with one
    if found.drain.phase is Phase.DRAINED:
        return "Nothing is left on it. It can be stopped for good, and removed."
    return f"It is {found.percent} % done; {counted(found.left, 'segment')} to go."


def _run_drain(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    server = target.arguments["instance"]
    drain.start(target.ctx, server, commits=bool(values.get("commits", True)), actor=actor)
    return Outcome(f"{server} is being drained.", reverse("console:undrain_server", args=[server]), "Give it back")


#: Moves everything that a server holds to others.
DRAIN: Final = Operation(
    action="drainInstance",
    title="Drain",
    button="Drain",
    find=no_table,
    explain=[
        "It loses its tags, so nothing new comes to it, and every table on it is rebalanced: other servers load what "
        "it holds before it lets go, and queries go on.",
        "It ends when nothing is left on it; then it can be stopped for good, and removed.",
        "Undo: it gets its tags back at any time. What was moved by then stays where it is until the next rebalance.",
    ],
    fields={
        "commits": forms.BooleanField(
            required=False,
            initial=True,
            label="Commit what it consumes first",
            help_text="Else another server reads it from the stream again, from the start of the segment.",
        )
    },
    preview=_to_drain,
    run=_run_drain,
    back=lambda _: reverse("console:servers"),
)


def _to_undrain(target: Target, plain: Operation) -> Operation:
    found = drain.outlook_of(target.ctx, target.arguments["instance"])
    shown = replace(plain, title=f"Give {found.server} its tags back")
    if found.drain is None:
        return replace(shown, why_not="It has its tags.", why_not_title="This server is not drained.")
    problems = [f"{table}: {why}" for table, why in sorted(found.drain.problems.items())]
    lists = [("Its tags", list(found.drain.tags)), *([("In the way of the drain", problems)] if problems else [])]
    return replace(shown, explain=[_state(found), *plain.explain], lists=lists)


def _run_undrain(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    server = target.arguments["instance"]
    drain.undo(target.ctx, server, actor=actor)
    return Outcome(f"{server} has its tags back.", reverse("console:drain_server", args=[server]), "Drain it")


#: Ends a drain, at whatever point it is.
UNDRAIN: Final = replace(
    DRAIN,
    action="undrainInstance",
    title="Give it its tags back",
    button="Give it back",
    explain=[
        "New segments are placed on it again. Rebalances that the drain began are stopped where they are.",
        "Nothing is moved back: rebalance its tables for that.",
    ],
    fields={},
    preview=_to_undrain,
    run=_run_undrain,
)
