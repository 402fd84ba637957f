"""How many rows of a realtime table queries see: those of committed segments, and those that servers are consuming just
now.
"""

from __future__ import annotations

from segments.domain.segments.segment_metadata import COMPLETED_STATUSES
from segments.errors import PinotAdminError
from segments.models import Segment, Table
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.consumers import read_consumers
from segments.services.segments.segments import read_records


def visible_rows(ctx: Context, table: Table, name: TableName) -> int | None:
    """The sum; None when the servers cannot be asked. The mirror knows no rows of a segment before it has seen its
    commit: what is committed since is read from its record.
    """
    try:
        rows_of: dict[str, int] = {}
        for consumer in read_consumers(ctx, name):
            rows_of[consumer.segment] = max(rows_of.get(consumer.segment, 0), consumer.rows)
        consuming = set(Segment.objects.filter(table=table, is_consuming=True).values_list("name", flat=True))
        since = read_records(ctx, name, sorted(consuming - rows_of.keys())) if consuming - rows_of.keys() else {}
    except PinotAdminError:
        return None
    committed = set(
        Segment.objects.filter(table=table, name__in=rows_of, is_consuming=False).values_list("name", flat=True)
    )
    rows = sum(count for segment, count in rows_of.items() if segment not in committed)
    return table.rows_visible + rows + sum(m.total_docs or 0 for m in since.values() if m.status in COMPLETED_STATUSES)
