"""Segment lineage: the entries of a table's replacements, what each hides and locks, and the znode that holds them.

Invariant: a query that filters by one version of the lineage sees exactly one side of every replacement. The decisions
start, end and revert are in ``segments.domain.replacement.decisions``. Rules `one-side-visible` and `pinot-layout`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from segments.domain.formats.znrecord import ZNRecord
from segments.errors import NotFound, RecordCorrupt

#: mapFields key that holds what we remember of an entry beyond Pinot's five items.
_NOTES_PREFIX: Final = "pinotadmin.entry."

#: Names of notes. Times are epoch milliseconds as text, flags "true" or absent. A note never changes Pinot's timestamp.
ACTOR: Final = "actor"
FORCED_CLEANUP: Final = "forceCleanup"
#: Last renewal by the client, and "true" once it ever sent one (rule `entry-lease`); last upload into the entry.
HEARTBEAT: Final = "heartbeat"
LEASE: Final = "lease"
UPLOAD: Final = "upload"
#: Kept from every clean-up, why and by whom.
PINNED: Final = "pinned"
PIN_REASON: Final = "pin.reason"
PIN_ACTOR: Final = "pin.actor"
#: When an end was requested; what it is at stands under ``end.*``.
END_REQUESTED: Final = "end.requested"
#: Of a reverted entry: the state before, and the entry that the rollback was requested for (itself, or one below it in
#: a chain).
REVERTED_FROM: Final = "reverted.from"
ROLLBACK: Final = "rollback"
#: Of an entry that brings back what a rollback removed: the entry which that rollback was requested for.
UNDOES: Final = "undoes"


class State(StrEnum):
    """State of an entry; there is no other."""

    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    REVERTED = "REVERTED"


#: Entries that can still change what queries see.
LIVE: Final = frozenset({State.IN_PROGRESS, State.COMPLETED})


@dataclass(frozen=True)
class Entry:
    """One replacement. ``timestamp_ms`` is that of the last change of state. ``notes`` are ours (who, cleanup asked,
    heartbeat).
    """

    id: str
    segments_from: tuple[str, ...]
    segments_to: tuple[str, ...]
    state: State
    timestamp_ms: int
    auto_complete: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_pinned(self) -> bool:
        """Neither side is removed by any clean-up."""
        return self.notes.get(PINNED) == "true"

    def noted(self, changes: Mapping[str, str | None]) -> Entry:
        """A copy with notes set, or removed where the value is None; state and timestamp stay."""
        notes = {**self.notes, **{k: v for k, v in changes.items() if v is not None}}
        return replace(self, notes={k: v for k, v in notes.items() if changes.get(k, v) is not None})

    def reverted(self, now_ms: int, *, rollback: str = "") -> Entry:
        """This entry taken back at ``now_ms`` by a rollback requested for entry ``rollback`` (empty: this one)."""
        notes = {**self.notes, REVERTED_FROM: self.state.value, ROLLBACK: rollback or self.id}
        return replace(self, state=State.REVERTED, timestamp_ms=now_ms, notes=notes)

    @property
    def hides(self) -> tuple[str, ...]:
        """Segments that no query sees because of this entry (rule `one-side-visible`)."""
        return self.segments_from if self.state is State.COMPLETED else self.segments_to

    @property
    def locks(self) -> tuple[str, ...]:
        """Segments that may not be deleted by hand (rule `locked-by-lineage`)."""
        match self.state:
            case State.IN_PROGRESS:
                return self.segments_from + self.segments_to
            case State.COMPLETED:
                return self.segments_from
            case State.REVERTED:
                return ()


@dataclass(frozen=True)
class Lineage:
    """All entries of a table, by id. ``record`` is the znode as read, so that foreign fields survive."""

    table: str
    entries: Mapping[str, Entry] = field(default_factory=dict)
    record: ZNRecord | None = None

    def in_order(self) -> list[Entry]:
        """Entries by time, then id."""
        return sorted(self.entries.values(), key=lambda e: (e.timestamp_ms, e.id))

    def hidden(self) -> set[str]:
        """Segments that no query sees."""
        return {s for e in self.entries.values() for s in e.hides}

    def coming(self) -> set[str]:
        """New segments of unfinished replacements."""
        return {s for e in self.entries.values() if e.state is State.IN_PROGRESS for s in e.segments_to}

    def visible(self, segments: Iterable[str]) -> list[str]:
        """The segments that a query sees, sorted."""
        hidden = self.hidden()
        return sorted(s for s in segments if s not in hidden)

    def uncovered(self, entry_id: str, segments: Iterable[str]) -> list[str]:
        """Segments that a query sees and that are on neither side of this entry, sorted: where it is to be the whole
        table, they came in after its start had listed that.
        """
        entry = self.entry(entry_id)
        sides = {*entry.segments_from, *entry.segments_to}
        return [s for s in self.visible(segments) if s not in sides]

    def locked(self) -> set[str]:
        """Segments that the delete guard protects."""
        return {s for e in self.entries.values() for s in e.locks}

    def pinned(self) -> set[str]:
        """Segments on either side of an entry that somebody pinned."""
        return {s for e in self.entries.values() if e.is_pinned for s in e.segments_from + e.segments_to}

    def mentioned(self) -> set[str]:
        """Every segment that any entry names."""
        return {s for e in self.entries.values() for s in (*e.segments_from, *e.segments_to)}

    def entry(self, entry_id: str) -> Entry:
        """The entry; NotFound names it."""
        found = self.entries.get(entry_id)
        if found is None:
            raise NotFound(
                f"Lineage entry '{entry_id}' does not exist in table '{self.table}'.",
                remedy=f"List the entries with GET /segments/{self.table}/lineage.",
                entry=entry_id,
            )
        return found

    def having(self, *changed: Entry, without: Collection[str] = ()) -> Lineage:
        """A copy with these entries set and those ids removed."""
        entries = {k: e for k, e in self.entries.items() if k not in without}
        return replace(self, entries={**entries, **{e.id: e for e in changed}})

    def to_json(self) -> dict[str, Any]:
        """The document of GET /segments/{table}/lineage."""
        body: dict[str, Any] = {
            "tableNameWithType": self.table,
            "lineageEntries": {e.id: _entry_json(e) for e in self.in_order()},
        }
        custom = self.record.maps.get("custom.map") if self.record else None
        return {**body, "customMap": custom} if custom is not None else body


def empty(table: str) -> Lineage:
    """The lineage of a table that has no record."""
    return Lineage(table)


def from_record(record: ZNRecord) -> Lineage:
    """Parse a znode. RecordCorrupt for an entry that cannot be read: it is never dropped silently (rule
    `corrupt-is-not-missing`).
    """
    entries = {}
    for entry_id, items in record.lists.items():
        if len(items) < 4:
            raise RecordCorrupt(
                f"Lineage entry '{entry_id}' of table '{record.id}' has {len(items)} items instead of 4.",
                entry=entry_id,
            )
        try:
            state, stamp = State(items[2]), int(items[3])
        except ValueError as error:
            raise RecordCorrupt(
                f"Lineage entry '{entry_id}' of table '{record.id}' cannot be read: {error}.", entry=entry_id
            ) from error
        notes = record.maps.get(_NOTES_PREFIX + entry_id, {})
        entries[entry_id] = Entry(
            entry_id, _names(items[0]), _names(items[1]), state, stamp, items[4:5] == ["true"], notes
        )
    return Lineage(record.id, entries, record)


def to_record(lineage: Lineage) -> ZNRecord:
    """The znode to write; foreign fields of the one read are kept."""
    base = lineage.record or ZNRecord(lineage.table)
    foreign = {k: v for k, v in base.maps.items() if not k.startswith(_NOTES_PREFIX)}
    notes = {_NOTES_PREFIX + e.id: dict(e.notes) for e in lineage.entries.values() if e.notes}
    return replace(base, lists={e.id: _items(e) for e in lineage.entries.values()}, maps={**foreign, **notes})


def with_notes(lineage: Lineage, record: ZNRecord | None) -> Lineage:
    """The lineage of a Pinot cluster with our notes of its entries: there they lie in a record of our own
    (``notes_record``).
    """
    noted = {
        e.id: notes
        for e in lineage.entries.values()
        if record is not None and (notes := record.maps.get(_NOTES_PREFIX + e.id))
    }
    return lineage.having(*(replace(lineage.entries[i], notes=notes) for i, notes in noted.items()))


def notes_record(lineage: Lineage, before: ZNRecord | None) -> ZNRecord:
    """The record of our notes as it is to be written; those of entries that are not in ``lineage`` stay as they are."""
    maps = dict(before.maps) if before is not None else {}
    for entry in lineage.entries.values():
        maps.pop(_NOTES_PREFIX + entry.id, None)
        if entry.notes:
            maps[_NOTES_PREFIX + entry.id] = dict(entry.notes)
    return ZNRecord(lineage.table, maps=maps)


def noted_entries(record: ZNRecord | None) -> set[str]:
    """Ids of the entries that a record of notes speaks of."""
    return {key.removeprefix(_NOTES_PREFIX) for key in (record.maps if record else ()) if key.startswith(_NOTES_PREFIX)}


def without_notes_of(record: ZNRecord, entries: Collection[str]) -> ZNRecord:
    """The record of our notes without those of these entries."""
    return replace(record, maps={k: v for k, v in record.maps.items() if k.removeprefix(_NOTES_PREFIX) not in entries})


def _names(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


def _items(entry: Entry) -> list[str]:
    items = [",".join(entry.segments_from), ",".join(entry.segments_to), entry.state.value, str(entry.timestamp_ms)]
    return [*items, "true"] if entry.auto_complete else items


def _entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "segmentsFrom": list(entry.segments_from),
        "segmentsTo": list(entry.segments_to),
        "state": entry.state.value,
        "timestamp": entry.timestamp_ms,
        "autoCompleteLineageEntry": entry.auto_complete,
    }
