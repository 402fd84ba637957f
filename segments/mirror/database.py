"""Write mirror rows: bulk upserts and deletes, nothing where nothing changed."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from segments.domain.lineage import Lineage
from segments.mirror.rows import Changes, TableState, table_row
from segments.models import Cluster, LineageEntry, Segment, Table
from segments.names import split_table_name

_BATCH = 500
_SEGMENT_COLUMNS = [
    "status", "crc", "total_docs", "size_bytes", "start_ms", "end_ms", "creation_ms", "push_ms", "refresh_ms", "download_url",
    "is_visible", "replicas", "replicas_wanted", "replicas_online",
]  # fmt: skip


def write_table(cluster: Cluster, state: TableState, changes: Changes) -> None:
    """Write the table's row, its changed segments and its lineage in one transaction."""
    raw, kind = split_table_name(state.name)
    with transaction.atomic():
        table, _ = Table.objects.update_or_create(
            cluster=cluster, name=state.name, defaults={"raw_name": raw, "type": kind or "OFFLINE", **table_row(state)}
        )
        _write_segments(table, changes)
        _write_lineage(table, state.lineage)


def delete_table(cluster: Cluster, name: str) -> None:
    """Remove a table's rows."""
    Table.objects.filter(cluster=cluster, name=name).delete()


def known_tables(cluster: Cluster) -> set[str]:
    """Names of the tables that have a row."""
    return set(Table.objects.filter(cluster=cluster).values_list("name", flat=True))


def load_segments(cluster: Cluster, name: str) -> dict[str, dict[str, Any]]:
    """The segment rows of a table as they stand, so that a restart writes only what differs."""
    rows = Segment.objects.filter(table__cluster=cluster, table__name=name).values("name", *_SEGMENT_COLUMNS)
    return {r.pop("name"): r for r in map(dict, rows)}


def _write_segments(table: Table, changes: Changes) -> None:
    rows = [Segment(table=table, name=name, **values) for name, values in changes.upserts.items()]
    Segment.objects.bulk_create(
        rows, batch_size=_BATCH, update_conflicts=True, unique_fields=["table", "name"], update_fields=_SEGMENT_COLUMNS
    )
    names = sorted(changes.deletes)
    for i in range(0, len(names), _BATCH):
        Segment.objects.filter(table=table, name__in=names[i : i + _BATCH]).delete()


def _write_lineage(table: Table, lineage: Lineage) -> None:
    wanted = {e.id: _lineage_values(e) for e in lineage.entries.values()}
    have = {e.pop("entry_id"): e for e in map(dict, LineageEntry.objects.filter(table=table).values("entry_id", *_LINEAGE_COLUMNS))}
    rows = [LineageEntry(table=table, entry_id=i, **values) for i, values in wanted.items() if have.get(i) != values]
    LineageEntry.objects.bulk_create(
        rows, batch_size=_BATCH, update_conflicts=True, unique_fields=["table", "entry_id"], update_fields=_LINEAGE_COLUMNS
    )
    LineageEntry.objects.filter(table=table, entry_id__in=set(have) - set(wanted)).delete()


_LINEAGE_COLUMNS = ["segments_from", "segments_to", "state", "timestamp_ms", "notes"]


def _lineage_values(entry: Any) -> dict[str, Any]:
    return {
        "segments_from": list(entry.segments_from),
        "segments_to": list(entry.segments_to),
        "state": entry.state.value,
        "timestamp_ms": entry.timestamp_ms,
        "notes": dict(entry.notes),
    }
