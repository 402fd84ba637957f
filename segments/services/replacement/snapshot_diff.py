"""What differs between two snapshots of a table: segments, rows, bytes, and range and cardinality of every column.

Rows, bytes and times come from segment records, columns from the servers that hold the segments, which add them up
themselves: a snapshot of thousands of segments is one small answer per server. On a real Pinot its controller is asked,
about some hundreds of segments at most. What nobody tells is said, never guessed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from segments.clusters.pinot.columns import PinotColumns
from segments.domain.replacement.snapshots import Snapshot, find_snapshot
from segments.domain.segments.column_profile import ColumnProfile, merge
from segments.domain.segments.ideal_state import serving
from segments.errors import PinotAdminError
from segments.gateways.servers import Profile
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import observe
from segments.services.replacement.rollback_preview import SnapshotSummary, summarise
from segments.services.segments.segments import read_records
from segments.store import paths
from segments.store.records.instances import instance_configs

log = logging.getLogger(__name__)

#: Asks the server at an address for the columns of segments of a table (typed name).
ProfileReader = Callable[[str, str, Sequence[str]], Profile]
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
    """One column on both sides; None where no segment of that side has it or tells of it."""

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
    """From ``before`` to ``after``. ``notes`` are sentences about what could not be told."""

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
    """Compare two snapshots by name (``domain.snapshots``). NotFound for an unknown table or entry, InvalidInput for a
    bad name.

    ``read_profile`` asks servers of our own; None: the controller of a real Pinot is asked.
    """
    seen = observe(ctx, table)
    old, new = (find_snapshot(seen.lineage, name, seen.ideal.maps) for name in (before, after))
    same = sorted(set(old.segments) & set(new.segments))
    removed = sorted(set(old.segments) - set(new.segments))
    added = sorted(set(new.segments) - set(old.segments))
    records = read_records(ctx, table, sorted({*same, *removed, *added}))
    reader = (
        PinotColumns(ctx, table, removed, added, same) if read_profile is None else _Columns(ctx, table, read_profile)
    )
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


class _Columns:
    """Reads columns from servers, each segment once; remembers what nobody told."""

    def __init__(self, ctx: Context, table: TableName, read_profile: ProfileReader) -> None:
        self._table, self._read_profile = table, read_profile
        view = ctx.store.get(paths.external_view(table.typed))
        live = set(ctx.store.children(paths.LIVE_INSTANCES))
        rows = view.record.maps if view and view.record else {}
        self._replicas = {s: [i for i in serving(r) if i in live] for s, r in rows.items()}
        self._urls = {i: c.admin_url for i, c in instance_configs(ctx.store).items()}
        self._silent: set[str] = set()
        self._untold: list[str] = []

    def read(self, segments: Collection[str]) -> list[ColumnProfile]:
        """Columns of all these segments, one item per column and server. Another replica is asked where one does not
        tell.
        """
        profiles: list[ColumnProfile] = []
        left, asked = list(segments), {s: set[str]() for s in segments}
        while left:
            batches: dict[str, list[str]] = {}
            for number, segment in enumerate(left):
                usable = [
                    i
                    for i in self._replicas.get(segment, [])
                    if i in self._urls and i not in self._silent and i not in asked[segment]
                ]
                if usable:
                    chosen = usable[number % len(usable)]
                    batches.setdefault(chosen, []).append(segment)
                    asked[segment].add(chosen)
                else:
                    self._untold.append(segment)
            left = [s for instance, names in batches.items() for s in self._ask(instance, names, profiles)]
        return profiles

    def _ask(self, instance: str, names: list[str], profiles: list[ColumnProfile]) -> Sequence[str]:
        """Add what the server tells; returns the segments of which it tells nothing."""
        try:
            found = self._read_profile(self._urls[instance], self._table.typed, names)
        except PinotAdminError as error:
            log.warning("%s does not tell the columns of %s: %s", instance, self._table, error)
            self._silent.add(instance)
            return names
        profiles.extend(found.columns)
        return found.missing

    def notes(self) -> list[str]:
        """What is missing from the columns."""
        told = [f"Server {i} did not answer." for i in sorted(self._silent)]
        if self._untold:
            text = (
                f"The columns of {len(self._untold)} segments are not counted, e.g. of '{self._untold[0]}': no live "
                "server serves them."
            )
            told.append(text)
        return told


def _gone_notes(*snapshots: Snapshot) -> list[str]:
    return [
        f"{len(s.gone)} segments of snapshot '{s.name}' are deleted or not uploaded, e.g. '{s.gone[0]}'; they "
        "are not counted."
        for s in snapshots
        if s.gone
    ]


def _side_json(side: Side) -> dict[str, Any]:
    return {"name": side.name, **asdict(side.summary), "goneCount": len(side.gone), "gone": list(side.gone[:_LISTED])}
