"""What nobody will finish on a Pinot cluster: entries whose start lost its answer, and notes of entries that are gone.

The lease of clients that send heartbeats is judged as on our own cluster (``entry_reaper``); this is what only
Pinot's lineage needs.
"""

from __future__ import annotations

from typing import Final

from segments.clusters.pinot.replacement.lineage import entry_of_start, lineage_now
from segments.clusters.pinot.replacement.start import adopt
from segments.clusters.pinot.replacement.start_records import StartIntent, all_intents, forget_intent
from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement.lineage import Lineage, State, noted_entries, without_notes_of
from segments.models import Push
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.abandoned_replacements import give_up
from segments.store import paths
from segments.store.base import Versioned
from segments.store.update import update_record

#: A start without an answer is left to whoever sent it for this long; one that never arrived, or whose entry is over,
#: is remembered for so long.
_SENDER_MS: Final = 5 * 60_000
_FORGET_MS: Final = 86_400_000
_OVER_MS: Final = 3_600_000


def tidy(ctx: Context, table: TableName) -> list[str]:
    """Find starts that lost their answer, and drop what is on record of entries that are over; a sentence for each
    thing done.
    """
    intents = all_intents(ctx, table)
    noted = ctx.store.get(paths.entry_notes(table.typed))
    if not intents and (noted is None or not noted_entries(noted.record)):
        return []
    lineage = lineage_now(ctx, table)  # read after the notes: what it lacks is gone, not new
    _drop_notes(ctx, table, noted, lineage)
    pushes = {
        str(p)
        for p in Push.objects.filter(cluster=ctx.cluster)
        .exclude(state__in=Push.TERMINAL)
        .values_list("entry_id", flat=True)
    }
    sentences = [_resolved(ctx, table, intent, lineage, is_of_push=intent.id in pushes) for intent in intents]
    return [s for s in sentences if s]


def _resolved(ctx: Context, table: TableName, intent: StartIntent, lineage: Lineage, *, is_of_push: bool) -> str | None:
    age_ms = ctx.clock() - intent.at_ms
    if intent.entry:
        entry = lineage.entries.get(intent.entry)
        if entry is None or (entry.state is not State.IN_PROGRESS and age_ms > _OVER_MS):
            forget_intent(ctx, table, intent.id)
        return None
    if is_of_push or age_ms < _SENDER_MS:
        return None
    found = entry_of_start(lineage, intent.segments_from, intent.segments_to, intent.known)
    if found is None:
        if age_ms > _FORGET_MS:
            forget_intent(ctx, table, intent.id)
        return None
    adopt(ctx, table, intent, found.id)
    why = f"its start by {intent.actor} lost Pinot's answer, so nobody knows its id"
    return give_up(ctx, table, found.id, why, lambda e: True)


def _drop_notes(ctx: Context, table: TableName, noted: Versioned | None, lineage: Lineage) -> None:
    gone = noted_entries(noted.record if noted else None) - set(lineage.entries)
    if not gone:
        return

    def decide(node: Versioned | None) -> ZNRecord | None:
        return without_notes_of(node.record, gone) if node is not None and node.record is not None else None

    update_record(ctx.store, paths.entry_notes(table.typed), decide)
