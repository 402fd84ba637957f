"""Undo of a rollback: the page with its preview, and what other pages say about rollbacks that can still be undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from django import forms
from django.http import HttpRequest

from segments.console.cluster_address import ctx_of
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.presenters import rollback as presenter
from segments.domain.formats.plural import counted
from segments.errors import PinotAdminError
from segments.names import TableName
from segments.services.core.context import Actor, Context
from segments.services.replacement.undo.planning import RolledBack, UndoPreview, open_rollbacks, preview_undo
from segments.services.replacement.undo.rollback import ACTION, undo_rollback

_FORCE = "Show newer segments together with what comes back: they are other data"


@dataclass(frozen=True)
class Undo:
    """What a page says: until when (epoch ms) it is possible, or why it is not."""

    until_ms: int | None
    why_not: str = ""


def _preview(target: Target, plain: Operation) -> Operation:
    force = target.request.POST.get("force") == "on"
    preview = preview_undo(target.ctx, target.name, target.arguments["entry_id"], force=force)
    return replace(
        plain,
        explain=explained(preview),
        lines=presenter.sides(preview.before, preview.after),
        warnings=preview.blockers if preview.needs_force else [],
        lists=[("Segments that come back", preview.returning_segments)],
        fields={"force": forms.BooleanField(label=_FORCE)} if preview.needs_force or force else {},
        why_not="" if preview.allowed or preview.needs_force else " ".join(preview.blockers),
    )


def _run(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    entry_id, force = target.arguments["entry_id"], bool(values.get("force"))
    done = undo_rollback(target.ctx, target.name, entry_id, force=force, actor=actor)
    return Outcome(
        f"The rollback is undone. Queries on {target.table.name} see again "
        f"{counted(len(done.returned), 'segment')} that it had removed.",
        target.address("rollback", done.entry),
        "Roll it back again",
    )


UNDO: Final = Operation(
    action=ACTION,
    title="Undo the rollback",
    button="Undo the rollback",
    tab="lineage",
    preview=_preview,
    run=_run,
    back=back_to("lineage"),
)


def explained(preview: UndoPreview) -> list[str]:
    """What will happen, in sentences."""
    steps = len(preview.undoes)
    until = preview.possible_until_ms
    several = f" It takes back all {steps} steps of the rollback at once." if steps > 1 else ""
    back = counted(len(preview.returning_segments), "deleted segment", "comes", "come")
    hidden = counted(len(preview.hidden_segments), "segment", "is", "are")
    return [
        f"{back} back, hidden until all servers have loaded what comes back.{several}",
        f"Then queries switch to it, and {hidden} hidden that they see now, in one step.",
        "It is a replacement of its own: it can be rolled back like any other.",
        *([f"Possible until {presenter.minute(until)}, while their files are kept."] if until else []),
    ]


def of_rollback(ctx: Context, name: TableName, entry_id: str) -> Undo | None:
    """What the page after a rollback says; None where there is nothing to undo."""
    try:
        preview = preview_undo(ctx, name, entry_id)
    except PinotAdminError:
        return None
    return Undo(preview.possible_until_ms, "" if preview.allowed or preview.needs_force else " ".join(preview.blockers))


def still_possible(request: HttpRequest, name: TableName) -> list[RolledBack]:
    """Rollbacks of the table that are not undone and whose files should be there, latest first; none where nobody
    knows.
    """
    try:
        return open_rollbacks(ctx_of(request), name)
    except PinotAdminError:
        return []
