"""Deleted segments that a replacement removed come back: as a switch with what stands for them now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from segments.console.access import ADMINISTER
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.presenters import rollback as presenter
from segments.console.rest_calls.call import Rest
from segments.domain.formats.plural import counted
from segments.errors import PinotAdminError
from segments.services.core.context import Actor
from segments.services.replacement.undo.restore_switch import preview_switch, restore_switch


def as_switch(target: Target, segments: Sequence[str]) -> Operation | None:
    """The button that does it; None where it cannot be a switch either."""
    try:
        preview = preview_switch(target.ctx, target.name, segments)
    except PinotAdminError:
        return None
    returning, hidden = len(preview.returning_segments), len(preview.hidden_segments)
    return replace(
        _SWITCH,
        button=f"Show {returning} instead of {hidden}",
        explain=[
            "A replacement removed these segments: next to what stands for them now, queries would see old and "
            "new rows together.",
            "So they come back hidden, and then queries switch: "
            f"{counted(returning, 'segment', 'comes', 'come')} back, {counted(hidden, 'segment', 'is', 'are')} hidden, "
            "in one step.",
            "It is a replacement of its own: it can be rolled back like any other.",
        ],
        lines=presenter.sides(preview.before, preview.after),
        lists=[("Segments that queries no longer see", preview.hidden_segments)],
        hold={"s": list(segments)},
        call=Rest(
            "POST",
            "api/v1/segments/{table}/restore",
            body=lambda _: {"segments": list(segments), "switch": True, "dryRun": False},
        ),
        confirm=f"restore {returning}",
        run=partial(_run, segments),
    )


def _run(segments: Sequence[str], target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    done = restore_switch(target.ctx, target.name, segments, actor=actor)
    return Outcome(
        f"Queries on {target.table.name} see {len(done.returning_segments)} restored segments instead of "
        f"{len(done.hidden_segments)}.",
        target.address("rollback", done.entry_id),
        "Roll it back",
    )


_SWITCH: Final = Operation(
    action="restoreSwitch",
    title="Restore segments instead of what is shown",
    button="Show them",
    tab="deleted",
    right=ADMINISTER,
    is_danger=True,
    run=partial(_run, ()),
    back=back_to("deleted"),
)
