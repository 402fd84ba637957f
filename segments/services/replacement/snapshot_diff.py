"""What differs between two snapshots of a table: segments, rows, bytes, and range and cardinality of every column.

Rows, bytes and times come from segment records, of a snapshot of the history from its own record, so that any two can
be compared, also those whose files are gone. Columns come from the servers that hold the segments, which add them up
themselves: a snapshot of thousands of segments is one small answer per server. On a real Pinot its controller is asked,
about some hundreds of segments at most. What nobody reports is named, never guessed.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from segments.domain.formats.plural import counted
from segments.domain.replacement.snapshots import Snapshot
from segments.domain.segments.column_profile import ColumnProfile, merge
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.engine.snapshots import ProfileReader
from segments.services.replacement.history.as_of import is_of_history, snapshot_by_name
from segments.services.replacement.history.snapshots import snapshot
from segments.services.replacement.lineage_record import Observed, observe
from segments.services.replacement.rollback_preview import SnapshotSummary, summarise
from segments.services.segments.segments import read_records

log = logging.getLogger(__name__)

#: Names listed in the document; the counts are always whole.
_LISTED: Final = 1000


@dataclass(frozen=True)
class Side:
    """One snapshot: its name, what it holds, and segments that belong to it but are gone."""

    name: str
    summary: SnapshotSummary
    gone: tuple[str, ...]


@dataclass(frozen=True)
class ColumnDiff:
    """One column on both sides; None where no segment of that side has it or reports it."""

    name: str
    before: ColumnProfile | None
    after: ColumnProfile | None

    @property
    def both(self) -> tuple[ColumnProfile | None, ColumnProfile | None]:
        """Before and after."""
        return self.before, self.after

    @property
    def is_changed(self) -> bool:
        """Does range, type or cardinality differ?"""
        return bool(self._facts(self.before) != self._facts(self.after))

    @staticmethod
    def _facts(p: ColumnProfile | None) -> Any:
        return p and (p.data_type, p.min_value, p.max_value, p.cardinality_low, p.cardinality_high)


@dataclass(frozen=True)
class SnapshotDiff:
    """From ``before`` to ``after``. ``overwritten``: segments of both whose content differs. ``notes`` are sentences
    about what could not be read.
    """

    table: str
    before: Side
    after: Side
    added: tuple[str, ...]
    removed: tuple[str, ...]
    overwritten: tuple[str, ...]
    same: int
    columns: tuple[ColumnDiff, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON-ready form; long lists of names are cut, their counts are not."""
        return {
            "table": self.table,
            "from": _side_json(self.before),
            "to": _side_json(self.after),
            "segments": {
                "added": list(self.added[:_LISTED]),
                "addedCount": len(self.added),
                "removed": list(self.removed[:_LISTED]),
                "removedCount": len(self.removed),
                "overwritten": list(self.overwritten[:_LISTED]),
                "overwrittenCount": len(self.overwritten),
                "sameCount": self.same,
            },
            "rowsChange": self.after.summary.rows - self.before.summary.rows,
            "bytesChange": self.after.summary.bytes - self.before.summary.bytes,
            "columns": [
                {
                    "name": c.name,
                    "changed": c.is_changed,
                    "from": c.before and c.before.to_json(),
                    "to": c.after and c.after.to_json(),
                }
                for c in self.columns
            ],
            "notes": list(self.notes),
        }


def diff_snapshots(
    ctx: Context, table: TableName, before: str, after: str, read_profile: ProfileReader | None
) -> SnapshotDiff:
    """Compare two snapshots: numbers of the history, or names as in ``domain.snapshots``. NotFound for an unknown
    table, snapshot or entry, InvalidInput for a bad name.

    ``read_profile`` asks servers of our own; None where there are none.
    """
    seen = observe(ctx, table)
    (old, old_crcs), (new, new_crcs) = (snapshot_by_name(seen, ctx, table, name) for name in (before, after))
    both = set(old.segments) & set(new.segments)
    records = read_records(ctx, table, sorted({*old.segments, *new.segments}))
    overwritten = {s for s in both if _crc(s, old_crcs, records) != _crc(s, new_crcs, records)}
    removed, added, same = _names(old) - _names(new), _names(new) - _names(old), both - overwritten
    left, came = removed.intersection(old.segments), added.intersection(new.segments)
    wanted = (sorted(left), sorted(came), sorted(both))
    reader = ctx.engine.snapshots.columns(ctx, table, wanted, read_profile)
    shared, of_left, of_came = reader.read(wanted[2]), reader.read(wanted[0]), reader.read(wanted[1])
    columns_before, columns_after = merge([*shared, *of_left]), merge([*shared, *of_came])
    sides = [_side(ctx, seen, one, records) for one in (old, new)]
    return SnapshotDiff(
        table=table.typed,
        before=sides[0],
        after=sides[1],
        added=tuple(sorted(added)),
        removed=tuple(sorted(removed)),
        overwritten=tuple(sorted(overwritten)),
        same=len(same),
        columns=tuple(
            ColumnDiff(n, columns_before.get(n), columns_after.get(n))
            for n in sorted({*columns_before, *columns_after})
        ),
        notes=(*_gone_notes(seen, old, new), *_overwritten_notes(overwritten), *reader.notes()),
    )


def _names(snapshot: Snapshot) -> set[str]:
    return {*snapshot.segments, *snapshot.gone}


def _crc(segment: str, known: Mapping[str, int], records: Mapping[str, SegmentMetadata]) -> int | None:
    """That of the snapshot's moment, where it is known; else today's."""
    return known.get(segment) or (records[segment].crc if segment in records else None)


def _side(ctx: Context, seen: Observed, found: Snapshot, records: Mapping[str, SegmentMetadata]) -> Side:
    if not is_of_history(seen, found.name):
        return Side(found.name, summarise(records[s] for s in found.segments if s in records), found.gone)
    row = snapshot(ctx, seen.table, int(found.name))
    return Side(found.name, SnapshotSummary(row.segments, row.rows, row.bytes, row.start_ms, row.end_ms), found.gone)


def _gone_notes(seen: Observed, *snapshots: Snapshot) -> list[str]:
    return [
        f"Columns of {counted(len(s.gone), 'segment')} of snapshot {s.name} are not compared: they are not on servers "
        f"any more, e.g. '{s.gone[0]}'."
        if is_of_history(seen, s.name)
        else f"Deleted or not uploaded, and so not counted: {counted(len(s.gone), 'segment')} of snapshot '{s.name}', "
        f"e.g. '{s.gone[0]}'."
        for s in snapshots
        if s.gone
    ]


def _overwritten_notes(names: Collection[str]) -> list[str]:
    if not names:
        return []
    return [
        f"{counted(len(names), 'segment has', 'segments have')} different content in the second snapshot, e.g. "
        f"'{min(names)}'. Columns are compared as they are on servers now."
    ]


def _side_json(side: Side) -> dict[str, Any]:
    return {"name": side.name, **asdict(side.summary), "goneCount": len(side.gone), "gone": list(side.gone[:_LISTED])}
