"""What the admin can do to one table or several: pause, resume, force commit, run a pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from django import forms
from unfold.widgets import UnfoldAdminRadioSelectWidget, UnfoldAdminSelectWidget

from segments import wiring
from segments.admin.confirmation import Change
from segments.domain.realtime.force_commit import BatchSettings
from segments.errors import InvalidInput, PinotAdminError
from segments.models import Table
from segments.names import REALTIME, TableName
from segments.services.core.context import Actor, Context
from segments.services.realtime import consumption, force_commit
from segments.services.realtime.consuming_segments import StartFrom, Word
from segments.services.realtime.resume_plan import streams_before
from segments.services.upkeep import passes

_STARTS: Final = [
    ("lastConsumed", "where it stopped"),
    ("smallest", "at the oldest message (rows come twice)"),
    ("largest", "at the newest message (rows are skipped)"),
]


def pause(tables: list[Table]) -> Change:
    """Pause consumption."""

    def run(ctx: Context, name: TableName, values: Mapping[str, Any], actor: Actor) -> str:
        consumption.pause_table(ctx, _realtime(name), comment=actor.reason, actor=actor)
        return f"{name} is paused; what was consumed is being committed."

    return Change(
        action="pauseConsumption",
        title=f"Pause {_named(tables)}",
        button="Pause",
        run=run,
        why_not=_not_realtime(tables),
        explain=[
            "The servers commit what they have consumed; no row is lost and queries go on seeing all of it.",
            "New rows stay in the stream until somebody resumes: mind how long the stream keeps them.",
        ],
    )


def resume(tables: list[Table]) -> Change:
    """Resume consumption, at a place that is chosen."""

    def run(ctx: Context, name: TableName, values: Mapping[str, Any], actor: Actor) -> str:
        start = StartFrom(cast(Word, values["start"]), is_chosen=True)
        consumption.resume_table(ctx, _realtime(name), start=start, comment=actor.reason, actor=actor)
        return f"{name} consumes again."

    before = [s for t in tables if t.type == REALTIME for s in _streams_before(t)]
    start = forms.ChoiceField(
        label="Go on", choices=_STARTS, initial=None if before else "lastConsumed", widget=UnfoldAdminRadioSelectWidget,
    )  # fmt: skip
    return Change(
        action="resumeConsumption",
        title=f"Resume {_named(tables)}",
        button="Resume",
        run=run,
        why_not=_not_realtime(tables),
        explain=["Every partition gets a new consuming segment, in one change. Pause again to undo it.", *before],
        fields={"start": start},
    )


def commit(tables: list[Table]) -> Change:
    """Force commit."""

    def run(ctx: Context, name: TableName, values: Mapping[str, Any], actor: Actor) -> str:
        job = force_commit.force_commit(ctx, _realtime(name), force_commit.Wanted(), BatchSettings(), actor=actor)[
            "forceCommitJobId"
        ]
        return f"Force commit {job} of {name} is on its way."

    return Change(
        action="forceCommit",
        title=f"Force commit {_named(tables)}",
        button="Commit now",
        run=run,
        why_not=_not_realtime(tables),
        explain=[
            "Consuming segments end where they are and are stored; consumption goes on in new ones. No row is lost "
            "or doubled."
        ],
    )


def run_pass(tables: list[Table]) -> Change:
    """Run one of the periodic passes now."""

    def run(ctx: Context, name: TableName, values: Mapping[str, Any], actor: Actor) -> str:
        sentences = passes.run_pass(ctx, values["task"], name, actor)
        return f"{values['task']} ran over {name}: {' '.join(sentences[:3]) or 'nothing to do.'}"

    task = forms.ChoiceField(
        label="Pass", choices=[(n, n) for n in sorted(passes.PASSES)], widget=UnfoldAdminSelectWidget
    )
    explain = ["The pass runs once, now, as its schedule would run it."]
    title = f"Run a pass over {_named(tables)}"
    return Change(action="run", title=title, button="Run", run=run, explain=explain, fields={"task": task})


def _streams_before(table: Table) -> list[str]:
    try:
        return streams_before(wiring.context(table.cluster.name), TableName(table.raw_name, REALTIME))
    except PinotAdminError:
        return []


def _realtime(name: TableName) -> TableName:
    if name.type != REALTIME:
        raise InvalidInput(f"Table '{name}' consumes no stream.", remedy="Choose a REALTIME table.")
    return name


def _not_realtime(tables: list[Table]) -> str:
    """Why nothing can be done, where none of the tables consumes."""
    return "" if any(t.type == REALTIME for t in tables) else "Only REALTIME tables consume a stream."


def _named(tables: list[Table]) -> str:
    return tables[0].name if len(tables) == 1 else f"{len(tables)} tables"
