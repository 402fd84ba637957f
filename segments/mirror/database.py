"""Write mirror rows: bulk upserts and deletes, nothing where nothing changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone

from segments.mirror.bulk_rows import write_rows
from segments.mirror.fitting import REFUSED, Fitted
from segments.mirror.rows import Changes, TableState, table_row
from segments.mirror.segment_rows import COLUMNS, SegmentRow, shared_rows
from segments.models import Cluster, LineageEntry, Segment, Table
from segments.names import split_table_name

_BATCH = 500
#: Segments in one piece of a large change, and seconds between two of them: SQLite has one writer at a time.
_PIECE, _LARGE_PIECE = 250, 5_000
_PAUSE_S = 0.01


@dataclass
class Written:
    """What stands in the database of one table, so that nothing is written, or even asked, that is there already."""

    table: Table
    row: dict[str, Any]
    lineage: dict[str, dict[str, Any]]
    #: What the database would not take as it is in ZooKeeper: {segment, entry or "the table": column}.
    odd: dict[str, str] = field(default_factory=dict)


def load(cluster: Cluster, state: TableState) -> Written:
    """Make or find the table's row; the lineage rows as they stand."""
    raw, kind = split_table_name(state.name)
    table, _ = Table.objects.get_or_create(
        cluster=cluster, name=state.name, defaults={"raw_name": raw, "type": kind or "OFFLINE"}
    )
    lineage = {
        e.pop("entry_id"): e
        for e in map(dict, LineageEntry.objects.filter(table=table).values("entry_id", *_LINEAGE_COLUMNS))
    }
    return Written(table, {}, lineage)


def write_table(written: Written, state: TableState, changes: Changes, also: Callable[[], None] | None = None) -> None:
    """Write what differs, in one short transaction: others wait for SQLite's only writer. ``also`` writes more in it.

    Thousands of segments are written in pieces before, with pauses in which others get their turn; the page shows them
    as they come. What the database refuses is made to fit, and noted in ``written.odd``.
    """
    row = table_row(state)
    lineage = {e.id: _lineage_values(e) for e in state.lineage.entries.values()}
    fresh = {i: v for i, v in lineage.items() if written.lineage.get(i) != v}
    gone = set(written.lineage) - set(lineage)
    if row == written.row and not (fresh or gone or changes.upserts or changes.deletes or also):
        return
    wanted, fitted = _Wanted(row, changes, fresh, gone), Fitted()
    try:
        _write(written.table, wanted, also)
    except REFUSED:
        _write(written.table, _fitting(wanted, fitted), also)
    for subject in ("the table", *changes.upserts, *changes.deletes, *fresh, *gone):
        written.odd.pop(subject, None)
    for subject, column in fitted.changed:
        written.odd[subject] = column
    written.row, written.lineage = row, lineage


@dataclass(frozen=True)
class _Wanted:
    """What is to be written of one table: its row, its segments, and of its lineage what differs and what is gone."""

    row: dict[str, Any]
    changes: Changes
    fresh: dict[str, dict[str, Any]]
    gone: set[str]


def _fitting(wanted: _Wanted, fitted: Fitted) -> _Wanted:
    """The same as the columns take it. Rows whose very name does not fit are left out: none of them was written."""

    def of(model: type[Model], column: str, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        fitting = ((name, values) for name, values in rows.items() if fitted.name(model, column, name))
        return {name: fitted.values(model, values, name) for name, values in fitting}

    segments = of(Segment, "name", {name: row._asdict() for name, row in wanted.changes.upserts.items()})
    return _Wanted(
        fitted.values(Table, wanted.row, "the table"),
        Changes(
            {name: SegmentRow(**values) for name, values in segments.items()},
            {name for name in wanted.changes.deletes if Fitted().name(Segment, "name", name)},
        ),
        of(LineageEntry, "entry_id", wanted.fresh),
        {i for i in wanted.gone if Fitted().name(LineageEntry, "entry_id", i)},
    )


def _write(table: Table, wanted: _Wanted, also: Callable[[], None] | None) -> None:
    for piece in _pieces(wanted.changes):
        with transaction.atomic():
            _write_segments(table, piece)
        time.sleep(_PAUSE_S)
    with transaction.atomic():
        Table.objects.filter(pk=table.pk).update(**wanted.row, updated_at=timezone.now())
        if _is_short(wanted.changes):
            _write_segments(table, wanted.changes)
        if wanted.fresh:
            LineageEntry.objects.bulk_create(
                [LineageEntry(table=table, entry_id=i, **v) for i, v in wanted.fresh.items()],
                batch_size=_BATCH,
                update_conflicts=True,
                unique_fields=["table", "entry_id"],
                update_fields=_LINEAGE_COLUMNS,
            )
        if wanted.gone:
            LineageEntry.objects.filter(table=table, entry_id__in=wanted.gone).delete()
        if also is not None:
            also()


def _is_short(changes: Changes) -> bool:
    return len(changes.upserts) + len(changes.deletes) <= _BATCH


def _pieces(changes: Changes) -> Iterator[Changes]:
    """Nothing when it is little; else pieces of it that are written in a few milliseconds each."""
    if _is_short(changes):
        return
    size = _PIECE if connection.vendor == "sqlite" else _LARGE_PIECE
    upserts, deletes = list(changes.upserts.items()), sorted(changes.deletes)
    for i in range(0, len(upserts), size):
        yield Changes(dict(upserts[i : i + size]), set())
    for i in range(0, len(deletes), size):
        yield Changes({}, set(deletes[i : i + size]))


def delete_table(cluster: Cluster, name: str) -> None:
    """Remove a table's rows."""
    Table.objects.filter(cluster=cluster, name=name).delete()


def known_tables(cluster: Cluster) -> set[str]:
    """Names of the tables that have a row."""
    return set(Table.objects.filter(cluster=cluster).values_list("name", flat=True))


def load_segments(cluster: Cluster, name: str) -> dict[str, SegmentRow]:
    """The segment rows of a table as they stand, so that a restart writes only what differs."""
    rows = Segment.objects.filter(table__cluster=cluster, table__name=name).order_by().values_list("name", *COLUMNS)
    return shared_rows((segment, SegmentRow(*values)) for segment, *values in rows)


def _write_segments(table: Table, changes: Changes) -> None:
    rows = [(table.pk, name, *row) for name, row in changes.upserts.items()]
    write_rows(Segment, ("table_id", "name"), COLUMNS, rows)
    names = sorted(changes.deletes)
    for i in range(0, len(names), _BATCH):
        Segment.objects.filter(table=table, name__in=names[i : i + _BATCH]).delete()


_LINEAGE_COLUMNS = ["segments_from", "segments_to", "state", "timestamp_ms", "notes"]


def _lineage_values(entry: Any) -> dict[str, Any]:
    return {
        "segments_from": list(entry.segments_from),
        "segments_to": list(entry.segments_to),
        "state": entry.state.value,
        "timestamp_ms": entry.timestamp_ms,
        "notes": dict(entry.notes),
    }
