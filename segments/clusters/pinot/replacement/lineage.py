"""The lineage of a Pinot cluster as its controller reports it now, and which of its entries came from a
start of ours.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from segments.clusters.pinot.calls import odd_answer, quoted, read_object
from segments.domain.replacement.lineage import Entry, Lineage, State
from segments.names import TableName
from segments.services.core.context import Context


def lineage_now(ctx: Context, table: TableName) -> Lineage:
    """Asked of the controller itself, without our notes: where a change of a moment ago is searched for. NotFound: no
    such table.

    An empty answer is a table that never had a replacement; ControllerFault (unexpected) when it is not a lineage.
    """
    path = f"/segments/{quoted(table.raw)}/lineage"
    listed = read_object(ctx, path, {"type": table.type}).get("lineageEntries") or {}
    try:
        return Lineage(table.typed, {i: _entry(i, fields) for i, fields in listed.items()})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise odd_answer(path, f"what is not a lineage ({error!r})") from error


def entry_of_start(
    lineage: Lineage, segments_from: Sequence[str], segments_to: Sequence[str], before: Collection[str]
) -> Entry | None:
    """The entry that a start with these lists made: none of those that were there ``before``, the newest if several
    fit.
    """
    fits = [
        e
        for e in lineage.in_order()
        if e.id not in before
        and sorted(e.segments_from) == sorted(segments_from)
        and sorted(e.segments_to) == sorted(segments_to)
    ]
    return fits[-1] if fits else None


def _entry(entry_id: str, fields: dict[str, Any]) -> Entry:
    old, new = ([str(s) for s in fields.get(key) or []] for key in ("segmentsFrom", "segmentsTo"))
    auto = bool(fields.get("autoCompleteLineageEntry"))
    return Entry(entry_id, tuple(old), tuple(new), State(fields["state"]), int(fields["timestamp"]), auto)
