"""Starts of replacements on a Pinot cluster, on record before they are sent: an answer that is lost loses nobody's
entry.

Pinot chooses the id of an entry when it makes it, so a start whose answer was lost has no name. The record holds the
lists and which entries were there before; the entry that came since with just these lists is the one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from segments.domain.replacement.lineage import FORCED_CLEANUP
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.engine.lineage import Start
from segments.store import paths
from segments.store.records.document import Documents


@dataclass(frozen=True)
class StartIntent:
    """One start. ``known``: ids of the entries before it; ``entry``: Pinot's id once it is known, else empty; ``at_ms``
    epoch ms.
    """

    id: str
    segments_from: tuple[str, ...]
    segments_to: tuple[str, ...]
    force_cleanup: bool
    known: tuple[str, ...]
    actor: str
    reason: str
    at_ms: int
    notes: Mapping[str, str]
    entry: str = ""

    def to_json(self) -> dict[str, Any]:
        """For ZooKeeper."""
        return {
            "from": self.segments_from,
            "to": self.segments_to,
            "force": self.force_cleanup,
            "known": self.known,
            "actor": self.actor,
            "reason": self.reason,
            "at": self.at_ms,
            "notes": dict(self.notes),
            "entry": self.entry,
        }


def _from_json(intent_id: str, body: dict[str, Any]) -> StartIntent:
    return StartIntent(
        intent_id,
        tuple(body["from"]),
        tuple(body["to"]),
        bool(body["force"]),
        tuple(body["known"]),
        body["actor"],
        body["reason"],
        int(body["at"]),
        body["notes"],
        body["entry"],
    )


_STARTS: Final = Documents("start", "The record of start '{}'", lambda i: i.id, StartIntent.to_json, _from_json)


def find_intent(ctx: Context, table: TableName, intent_id: str) -> StartIntent | None:
    """The start of that id, None when it was never on record (or is forgotten)."""
    return _STARTS.read(ctx.store, paths.start(table.typed, intent_id))


def all_intents(ctx: Context, table: TableName) -> list[StartIntent]:
    """Every start on record, oldest first."""
    names = ctx.store.children(paths.starts(table.typed))
    found = _STARTS.read_many(ctx.store, [paths.start(table.typed, n) for n in names])
    return sorted(found, key=lambda i: (i.at_ms, i.id))


def keep_intent(ctx: Context, table: TableName, asked: Start, *, known: Sequence[str]) -> StartIntent:
    """Put a start on record, unless it is: the one on record counts, with what was there before it (``known``)."""
    intent_id, start, actor = asked.entry_id or ctx.new_id(), asked.wanted, asked.actor
    notes = {**start.notes, **({FORCED_CLEANUP: "true"} if start.force_cleanup else {})}
    wanted = StartIntent(
        intent_id,
        start.segments_from,
        start.segments_to,
        start.force_cleanup,
        tuple(known),
        actor.name,
        actor.reason,
        ctx.clock(),
        notes,
    )

    path = paths.start(table.typed, intent_id)
    return _STARTS.change(ctx.store, path, lambda known: None if known else wanted) or wanted


def note_started(ctx: Context, table: TableName, intent: StartIntent, entry_id: str) -> StartIntent:
    """The start is there, under this id of Pinot's."""
    done = replace(intent, entry=entry_id)
    _STARTS.write(ctx.store, paths.start(table.typed, intent.id), done)
    return done


def forget_intent(ctx: Context, table: TableName, intent_id: str) -> None:
    """It was refused, or its entry is long over."""
    ctx.store.delete(paths.start(table.typed, intent_id))
