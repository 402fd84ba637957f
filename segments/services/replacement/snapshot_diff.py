"""What differs between two snapshots of a table: segments, rows, bytes, and range and cardinality of every column.

Rows, bytes and times come from segment records, columns from the servers that hold the segments, which add them up
themselves: a snapshot of thousands of segments is one small answer per server. On a real Pinot its controller is asked,
about some hundreds of segments at most. What nobody reports is named, never guessed.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from typing import Any, Final

from segments.domain.formats.plural import counted
from segments.domain.replacement.snapshots import Snapshot
from segments.domain.segments.column_profile import ColumnProfile, merge
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.engine.snapshots import ProfileReader
from segments.services.replacement.history.as_of import segments_by_name
from segments.services.replacement.lineage_record import observe
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
    """From ``before`` to ``after``. ``notes`` are sentences about what could not be read."""

    table: str
    before: Side
    after: Side
    added: tuple[str, ...]
    removed: tuple[str, ...]
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
    old, new = (segments_by_name(seen, ctx, table, name) for name in (before, after))
    same = sorted(set(old.segments) & set(new.segments))
    removed = sorted(set(old.segments) - set(new.segments))
    added = sorted(set(new.segments) - set(old.segments))
    records = read_records(ctx, table, sorted({*same, *removed, *added}))
    reader = ctx.engine.snapshots.columns(ctx, table, (removed, added, same), read_profile)
    shared, left, came = reader.read(same), reader.read(removed), reader.read(added)
    columns_before, columns_after = merge([*shared, *left]), merge([*shared, *came])
    return SnapshotDiff(
        table=table.typed,
        before=Side(before, summarise(records[s] for s in old.segments if s in records), old.gone),
        after=Side(after, summarise(records[s] for s in new.segments if s in records), new.gone),
        added=tuple(added),
        removed=tuple(removed),
        same=len(same),
        columns=tuple(
            ColumnDiff(n, columns_before.get(n), columns_after.get(n))
            for n in sorted({*columns_before, *columns_after})
        ),
        notes=(*_gone_notes(old, new), *reader.notes()),
    )


def _gone_notes(*snapshots: Snapshot) -> list[str]:
    return [
        f"Deleted or not uploaded, and so not counted: {counted(len(s.gone), 'segment')} of snapshot '{s.name}', "
        f"e.g. '{s.gone[0]}'."
        for s in snapshots
        if s.gone
    ]


def _side_json(side: Side) -> dict[str, Any]:
    return {"name": side.name, **asdict(side.summary), "goneCount": len(side.gone), "gone": list(side.gone[:_LISTED])}
