"""Does a push give new segments the names of segments that are there? Asked before it begins, when it is built, and as
it registers.
"""

from __future__ import annotations

from collections.abc import Mapping

from segments.domain.push.same_name import SameName, would_replace
from segments.domain.segments.segment_metadata import from_record
from segments.domain.tables.table_config import TableConfig
from segments.services.core.context import Context
from segments.store import paths


def check_names(ctx: Context, config: TableConfig, names: Mapping[str, tuple[int, int] | None]) -> None:
    """StateConflict when the table has segments of these names with other content; it says how many rows go and come.

    ``names`` is {segment: (CRC, rows) as built}, None while it is not built.
    """
    typed = config.table.typed
    ideal, *nodes = ctx.store.get_many([paths.ideal_state(typed), *(paths.segment(typed, n) for n in names)])
    rows = ideal.record.maps if ideal and ideal.record else {}
    found = []
    for (name, built), node in zip(names.items(), nodes, strict=True):
        if name not in rows or node is None or node.record is None:
            continue
        old = from_record(node.record)
        if built is None or built[0] != old.crc:
            found.append(SameName(name, old.total_docs, built[1] if built else None))
    if found:
        raise would_replace(config, found)
