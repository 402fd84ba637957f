"""Buttons of a finding: fix it, with every write shown beforehand, say who takes care of it, snooze it, and lift the
snooze.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from django import forms
from django.urls import reverse
from django.utils import timezone

from segments.console.access import reads
from segments.console.forms import EXACT
from segments.console.operation import Operation, Outcome, Target
from segments.errors import InvalidInput
from segments.models import Finding
from segments.services.core.context import Actor
from segments.services.upkeep import finding_fixes, inbox, snooze

_LENGTHS: Final = [("1", "1 hour"), ("8", "8 hours"), ("24", "1 day"), ("168", "7 days"), ("720", "30 days")]


def _finding(target: Target) -> Finding:
    """The finding that the address names, of its table or of none. Raises NotFound."""
    return finding_fixes.find_finding(target.ctx, target.name if target.row else None, target.arguments["finding"])


def _no_table(target: Target) -> None:
    """It concerns the installation; who may not read the whole cluster may not know of it."""
    reads(target.request, None)


def _findings(target: Target) -> str:
    return reverse("console:findings") + (f"?table={target.row.name}" if target.row else "")


def _about(target: Target, plain: Operation) -> Operation:
    return replace(plain, warnings=[_finding(target).message])


def _show_fix(target: Target, plain: Operation) -> Operation:
    finding = _finding(target)
    plan = finding_fixes.plan_fix(target.ctx, target.name, finding)
    return replace(
        plain,
        explain=[] if plan.why_not else [plan.does, *plain.explain],
        warnings=[] if finding.closed_at else [finding.message],
        lists=[("Steps", plan.writes)] if plan.writes else [],
        why_not=plan.why_not,
        why_not_title="There is nothing to do from here now.",
    )


def _run_fix(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    sentences = finding_fixes.fix(target.ctx, target.name, _finding(target), actor=actor)
    return Outcome(" ".join([*sentences[:3], *sentences[3:][-1:]]))


FIX: Final = Operation(
    action="fixFinding",
    title="Fix it",
    button="Fix it",
    tab="passes",
    explain=["Everything is read again first: what somebody else has changed meanwhile is not overwritten."],
    preview=_show_fix,
    run=_run_fix,
    back=_findings,
)


def _run_snooze(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    if values["hours"] not in dict(_LENGTHS):
        raise InvalidInput("A snooze needs an end.", remedy="Choose one of the lengths.", field="hours")
    until = timezone.now() + timedelta(hours=int(values["hours"]))
    snooze.snooze(target.ctx, _finding(target), until, actor=actor)
    number = target.arguments["finding"]
    lift = (
        target.address("lift_snooze", number)
        if target.row
        else reverse("console:lift_installation_snooze", args=[number])
    )
    return Outcome(f"Nobody is notified of it before {until:%Y-%m-%d %H:%M} UTC.", lift, "Lift")


SNOOZE: Final = Operation(
    action="snoozeFinding",
    title="Snooze a finding",
    button="Snooze",
    tab="passes",
    explain=[
        "Nobody is notified of it until then; it stays in the list, marked with the reason and the end.",
        "It holds when the finding closes and opens again. It can be lifted at any time.",
    ],
    fields={"hours": forms.ChoiceField(label="For", choices=_LENGTHS, initial="8")},
    preview=_about,
    run=_run_snooze,
    back=_findings,
)


def _to_assign(target: Target, plain: Operation) -> Operation:
    finding = _finding(target)
    person = forms.CharField(
        label="Person", required=False, max_length=150, initial=finding.assignee or target.request.user.get_username(),
        widget=forms.TextInput(attrs=EXACT),
        help_text="The name with which they sign in. Empty: nobody takes care of it.",
    )  # fmt: skip
    return replace(plain, warnings=[finding.message], fields={"person": person})


def _run_assign(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    person = str(values["person"]).strip()
    inbox.assign(target.ctx, _finding(target), person, actor=actor)
    return Outcome(f"{person} takes care of it." if person else "Nobody takes care of it.")


ASSIGN: Final = Operation(
    action="assignFinding",
    title="Assign a finding",
    button="Assign",
    tab="passes",
    explain=["The name stands next to the finding, and in the inbox of that person, until it closes."],
    preview=_to_assign,
    run=_run_assign,
    back=_findings,
    asks="nothing",
)


def _run_lift(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    snooze.lift(target.ctx, _finding(target), actor=actor)
    return Outcome("The snooze is lifted.")


LIFT: Final = Operation(
    action="liftSnooze",
    title="Lift a snooze",
    button="Lift",
    tab="passes",
    explain=["Receivers of alerts are notified of the finding again, from the next pass on."],
    preview=_about,
    run=_run_lift,
    back=_findings,
    asks="nothing",
)

#: The same about what concerns no table, such as a worker that does not work.
ASSIGN_OF_INSTALLATION: Final = replace(ASSIGN, find=_no_table, place="findings")
SNOOZE_OF_INSTALLATION: Final = replace(SNOOZE, find=_no_table, place="findings")
LIFT_OF_INSTALLATION: Final = replace(LIFT, find=_no_table, place="findings")
