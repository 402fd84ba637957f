"""Roll back: one replacement, several with all that was built on them, and a rollback over several that stopped
half-way on a real Pinot: carry it on, or leave the table where it has come to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from django import forms
from django.http import HttpRequest
from django.utils import timezone

from segments.console.cluster_address import ctx_of
from segments.console.operation import Operation, Outcome, Target, back_to
from segments.console.presenters import rollback as presenter
from segments.console.views.replacement.undo.rollback import of_rollback
from segments.domain.formats.plural import counted
from segments.domain.replacement.lineage import State
from segments.domain.replacement.stepwise_rollback import StepwiseRollback
from segments.errors import NotFound, PinotAdminError
from segments.models import AuditEvent, LineageEntry
from segments.names import TableName
from segments.services.core.context import Actor
from segments.services.replacement import protocol as replacement
from segments.services.replacement import rollback
from segments.services.replacement.rollback import RollbackPreview
from segments.services.replacement.rollback_preview import RevertPreview

_OPEN: Final = "Take back a replacement that has not ended; its push will fail"
_TAKEN_BACK: Final = "Queries see the old side again; the new side leaves the table."
_GIVEN_UP: Final = "The replacement is given up: queries go on seeing the old side, and the new side leaves the table."
_GONE: Final = "Go on though new segments are gone; old and new rows may be seen together"


def _one(target: Target, plain: Operation) -> Operation:
    entry_id = target.arguments["entry_id"]
    preview = replacement.preview_revert(target.ctx, target.name, entry_id)
    is_done, until = preview.state == State.REVERTED, presenter.deadline(preview)
    is_open = preview.state == State.IN_PROGRESS
    entry = LineageEntry.objects.filter(table=target.table, entry_id=entry_id).first()
    extra: dict[str, Any] = {
        "preview": preview,
        "until": until,
        "is_late": until is not None and until < timezone.now(),
    }
    if is_done:
        undo = of_rollback(target.ctx, target.name, entry_id)
        extra |= {"done": _last_rollback(target, entry_id), "undo": undo}
    return replace(
        plain,
        title="Rolled back" if is_done else plain.title,
        button=f"Roll back {target.table.name}",
        explain=[
            _GIVEN_UP if is_open else _TAKEN_BACK,
            *([] if entry or is_open else ["The mirror has not seen this entry yet: what comes back is not listed."]),
        ],
        lines=presenter.comparison(preview),
        warnings=presenter.warnings(preview),
        notes=preview.notes,
        lists=[
            ("Segments that are deleted", preview.deleted_segments),
            *([("Segments that come back", entry.segments_from)] if entry and not is_open else []),
        ],
        instead="console/partials/rolled_back.html" if is_done else "",
        extra=extra,
        why_not=" ".join(preview.blockers),
        fields=_tick(preview),
        confirm=target.table.name,
        seen=presenter.fingerprint(preview),
    )


def _tick(preview: RevertPreview) -> dict[str, forms.Field]:
    """The tick without which it is refused, where it takes one."""
    if not preview.needs_force:
        return {}
    is_open = preview.state == State.IN_PROGRESS
    why = "The replacement is still IN_PROGRESS." if is_open else "New segments are gone that no replacement removed."
    wrong = {"required": f"{why} Tick this to roll it back anyway."}
    return {"force": forms.BooleanField(label=_OPEN if is_open else _GONE, error_messages=wrong)}


def _last_rollback(target: Target, entry_id: str) -> AuditEvent | None:
    return AuditEvent.objects.filter(
        cluster=target.table.cluster.name,
        target=target.table.name,
        action="revertReplaceSegments",
        outcome="done",
        detail__entry=entry_id,
    ).first()


def _run_one(target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    force = bool(values.get("force"))
    replacement.revert_replace(target.ctx, target.name, target.arguments["entry_id"], force=force, actor=actor)
    return Outcome(f"Rolled back. Queries on {target.table.name} see the previous snapshot again.")


ROLL_BACK: Final = Operation(
    action="revertReplaceSegments",
    title="Rollback of one replacement",
    button="Roll back",
    symbol="undo",
    tab="lineage",
    about="console/partials/rollback_entry.html",
    preview=_one,
    run=_run_one,
    back=back_to("lineage"),
    then=back_to("rollback", "entry_id"),
    confirm_what="the table's name",
    why_not_title="This cannot be taken back now.",
)


def _several(target: Target, plain: Operation) -> Operation:
    """On a real Pinot one by one, else in one switch."""
    entry_id, force = target.arguments["entry_id"], target.request.POST.get("force") == "on"
    preview = rollback.preview_rollback(target.ctx, target.name, entry_id, force=force)
    is_settled = preview.allowed or force
    possible = preview if is_settled else rollback.preview_rollback(target.ctx, target.name, entry_id, force=True)
    label = _what_is_forced(preview)
    return replace(
        plain,
        title=f"Roll back {len(preview.steps)} replacements",
        button=f"Roll back {target.table.name}",
        explain=_steps_explained(preview),
        lines=presenter.comparison(preview),
        warnings=presenter.warnings(preview),
        notes=preview.notes,
        lists=[("Entries taken back", [s.entry_id for s in preview.steps])],
        why_not="" if possible.allowed else " ".join(possible.blockers),
        fields={"force": forms.BooleanField(label=label)} if preview.needs_force else {},
        confirm=target.table.name,
        seen=presenter.fingerprint_of_steps(preview),
        run=partial(_run_several, len(preview.steps)),
    )


def _steps_explained(preview: RollbackPreview) -> list[str]:
    steps, deleted = len(preview.steps), len(preview.deleted_segments)
    kept = len(preview.kept_segments)
    gone = f"{counted(deleted, 'segment', 'of them is', 'of them are')} deleted"
    one_by_one = [f"{steps} replacements are taken back, newest first; {gone}."]
    at_once = [
        f"{steps} replacements are taken back, newest first, in one switch: no query sees a snapshot between.",
        f"{gone} afterwards.",
    ]
    pinned = [counted(kept, "hidden segment", "stays, pinned.", "stay, pinned.")] if kept else []
    return [*(one_by_one if preview.notes else at_once), *pinned]


def _what_is_forced(preview: RollbackPreview) -> str:
    """What the tick goes past: a replacement that has not ended is one refusal each, what is more are segments that are
    gone.
    """
    opened = sum(s.state == State.IN_PROGRESS for s in preview.steps)
    words = ["take back replacements that have not ended; their pushes will fail"] if opened else []
    if len(preview.blockers) > opened:
        words.append(
            "go on though new segments are gone that no replacement removed; old and new rows may be seen together"
        )
    return " and ".join(words).capitalize()


def _run_several(steps: int, target: Target, values: Mapping[str, Any], actor: Actor) -> Outcome:
    entry_id, force = target.arguments["entry_id"], bool(values.get("force"))
    done = rollback.roll_back(target.ctx, target.name, entry_id, force=force, actor=actor)
    if len(done.reverted) < steps:
        return Outcome(f"{len(done.reverted)} of {steps} replacements are taken back. See the lineage.")
    return Outcome(
        f"Rolled back {len(done.reverted)} replacements. Queries on {target.table.name} see the snapshot before "
        "them again.",
        target.address("undo_rollback", entry_id) if done.undo_until_ms else "",
    )


ROLL_BACK_TO: Final = Operation(
    action="rollback",
    title="Roll back several replacements",
    button="Roll back",
    tab="lineage",
    is_danger=True,
    preview=_several,
    run=partial(_run_several, 0),
    back=back_to("lineage"),
)


def under_way(request: HttpRequest, name: TableName) -> StepwiseRollback | None:
    """The table's rollback that is not over; None where there is none, or where nobody knows."""
    try:
        ctx = ctx_of(request)
        found = ctx.engine.lineage.rollback_on_record(ctx, name)
    except PinotAdminError:
        return None
    return found if found is not None and found.is_under_way else None


def _stopped(target: Target) -> tuple[StepwiseRollback, list[tuple[str, Sequence[str]]]]:
    job = under_way(target.request, target.name)
    if job is None:
        raise NotFound(
            f"No rollback of table '{target.name}' is under way.", remedy="Start one on the page of a replacement."
        )
    return job, [("Entries that are left", [s for s in job.steps if s not in job.done])]


def _to_carry_on(target: Target, plain: Operation) -> Operation:
    job, left = _stopped(target)
    explain = f"{len(job.done)} of {len(job.steps)} replacements are taken back already; the rest follow, newest first."
    return replace(plain, explain=[explain], lists=left)


def _run_carry_on(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    done = target.ctx.engine.lineage.continue_rollback(target.ctx, target.name, actor)
    return Outcome(f"{len(done.done)} of {len(done.steps)} replacements are taken back.")


CARRY_ON: Final = Operation(
    action="rollback",
    title="Continue the rollback",
    button="Carry on",
    tab="lineage",
    preview=_to_carry_on,
    run=_run_carry_on,
    back=back_to("lineage"),
)


def _to_give_up(target: Target, plain: Operation) -> Operation:
    job, left = _stopped(target)
    explain = [
        f"{len(job.done)} of {len(job.steps)} replacements stay taken back; the rest stay as they are.",
        "Queries go on seeing what they see now. A new rollback can be started at any time.",
    ]
    return replace(plain, explain=explain, lists=left)


def _run_give_up(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    target.ctx.engine.lineage.give_up_rollback(target.ctx, target.name, actor)
    return Outcome("The rollback is given up; the table stays at the snapshot that it has reached.")


GIVE_UP: Final = Operation(
    action="giveUpRollback",
    title="Give up the rollback",
    button="Give up",
    tab="lineage",
    asks="nothing",
    preview=_to_give_up,
    run=_run_give_up,
    back=back_to("lineage"),
)
