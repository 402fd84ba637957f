"""Keep a replacement and both its sides from every clean-up, for as long as somebody wants it, with a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from segments.domain.replacement.lineage import PIN_ACTOR, PIN_REASON, PINNED, Entry
from segments.errors import InvalidInput
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.services.replacement.lineage_record import note_entry, observe

_MOST_REASON = 500


@dataclass(frozen=True)
class Pin:
    """Whether the entry is pinned, by whom and why; ``missing``: segments of it that were gone before."""

    entry_id: str
    table: str
    is_pinned: bool
    actor: str
    reason: str
    missing: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "segmentLineageEntryId": self.entry_id, "table": self.table, "pinned": self.is_pinned, "actor": self.actor,
            "reason": self.reason, "missingSegments": list(self.missing),
        }  # fmt: skip


def pin_entry(ctx: Context, table: TableName, entry_id: str, actor: Actor) -> Pin:
    """Pin it; ``actor.reason`` is the reason and must be given. Pinning again changes reason and actor. NotFound: no
    such entry.
    """
    if not actor.reason.strip():
        raise InvalidInput(
            "A pin needs a reason.", remedy="Give it as header X-Reason, as parameter reason, or in the body."
        )
    notes: dict[str, str | None] = {
        PINNED: "true",
        PIN_REASON: actor.reason.strip()[:_MOST_REASON],
        PIN_ACTOR: actor.name,
    }
    return _noted(ctx, table, entry_id, notes, "pinEntry", actor)


def unpin_entry(ctx: Context, table: TableName, entry_id: str, actor: Actor) -> Pin:
    """Let clean-up have it again; an entry that is not pinned stays as it is. NotFound: no such entry."""
    return _noted(ctx, table, entry_id, dict.fromkeys((PINNED, PIN_REASON, PIN_ACTOR)), "unpinEntry", actor)


def _noted(
    ctx: Context, table: TableName, entry_id: str, notes: dict[str, str | None], action: str, actor: Actor
) -> Pin:
    entry = note_entry(ctx, table, entry_id, notes)
    audit.record(actor, action, cluster=ctx.cluster, target=table.typed, entry=entry_id)
    return _pin(entry, table, observe(ctx, table).ideal.maps)


def _pin(entry: Entry, table: TableName, ideal: Any) -> Pin:
    missing = tuple(s for s in entry.segments_from + entry.segments_to if s not in ideal)
    return Pin(
        entry.id, table.typed, entry.is_pinned, entry.notes.get(PIN_ACTOR, ""), entry.notes.get(PIN_REASON, ""), missing
    )
