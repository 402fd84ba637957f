"""The replacement protocol as use cases: start, end and revert, each one decision, one transaction, one acknowledged
switch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from segments.clusters.pinot.replacement import end as pinot_end
from segments.clusters.pinot.replacement import revert as pinot_revert
from segments.clusters.pinot.replacement import start as pinot_replacement
from segments.domain.replacement import decisions as replacement
from segments.domain.replacement.decisions import Decision, Replacement
from segments.domain.replacement.lineage import Entry, Lineage, State
from segments.domain.replacement.replacement_settings import settings_or_default
from segments.domain.segments import ideal_state
from segments.errors import PinotAdminError, StateConflict
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement import start_admission
from segments.services.replacement.acknowledgement import wait_for_brokers
from segments.services.replacement.checks import snapshot_checks
from segments.services.replacement.ends.end_readiness import EndRequest
from segments.services.replacement.lineage_record import Observed, observe, read_lineage
from segments.services.replacement.loading import once_loaded
from segments.services.replacement.lost_links import newer_strangers
from segments.services.replacement.rollback_preview import preview_revert
from segments.services.segments import deletion
from segments.services.segments.online import Progress, live_instance_names, served_by
from segments.store import paths
from segments.store.base import Check, Replace, Write
from segments.store.update import update_transaction

__all__ = ["end_replace", "preview_revert", "read_lineage", "revert_replace", "start_replace"]

log = logging.getLogger(__name__)

#: Names of segments that an audit record tells, of each list.
_TOLD: Final = 100


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
    clears leave the ideal state in the same transaction: no query saw them.
    """
    if ctx.pinot is not None:
        return _start_on_pinot(ctx, table, (segments_from, segments_to), force_cleanup, actor, entry_id, custom_map)
    replacement.check_request(segments_from, segments_to)
    declared = start_admission.read_declared(custom_map)
    wanted = Replacement(
        tuple(segments_from), tuple(segments_to), force_cleanup, {"actor": actor.name, **declared.notes}
    )
    new_id = entry_id or ctx.new_id()
    decided: list[Decision] = []

    def attempt() -> Sequence[Write] | None:
        seen = observe(ctx, table)
        if new_id in seen.lineage.entries:
            return None
        decision = replacement.start(seen.lineage, wanted, entry_id=new_id, ideal=seen.ideal.maps, now_ms=ctx.clock())
        if segments_to:
            start_admission.admit(
                ctx, seen.config, decision.lineage.having(without=[new_id]), declared, decision.delete
            )
        decision = _without_what_brokers_need(ctx, table, seen.lineage, decision)
        decided[:] = [decision]
        return _writes(ctx, table, seen, decision, decision.delete)

    _audited(
        ctx,
        table,
        "startReplaceSegments",
        actor,
        new_id,
        lambda: update_transaction(ctx.store, attempt, turn=table.typed),
    )
    sides = {"segmentsFrom": segments_from, "segmentsTo": segments_to, "deleted": decided[0].delete if decided else ()}
    detail = {**{k: _some(v) for k, v in sides.items()}, "countFrom": len(segments_from), "countTo": len(segments_to)}
    _record(
        ctx,
        table,
        "startReplaceSegments",
        actor,
        new_id,
        **detail,
        **({"customMap": dict(custom_map)} if custom_map else {}),
    )
    return new_id


def _start_on_pinot(
    ctx: Context,
    table: TableName,
    lists: tuple[Sequence[str], Sequence[str]],
    force: bool,
    actor: Actor,
    intent: str | None,
    custom_map: Mapping[str, str] | None,
) -> str:
    found: list[str] = []

    def run() -> None:
        found[:] = [
            pinot_replacement.start_replace(
                ctx, table, *lists, force_cleanup=force, actor=actor, intent_id=intent, custom_map=custom_map
            )
        ]  # fmt: skip

    _audited(ctx, table, "startReplaceSegments", actor, intent or "", run)
    return found[0]


def _without_what_brokers_need(ctx: Context, table: TableName, before: Lineage, decision: Decision) -> Decision:
    """Segments of a push that was reverted a moment ago stay while a broker still answers from them; retention takes
    them then.

    Raises StateConflict when the new push wants one of their names. Segments of pushes that never ended no query saw.
    """
    reverted = {s for e in before.entries.values() if e.state is State.REVERTED for s in e.segments_to}.intersection(
        decision.delete
    )
    if not reverted or not (behind := wait_for_brokers(ctx, table)):
        return decision
    wanted = sorted(reverted.intersection(decision.entry.segments_to))
    if wanted:
        raise StateConflict(
            f"Segment '{wanted[0]}' of table '{table}' was taken back a moment ago and broker {behind[0]} still "
            "answers from it.",
            remedy="Try again in a few seconds, or give new segments new names.",
            segments=wanted,
        )
    return replace(decision, delete=tuple(s for s in decision.delete if s not in reverted))


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
) -> None:
    """Switch queries to the new side; returns when all live brokers serve it. Ending a COMPLETED entry again changes
    nothing.

    Waits for the replicas of the new segments first, telling ``progress`` (replicas online, replicas wanted), then asks
    the table's checks of the hidden snapshot; ``override`` is the reason for which a failed one is passed over. Raises
    InvalidInput, NotFound, StateConflict or PreconditionFailed (lineage.md 5). ``cleanup`` is handled by the caller,
    which runs a retention pass. ``guard`` sees the entry as read in every attempt and raises when the caller no longer
    wants this end. While it waits, the lease of the entry's client is kept.
    """
    asked = EndRequest(ctx, table, entry_id, tuple(segments_to), actor, override, progress, guard)
    if ctx.pinot is not None:
        _audited(
            ctx, table, "endReplaceSegments", actor, entry_id, partial(pinot_end.end_replace, asked, cleanup=cleanup)
        )
        return
    end = _End(asked)
    _audited(ctx, table, "endReplaceSegments", actor, entry_id, lambda: asked.until_files_stay(end.attempt))
    _finish(ctx, table, "endReplaceSegments", actor, end.decided[0], cleanup=cleanup)


@dataclass
class _End:
    """One end: first what it waits for, then the switch, decided afresh for every try to write. ``files``: those that
    the checks read.
    """

    asked: EndRequest
    decided: list[Decision] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)

    def attempt(self) -> None:
        """Until it is written. Raises FilesChanged when a segment was uploaded anew after the checks."""
        seen, first = self._decide()
        if first.changed:
            self.files = self.asked.require_ready(first.entry, seen.config)
        update_transaction(self.asked.ctx.store, self._writes, turn=self.asked.table.typed)

    def _decide(self) -> tuple[Observed, Decision]:
        asked, seen = self.asked, self.asked.observe()
        decision = replacement.end(
            seen.lineage,
            asked.entry_id,
            segments_to=asked.segments_to,
            ideal=seen.ideal.maps,
            is_refresh=seen.config.is_refresh,
            now_ms=asked.ctx.clock(),
            settings=settings_or_default(seen.config),
        )
        return seen, decision

    def _writes(self) -> Sequence[Write] | None:
        ctx, table = self.asked.ctx, self.asked.table
        seen, decision = self._decide()
        self.decided[:] = [decision]
        if not decision.changed:
            return None
        same = snapshot_checks.same_files(ctx, table, self.files) if self.files else []
        return [*_writes(ctx, table, seen, decision, decision.remove_now), *same]


def revert_replace(ctx: Context, table: TableName, entry_id: str, *, force: bool = False, actor: Actor) -> None:
    """Take queries back to the old side; returns when all live brokers serve it; then the new segments are deleted.

    Raises NotFound, StateConflict or PreconditionFailed (lineage.md 6); nothing is written then.
    """
    if ctx.pinot is not None:
        on_pinot = partial(pinot_revert.revert_replace, ctx, table, entry_id, force=force, actor=actor)
        _audited(ctx, table, "revertReplaceSegments", actor, entry_id, on_pinot)
        return
    decided: list[Decision] = []

    def attempt() -> Sequence[Write] | None:
        live = live_instance_names(ctx)
        seen = observe(ctx, table, paths.external_view(table.typed))
        rows = served_by(live, seen.more[0], seen.ideal.maps)
        strangers = [] if force else newer_strangers(ctx, table, seen, entry_id)
        decision = replacement.revert(
            seen.lineage, entry_id, force=force, ideal=rows, now_ms=ctx.clock(), strangers=strangers
        )
        decided[:] = [decision]
        return _writes(ctx, table, seen, decision, ())

    def run() -> None:
        once_loaded(ctx, table, lambda: update_transaction(ctx.store, attempt, turn=table.typed))

    _audited(ctx, table, "revertReplaceSegments", actor, entry_id, run)
    _finish(ctx, table, "revertReplaceSegments", actor, decided[0], forceRevert=force)


def _writes(ctx: Context, table: TableName, seen: Observed, decision: Decision, leaving: Sequence[str]) -> list[Write]:
    """Lineage and ideal state in one transaction; ``leaving`` segments go into the durable deletion queue with it."""
    path = paths.ideal_state(table.typed)
    writes = [seen.write_lineage(decision.lineage)]
    if not leaving:
        return [*writes, Check(path, seen.ideal_version)]
    without = ideal_state.without_rows(seen.ideal, leaving)
    queue = deletion.queue_write(ctx, table, leaving, retention=None, rows=seen.ideal.maps)
    return [*writes, Replace(path, without, seen.ideal_version), queue]


def _finish(ctx: Context, table: TableName, action: str, actor: Actor, decision: Decision, **detail: Any) -> None:
    """Acknowledged switch first, deletion last; what can not be deleted now is left to the retention pass."""
    entry = decision.entry
    behind = wait_for_brokers(ctx, table)
    if behind:
        log.warning(
            "Brokers %s did not acknowledge lineage entry %s of %s in time; deletion is left to retention.",
            behind,
            entry.id,
            table,
        )
    elif decision.delete:
        deletion.remove_hidden(ctx, table, decision.delete)
    deleted = [*decision.remove_now, *(() if behind else decision.delete)]
    _record(
        ctx,
        table,
        action,
        actor,
        entry.id,
        changed=decision.changed,
        deleted=_some(deleted),
        countDeleted=len(deleted),
        brokersBehind=behind,
        **detail,
    )


def _some(segments: Sequence[str]) -> list[str]:
    """What an audit record tells of a list: the first names; their number stands beside it."""
    return list(segments[:_TOLD])


def _audited(
    ctx: Context, table: TableName, action: str, actor: Actor, entry_id: str, run: Callable[[], object]
) -> None:
    """Run; a refusal leaves an audit record too."""
    try:
        run()
    except PinotAdminError as error:
        audit.record(
            actor, action, cluster=ctx.cluster, target=table.typed, outcome="refused" if error.permanent else "failed",
            entry=entry_id, error=str(error),
        )  # fmt: skip
        raise


def _record(ctx: Context, table: TableName, action: str, actor: Actor, entry_id: str, **detail: Any) -> None:
    audit.record(actor, action, cluster=ctx.cluster, target=table.typed, entry=entry_id, **detail)
