"""Segments that may have replaced the new side of an entry though the lineage no longer says so: a revert would show
both (rule `preview-first`).

Our own retention keeps such links (``domain.retention``); other programs that clean the same lineage do not.
"""

from __future__ import annotations

from segments.domain.replacement import decisions as replacement
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import Observed
from segments.services.segments.segments import read_records


def newer_strangers(ctx: Context, table: TableName, seen: Observed, entry_id: str) -> list[str]:
    """Visible segments that no entry names and that were pushed after this one completed; none unless its new side is
    partly gone.
    """
    entry = seen.lineage.entries.get(entry_id)
    if entry is None or not replacement.lost_segments(seen.lineage, entry, seen.ideal.maps):
        return []
    mentioned = seen.lineage.mentioned()
    records = read_records(ctx, table, [s for s in seen.lineage.visible(seen.ideal.maps) if s not in mentioned])
    return [s for s, meta in records.items() if (meta.push_ms or 0) > entry.timestamp_ms]
