"""The replacement protocol as use cases: start, end and revert, each one decision, one change of the lineage, one
audit record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

from segments.domain.replacement import decisions as replacement
from segments.domain.replacement.decisions import Decision, Replacement
from segments.domain.replacement.lineage import ACTOR, Entry, Lineage
from segments.domain.replacement.replacement_settings import settings_or_default
from segments.errors import StateConflict
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.engine.lineage import Decide, Start, Switch, Switched, switch_of
from segments.services.metrics.steps import counted_step
from segments.services.replacement import start_admission
from segments.services.replacement.checks import snapshot_checks
from segments.services.replacement.ends.end_readiness import EndRequest
from segments.services.replacement.lineage_record import Observed, read_lineage
from segments.services.replacement.loading_segments import once_loaded
from segments.services.replacement.rollback_preview import preview_revert
from segments.services.replacement.unlinked_successors import newer_strangers
from segments.services.segments.online import Progress

__all__ = ["end_replace", "preview_revert", "read_lineage", "revert_replace", "start_replace"]

#: Names of segments in an audit record, of each list; their number is next to it.
_LISTED: Final = 100
#: The capability that an end with fewer segments than its entry needs.
_END_PART: Final = "endOfAPart"


def start_replace(
    ctx: Context,
    table: TableName,
    segments_from: Sequence[str],
    segments_to: Sequence[str],
    *,
    force_cleanup: bool = False,
    actor: Actor,
    entry_id: str | None = None,
    custom_map: Mapping[str, str] | None = None,
) -> str:
    """Open a replacement; returns its entry id. A caller that gives ``entry_id`` may repeat the call: it is done once.

    On a Pinot cluster the returned id is Pinot's, whatever ``entry_id`` was given.

    Raises InvalidInput, NotFound or StateConflict, or Forbidden when what ``custom_map`` declares does not fit the
    quota, or the table is over it already; nothing is written then. Segments of failed pushes that ``force_cleanup``
    clears leave the ideal state with it: no query saw them.
    """
    counts = {"countFrom": len(segments_from), "countTo": len(segments_to)}
    lists = {"segmentsFrom": list(segments_from[:_LISTED]), "segmentsTo": list(segments_to[:_LISTED])}
    detail = {"entry": entry_id or "", **lists, **counts, **({"customMap": dict(custom_map)} if custom_map else {})}
    recording = audit.recorded(ctx, actor, "startReplaceSegments", table.typed, **detail)
    with counted_step(ctx, table, "start"), recording as recorded:
        replacement.check_request(segments_from, segments_to)
        declared = start_admission.read_declared(custom_map)
        notes = {ACTOR: actor.name, **declared.notes}
        wanted = Replacement(tuple(segments_from), tuple(segments_to), force_cleanup, notes)

        def admit(seen: Observed, lineage: Lineage, leaving: Collection[str]) -> None:
            if segments_to:
                start_admission.admit(ctx, seen.config, lineage, declared, leaving)

        started = ctx.engine.lineage.start(ctx, table, Start(wanted, actor, admit, entry_id or "", custom_map or {}))
        recorded |= {"entry": started.entry_id, "deleted": list(started.deleted[:_LISTED])}
    return started.entry_id


def end_replace(
    ctx: Context,
    table: TableName,
    entry_id: str,
    *,
    segments_to: Sequence[str] = (),
    cleanup: bool = False,
    actor: Actor,
    progress: Progress | None = None,
    override: str = "",
    guard: Callable[[Entry], object] | None = None,
    strict: bool = False,
) -> list[str]:
    """Switch queries to the new side; returns when all live brokers serve it, with the segments that queries see next
    to it. Ending a COMPLETED entry again changes nothing.

    Waits for the replicas of the new segments first, calling ``progress`` (replicas online, replicas wanted), then runs
    the table's checks of the hidden snapshot; ``override`` is the reason for which a failed one is passed over. Raises
    InvalidInput, NotFound, StateConflict or PreconditionFailed. ``cleanup`` is handled by the caller, which runs a
    retention pass. ``guard`` gets the entry as read in every attempt and raises when the caller no longer wants this
    end. ``strict``: refused (StateConflict) when queries would see anything but the new side. While it waits, the lease
    of the entry's client is kept.
    """
    asked = EndRequest(ctx, table, entry_id, tuple(segments_to), actor, override, progress, guard, strict)
    recording = audit.recorded(ctx, actor, "endReplaceSegments", table.typed, entry=entry_id)
    with counted_step(ctx, table, "end"), recording as recorded:
        done, uncovered = asked.until_files_stay(partial(_end, asked))
        recorded |= {**switch_detail(done), "cleanup": cleanup, **({"strictSnapshot": True} if strict else {})}
    return uncovered


def _end(asked: EndRequest) -> tuple[Switched, list[str]]:
    """First what it waits for, then the switch; with what queries see next to the new side. Raises FilesChanged when a
    segment was uploaded again after the checks.
    """
    ctx, table = asked.ctx, asked.table
    seen = asked.observe()
    first = _end_decision(asked, seen)
    files: dict[str, str] = {}
    uncovered: list[str] = []
    if first.changed:
        _require_parts(asked, seen.lineage.entry(asked.entry_id))
        files = asked.require_ready(first.entry, seen.config, ctx.engine.lineage.watch(ctx))

    def decide(now: Observed) -> Switch:
        asked.check(now)
        uncovered[:] = now.lineage.uncovered(asked.entry_id, now.ideal.maps)
        decision = _end_decision(asked, now)
        same = snapshot_checks.same_files(ctx, table, files) if files and decision.changed else []
        return switch_of(decision, conditions=same)

    done = ctx.engine.lineage.switch(ctx, table, decide, asked.actor)
    assert done is not None  # an end is never nothing to do
    return done, uncovered


def _end_decision(asked: EndRequest, seen: Observed) -> Decision:
    return replacement.end(
        seen.lineage,
        asked.entry_id,
        segments_to=asked.segments_to,
        ideal=seen.ideal.maps,
        is_refresh=seen.config.is_refresh,
        now_ms=asked.ctx.clock(),
        settings=settings_or_default(seen.config),
    )


def _require_parts(asked: EndRequest, entry: Entry) -> None:
    """StateConflict when the end names a part of the new side and the cluster cannot switch to a part."""
    if asked.segments_to and len(asked.segments_to) < len(entry.segments_to):
        why = asked.ctx.engine.lacks(asked.ctx, _END_PART)
        if why:
            raise StateConflict(why, remedy="", capability=_END_PART)


def revert_replace(ctx: Context, table: TableName, entry_id: str, *, force: bool = False, actor: Actor) -> None:
    """Take queries back to the old side; returns when all live brokers serve it; then the new segments are deleted.

    Raises NotFound, StateConflict or PreconditionFailed; nothing is changed then.
    """
    with audit.recorded(
        ctx, actor, "revertReplaceSegments", table.typed, entry=entry_id, forceRevert=force
    ) as recorded:
        recorded |= switch_detail(revert(ctx, table, entry_id, force=force, actor=actor))


def revert(
    ctx: Context,
    table: TableName,
    entry_id: str,
    *,
    force: bool,
    actor: Actor,
    rollback: str = "",
    keeps_copies: bool = True,
) -> Switched:
    """As ``revert_replace``, without a record. ``rollback``: the entry that a rollback over several was requested for;
    ``keeps_copies`` as in ``Switch``.
    """

    def decide(seen: Observed) -> Switch:
        strangers = [] if force else newer_strangers(ctx, table, seen, entry_id)
        decision = replacement.revert(
            seen.lineage,
            entry_id,
            force=force,
            ideal=seen.served,
            now_ms=ctx.clock(),
            strangers=strangers,
            rollback=rollback,
        )
        return switch_of(decision, force=force, keeps_copies=keeps_copies)

    with counted_step(ctx, table, "revert"):
        return once_loaded(ctx, table, lambda: require_switched(ctx, table, decide, actor))


def require_switched(ctx: Context, table: TableName, decide: Decide, actor: Actor) -> Switched:
    """One switch that is never nothing to do; ``decide`` gets which segments are served."""
    done = ctx.engine.lineage.switch(ctx, table, decide, actor, served=True)
    assert done is not None
    return done


def switch_detail(done: Switched) -> dict[str, Any]:
    """A switch for its audit record."""
    deleted = {"deleted": list(done.deleted[:_LISTED]), "countDeleted": len(done.deleted)}
    return {"changed": done.switch.changed, **deleted, **done.brokers, **done.switch.detail}
