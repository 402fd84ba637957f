"""Bring deleted segments back exactly: the same record, the same file, a row in the ideal state; one by one refused
where that cannot be.

What would happen is foreseen here for both kinds of cluster, and audited; the engine brings the segments back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from segments.domain.replacement.undo.return_rule import Obstacle, ReturnRule
from segments.domain.segments import archive as documents
from segments.domain.segments.archive import Outcome, refused
from segments.domain.segments.pending_deletion import Pending
from segments.domain.tables.table_config import TableConfig
from segments.errors import NotFound, StateConflict
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import SYSTEM, Actor, Context
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.replacement.undo.kept_entries import read_kept_entries
from segments.services.replacement.undo.restore_conflicts import counted, pushed_since
from segments.services.segments.archive import KeptFile
from segments.services.segments.replaced import in_place
from segments.services.tables.table_record import read_table_config

#: Names in an audit record.
_SHOWN: Final = 100


@dataclass(frozen=True)
class Found:
    """What there is of one deleted segment: ``outcome`` of a restore, the lineage aside; ``kept``: its file, None while
    it waits in the deletion queue, then ``item`` is its place there.
    """

    outcome: Outcome
    kept: KeptFile | None
    item: Pending | None = None

    @property
    def deleted_ms(self) -> int | None:
        """When it was asked to go (epoch ms); None: it is not known."""
        if self.kept is not None:
            return self.kept.kept.requested_ms if self.kept.kept is not None else self.kept.deleted_ms
        return self.item.requested_ms if self.item is not None else None


def restore_segments(
    ctx: Context,
    table: TableName,
    segments: Sequence[str],
    *,
    dry_run: bool = False,
    include_hidden: bool = False,
    actor: Actor,
    overwrite: bool = False,
    files: Sequence[str] = (),
    force: bool = False,
) -> list[Outcome]:
    """Bring these back; what became of each, in their order. ``dry_run`` only reports what would.

    ``files`` names kept files where another than the newest version of a segment is wanted. ``overwrite``: what exists
    again is replaced by name, and kept in turn. Refused: a name that exists again without that, one that a lineage
    entry hides (``include_hidden`` lets the old side of a COMPLETED one through) or hid before it was dropped, one that
    newer data stands for now (unless ``force`` says that it is other data), one that is just being deleted or uploaded,
    and one whose file or record is gone. NotFound when there is no such table.
    """
    if not ctx.deep_store.exists:
        raise StateConflict(
            "This installation has no deep store: of deleted segments nothing is kept that could come back."
        )
    names, seen = in_place.names_of(segments, files), observe(ctx, table)
    found = look_up(ctx, seen.config, names, files)
    deleted = {} if force else {s: at for s, f in found.items() if (at := f.deleted_ms) is not None}
    rule = ReturnRule(include_hidden, deleted=deleted, is_refresh=seen.config.is_refresh)
    hidden = obstacles(ctx, seen, rule)
    kept = {s: f.kept for s, f in found.items() if f.kept is not None}
    over = in_place.foreseen(ctx, seen, hidden, kept) if overwrite else {}
    outcomes = {**_foreseen(ctx, seen, [found[n] for n in names if n not in over], rule, hidden), **over}
    if not dry_run:
        with audit.recorded(ctx, actor, "restoreSegments", table.typed) as detail:
            wanted = [found[s] for s, o in outcomes.items() if o.outcome == "done" and s not in over]
            outcomes.update(ctx.engine.segments.bring_back(ctx, seen.config, wanted, rule, actor))
            ready = [s for s, o in over.items() if o.outcome == "done"]
            outcomes.update({s: in_place.bring_back(ctx, table, kept[s], actor) for s in ready})
            detail.update(_audited(list(outcomes.values())))
    return [outcomes[name] for name in names]


def restore_hidden(ctx: Context, table: TableName, segments: Sequence[str], entry_id: str) -> list[Outcome]:
    """Bring these back as new segments of an unfinished replacement, so that no query sees them yet; what became of
    each.

    StateConflict when the replacement is over, or does not list them.
    """
    config = read_table_config(ctx, table)
    found = look_up(ctx, config, segments)
    ready = [f for f in found.values() if f.outcome.outcome == "done"]
    changed = ctx.engine.segments.bring_back(ctx, config, ready, ReturnRule(into=entry_id), SYSTEM)
    return [changed.get(s, f.outcome) for s, f in found.items()]


def look_up(ctx: Context, config: TableConfig, names: Sequence[str], files: Sequence[str] = ()) -> dict[str, Found]:
    """{name: what is kept of it}; ``files`` as for ``restore_segments``."""
    return ctx.engine.segments.find_kept(ctx, config, names, files)


def obstacles(ctx: Context, seen: Observed, rule: ReturnRule) -> Mapping[str, Obstacle]:
    """What the lineage, and entries that have left it, have against segments that come back under ``rule``."""
    return rule.obstacles(seen.lineage, read_kept_entries(ctx, seen.table), seen.ideal.maps)


def busy(segment: str, doing: str) -> Outcome:
    """The refusal while somebody else is ``doing`` (deleted, restored, uploaded) something with the segment."""
    return refused(segment, f"Segment '{segment}' is just being {doing}.", "Try again in a minute.")


def _foreseen(
    ctx: Context, seen: Observed, found: Sequence[Found], rule: ReturnRule, hidden: Mapping[str, Obstacle]
) -> dict[str, Outcome]:
    """{segment: what its restore would do}, of those that replace no present one."""
    gone = seen.lineage.hidden().union(seen.ideal.maps, hidden)
    named = {f.outcome.segment: f.outcome for f in found}
    late = pushed_since(ctx, seen, {s: at for s, at in rule.deleted.items() if s in named and s not in gone})
    outcomes = {
        name: documents.name_refusal(name, seen.lineage.table, seen.ideal.maps, hidden) or late.get(name) or outcome
        for name, outcome in named.items()
    }
    return outcomes | counted(ctx, seen, outcomes, hidden)


def _audited(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """What the audit record says of these."""
    done = [o.segment for o in outcomes if o.outcome == "done"]
    not_done = {o.segment: o.message for o in outcomes if o.outcome != "done"}
    return {
        "outcome": "done" if done else "refused",
        "segments": done[:_SHOWN],
        "count": len(done),
        "refused": dict(list(not_done.items())[:_SHOWN]),
    }


def cancel_deletion(ctx: Context, table: TableName, segment: str, *, actor: Actor) -> Outcome:
    """Take one segment off the deletion queue and put it back. NotFound: it is not in the queue; StateConflict: too
    late, or hidden.
    """
    if segment not in ctx.engine.segments.waiting_deletions(ctx, table):
        raise NotFound(
            f"Segment '{segment}' of table '{table}' does not wait for its deletion.",
            remedy="Restore it from the archive.",
        )
    (outcome,) = restore_segments(ctx, table, [segment], actor=actor)
    if outcome.outcome != "done":
        raise StateConflict(outcome.message, remedy=outcome.remedy, segment=segment)
    return outcome
