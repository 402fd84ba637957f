"""Reads the history of a table that the mirror writes: its snapshots, and which segments each consists of."""

from __future__ import annotations

from typing import Final

from django.db.models import QuerySet

from segments.domain.replacement.history.contents import (
    applied,
    taken_back,
    unpack_changes,
    unpack_contents,
)
from segments.errors import NotFound
from segments.models import Snapshot
from segments.names import TableName
from segments.services.core.context import Context

#: Every so many snapshots the whole list of segments is stored; others are made from the nearest such.
WHOLE_EVERY: Final = 50
#: The largest number that the database takes.
_MOST: Final = 2_147_483_647


def history_of(ctx: Context, table: TableName) -> QuerySet[Snapshot]:
    """All snapshots of a table, newest first, without the lists of their segments. Of a REALTIME table they consist of
    committed segments.
    """
    return Snapshot.objects.filter(cluster__name=ctx.cluster, table_name=table.typed).defer(
        "changes", "whole", "states"
    )


def snapshot(ctx: Context, table: TableName, number: int) -> Snapshot:
    """The snapshot of that number. NotFound when the table has none."""
    found = history_of(ctx, table).filter(number=number).first() if 0 < number <= _MOST else None
    if found is None:
        raise NotFound(
            f"Table '{table}' has no snapshot {number}.",
            remedy=f"List them with GET /api/v1/tables/{table}/snapshots.",
        )
    return found


def contents_of(row: Snapshot) -> dict[str, int]:
    """{segment: CRC} of a snapshot. The nearest whole list counts, then what changed from there."""
    rows = Snapshot.objects.filter(cluster_id=row.cluster_id, table_name=row.table_name)
    number = row.number
    above = rows.filter(number__gte=number, number__lt=number + WHOLE_EVERY, whole__isnull=False).order_by("number")
    nearest = above.first()
    if nearest is not None and nearest.number - number < WHOLE_EVERY // 2:
        contents = unpack_contents(nearest.whole)
        steps = rows.filter(number__gt=number, number__lte=nearest.number).order_by("-number")
        for changes in steps.values_list("changes", flat=True):
            contents = taken_back(contents, unpack_changes(changes))
        return contents
    below = rows.filter(number__lte=number, whole__isnull=False).first()
    if below is None:
        raise NotFound(f"What snapshot {number} of table '{row.table_name}' consisted of is not on record.")
    contents = unpack_contents(below.whole)
    for changes in (
        rows.filter(number__gt=below.number, number__lte=number).order_by("number").values_list("changes", flat=True)
    ):
        contents = applied(contents, unpack_changes(changes))
    return contents
