"""Going back several replacements on a real Pinot: one revert after the other, newest first, under a record that
survives this process.

Pinot reverts one entry at a time and deletes its new side at once, so queries see the snapshots between for a moment
and nothing can be taken back: a rollback that was cut is continued by the next pass (``resume_all``) or caller
(``advance``), or given up where it stands (``give_up``).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from segments.domain.formats.plural import counted
from segments.domain.replacement import rollback
from segments.domain.replacement.lineage import LIVE, Entry, State
from segments.domain.replacement.rollback import RollbackPlan
from segments.domain.replacement.stepwise_rollback import DONE, FAILED, GIVEN_UP, RUNNING, StepwiseRollback
from segments.errors import NotFound, PinotAdminError, PreconditionFailed, StateConflict
from segments.names import TableName, split_table_name
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.engine.lineage import RolledBack
from segments.services.jobs.job_lock import sole_worker
from segments.services.replacement import protocol
from segments.services.replacement.lineage_record import observe, observe_served
from segments.services.replacement.rollback import plan_of_rollback
from segments.store import paths
from segments.store.records.document import Documents

log = logging.getLogger(__name__)


def _from_json(_: str, body: dict[str, Any]) -> StepwiseRollback:
    lists: dict[str, Sequence[str]] = {k: tuple(body[k]) for k in ("steps", "done", "deleted")}
    return StepwiseRollback(**{**body, **lists})


_ROLLBACKS: Final = Documents(
    "rollback", "The record of the rollback of '{}'", lambda r: r.table, lambda r: r.__dict__, _from_json
)

#: The rollback as it stands, and for the audit record what its last step did.
_Advanced = tuple[StepwiseRollback, dict[str, Any]]


def read_rollback(ctx: Context, table: TableName) -> StepwiseRollback | None:
    """The rollback of the table that is, or was last, under way; None when there never was one."""
    return _ROLLBACKS.read(ctx.store, paths.rollback(table.typed))


def limited(plan: RollbackPlan, served: Mapping[str, bool]) -> RollbackPlan:
    """The plan with what Pinot adds: each snapshot on the way must still be there, since each is gone back to."""
    blockers = list(plan.blockers)
    for entry in plan.steps:
        missing = [s for s in entry.segments_from if entry.state is State.COMPLETED and not served.get(s, False)]
        if missing and not blockers:
            why, remedy = "is deleted", "Go back fewer steps, or push the old data again."
            if missing[0] in served:
                why, remedy = (
                    "is there, but no live server serves it",
                    "Wait until its servers are back, or go back fewer steps.",
                )
            text = f"Pinot cannot revert lineage entry '{entry.id}': segment '{missing[0]}' of its old side {why}."
            blockers.append(PreconditionFailed(text, remedy=remedy, segments=missing))
        if entry.is_pinned:
            text = f"Lineage entry '{entry.id}' is pinned, and Pinot deletes the new side of what it reverts."
            blockers.append(StateConflict(text, remedy="Unpin it first.", entry=entry.id))
    return replace(plan, blockers=tuple(blockers))


def notes_of(found: RollbackPlan) -> list[str]:
    """What a person must know before it begins."""
    if len(found.steps) < 2:
        return ["Pinot deletes the new side at once."]
    return [
        f"Pinot reverts one entry after the other: for moments queries see each of the {len(found.steps) - 1} "
        "snapshots between.",
        "It deletes the new side of each at once: a rollback that has begun can be carried on or given up; "
        "undone only if copies are kept.",
    ]


def roll_back(ctx: Context, table: TableName, target: str, *, force: bool, actor: Actor) -> RolledBack:
    """As ``LineageEngine.roll_back``, one by one. StateConflict also while a rollback to another entry is under way."""
    done, detail = _roll_back(ctx, table, target, force, actor)
    return RolledBack(done.done, done.deleted, detail)


def _roll_back(ctx: Context, table: TableName, target: str, force: bool, actor: Actor) -> _Advanced:
    begun = read_rollback(ctx, table)
    if begun is not None and begun.state == RUNNING:
        if begun.target != target:
            raise StateConflict(
                f"A rollback of '{table}' to before entry '{begun.target}' is under way: {len(begun.done)} of "
                f"{len(begun.steps)} steps.",
                remedy="Carry it on, or give it up first.",
                rollback=begun.id,
            )
        return _advance(ctx, table, actor)
    found = plan_of_rollback(ctx, observe_served(ctx, table), target, force=force)
    rollback.require_possible(found)
    steps = tuple(e.id for e in found.steps)
    begun = StepwiseRollback(
        ctx.new_id(), table.typed, target, steps, force, actor.name, actor.reason, ctx.clock(), deleted=found.delete
    )
    _begin(ctx, table, begun)
    return _advance(ctx, table, actor)


def advance(ctx: Context, table: TableName, *, actor: Actor) -> StepwiseRollback:
    """Continue the table's rollback; returns it as it stands then. NotFound: none is under way.

    An error of Pinot that may pass leaves it RUNNING and is raised; one that stays makes it FAILED, with what was done
    on record.
    """
    job = _under_way(ctx, table)
    with audit.recorded(ctx, actor, "rollback", table.typed, entry=job.target, forceRevert=job.force) as recorded:
        done, detail = _advance(ctx, table, actor)
        recorded |= detail
    return done


def _under_way(ctx: Context, table: TableName) -> StepwiseRollback:
    job = read_rollback(ctx, table)
    if job is None or job.state != RUNNING:
        raise NotFound(f"No rollback of table '{table}' is under way.", remedy="Begin one with a lineage entry.")
    return job


def _advance(ctx: Context, table: TableName, actor: Actor) -> _Advanced:
    job = _under_way(ctx, table)
    with sole_worker(ctx, job.id) as is_ours:
        if not is_ours:
            raise StateConflict(
                f"The rollback of table '{table}' is being carried on right now.", remedy="Try again in a moment."
            )
        return _carry_on(ctx, table, actor)


def give_up(ctx: Context, table: TableName, actor: Actor) -> StepwiseRollback:
    """Leave the table at the snapshot that the rollback has reached. NotFound: none is under way."""
    job = _under_way(ctx, table)
    left = _write(
        ctx,
        table,
        job.id,
        state=GIVEN_UP,
        error=f"Given up by {actor.name}" + (f": {actor.reason}" if actor.reason else "."),
    )
    audit.record(
        actor, "giveUpRollback", cluster=ctx.cluster, target=table.typed, entry=job.target, done=list(job.done)
    )
    return left


def resume_all(ctx: Context) -> list[str]:
    """Carry on what a process that died left under way; one sentence each."""
    sentences = []
    for typed in ctx.store.children(paths.ROLLBACKS):
        raw, kind = split_table_name(typed)
        job = read_rollback(ctx, TableName(raw, kind)) if kind else None
        if kind is None or job is None or job.state != RUNNING:
            continue
        try:
            actor = Actor(job.actor, job.reason)
            after, detail = _advance(ctx, TableName(raw, kind), actor)
            detail = {"entry": job.target, "forceRevert": job.force, **detail}
            audit.record(actor, "rollback", cluster=ctx.cluster, target=typed, **detail)
            sentences.append(f"The rollback of {typed} to before entry {after.target} is {after.state}.")
        except StateConflict:
            continue  # somebody is at it
        except PinotAdminError as error:
            log.warning("The rollback of %s could not be carried on: %s", typed, error)
            sentences.append(
                f"The rollback of {typed} to before entry {job.target} stopped after "
                f"{counted(len(job.done), 'step')}: {error}"
            )
    return sentences


def _carry_on(ctx: Context, table: TableName, actor: Actor) -> _Advanced:
    job, detail = _under_way(ctx, table), dict[str, Any]()
    for entry_id in job.steps:
        now = read_rollback(ctx, table)
        if now is None or now.id != job.id or now.state != RUNNING:
            raise StateConflict(
                f"The rollback of table '{table}' was given up meanwhile.", remedy="Check the table's lineage."
            )
        if entry_id in now.done:
            continue
        try:
            entry = observe(ctx, table).lineage.entries.get(entry_id)
            if entry is not None and entry.state in LIVE:
                detail = _revert(ctx, table, entry, job, actor)
        except PinotAdminError as error:
            if error.permanent:
                _write(ctx, table, job.id, state=FAILED, error=str(error))
            raise
        _write(ctx, table, job.id, done=(*now.done, entry_id))
    return _write(ctx, table, job.id, state=DONE), detail


def _revert(ctx: Context, table: TableName, entry: Entry, job: StepwiseRollback, actor: Actor) -> dict[str, Any]:
    """One step; the details of its record. That of the requested entry is written when all is done."""
    force = job.force or entry.state is State.IN_PROGRESS
    done = protocol.revert(ctx, table, entry.id, force=force, actor=actor, rollback=job.target)
    detail = protocol.switch_detail(done)
    if entry.id != job.target:
        more = {"to": job.target, "forceRevert": force, **detail}
        audit.record(actor, "rollback", cluster=ctx.cluster, target=table.typed, entry=entry.id, **more)
    return detail


def _begin(ctx: Context, table: TableName, begun: StepwiseRollback) -> None:
    def decide(before: StepwiseRollback | None) -> StepwiseRollback:
        if before is not None and before.state == RUNNING and before.id != begun.id:
            raise StateConflict(f"Another rollback of table '{table}' has just begun.", remedy="Try again in a moment.")
        return begun

    _ROLLBACKS.change(ctx.store, paths.rollback(table.typed), decide)


def _write(ctx: Context, table: TableName, job_id: str, **changes: Any) -> StepwiseRollback:
    def decide(now: StepwiseRollback | None) -> StepwiseRollback:
        if now is None or now.id != job_id:
            raise StateConflict(
                f"The rollback of table '{table}' is another one by now.", remedy="Check the table's lineage."
            )
        return now if now.state != RUNNING else replace(now, **changes)

    written = _ROLLBACKS.change(ctx.store, paths.rollback(table.typed), decide)
    assert written is not None  # decide returns one or raises
    return written
