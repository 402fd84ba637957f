"""Lineage entries that are kept beyond the lineage: what a deleted segment was part of, and what queries may therefore
not see together with it.

Retention drops an entry as soon as none of its hidden segments is left, but their files are kept for days. While they
are, the entry still says what bringing them back would mean.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement import lineage as lineages
from segments.domain.replacement.lineage import Entry, Lineage, State
from segments.errors import RecordCorrupt

_KEPT_MS: Final = "keptMs"


@dataclass(frozen=True)
class KeptEntry:
    """``entry`` as it last was, with all names it ever had; ``kept_ms``: since when it is kept (epoch ms)."""

    entry: Entry
    kept_ms: int


def to_record(table: str, past: KeptEntry) -> ZNRecord:
    """For ZooKeeper, compressed: it may name thousands of segments."""
    record = lineages.to_record(Lineage(table, {past.entry.id: past.entry}))
    return replace(record, simple={_KEPT_MS: str(past.kept_ms), "enableCompression": "true"})


def from_record(record: ZNRecord) -> KeptEntry:
    """The entry. RecordCorrupt when it cannot be read."""
    entries = list(lineages.from_record(record).entries.values())
    kept_ms = record.simple.get(_KEPT_MS, "")
    if len(entries) != 1 or not kept_ms.isdecimal():
        raise RecordCorrupt(
            f"The kept lineage entry of table '{record.id}' cannot be read.", remedy="Remove its znode."
        )
    return KeptEntry(entries[0], int(kept_ms))


def merged(entry: Entry, kept: KeptEntry | None, now_ms: int) -> KeptEntry:
    """The entry as it is to be kept now: as it is in the lineage, with the names that an earlier copy still has."""
    if kept is None:
        return KeptEntry(entry, now_ms)
    old, new = (
        _union(a, b)
        for a, b in ((kept.entry.segments_from, entry.segments_from), (kept.entry.segments_to, entry.segments_to))
    )
    notes = {**kept.entry.notes, **entry.notes}  # of a Pinot cluster's entry the kept one knows more
    return KeptEntry(replace(entry, segments_from=old, segments_to=new, notes=notes), kept.kept_ms)


def known_entries(lineage: Lineage, past: Mapping[str, KeptEntry]) -> dict[str, Entry]:
    """All entries of the lineage and the kept ones, by id; a reverted entry that gave up names has them again."""
    known = {i: p.entry for i, p in past.items() if i not in lineage.entries}
    for entry in lineage.entries.values():
        kept = past.get(entry.id)
        known[entry.id] = merged(entry, kept, 0).entry if kept is not None and entry.state is State.REVERTED else entry
    return known


def hiding(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """{segment: the newest of these entries that hides it}, unless a later one that is COMPLETED brought
    the segment.
    """
    ordered = sorted(entries.values(), key=lambda e: (e.timestamp_ms, e.id))
    found: dict[str, Entry] = {}
    for entry in ordered:
        found.update(dict.fromkeys(entry.hides, entry))
        if entry.state is State.COMPLETED:
            for segment in entry.segments_to:
                if segment in found and found[segment].timestamp_ms < entry.timestamp_ms:
                    del found[segment]
    return found


def is_spent(past: KeptEntry, lineage: Lineage, kept_files: Collection[str], present: Collection[str]) -> bool:
    """May it be forgotten? When it left the lineage and no file of what it hides is kept, waits for its deletion or
    comes back.
    """
    hidden = lineage.hidden()
    return not any(s in kept_files or (s in present and s in hidden) for s in past.entry.hides)


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))
