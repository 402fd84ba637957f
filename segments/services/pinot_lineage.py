"""The lineage of a Pinot cluster as its controller tells it now, and which of its entries came from a start of ours."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from segments.domain.lineage import Entry, Lineage, State
from segments.errors import RecordCorrupt
from segments.names import TableName
from segments.services.context import Context
from segments.services.pinot_calls import controller, quoted, refusals_told


def lineage_now(ctx: Context, table: TableName) -> Lineage:
    """Asked of the controller itself, without our notes: what a change of a moment ago is looked for in. NotFound: no such table.

    RecordCorrupt when the answer is no lineage.
    """
    with refusals_told(is_change=False):
        body = controller(ctx).get(f"/segments/{quoted(table.raw)}/lineage", {"type": table.type})
    return parse_lineage(table, body)


def parse_lineage(table: TableName, body: Any) -> Lineage:
    """The answer to GET /segments/{table}/lineage; an empty one is a table that never had a replacement."""
    listed = body.get("lineageEntries") or {} if isinstance(body, dict) else {} if body in (None, "") else None
    if not isinstance(listed, dict):
        raise RecordCorrupt(f"Pinot's answer to GET lineage of '{table}' is no lineage.")
    try:
        return Lineage(table.typed, {i: _entry(i, fields) for i, fields in listed.items()})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RecordCorrupt(f"Pinot's answer to GET lineage of '{table}' can not be read: {error!r}.") from error


def entry_of_start(lineage: Lineage, segments_from: Sequence[str], segments_to: Sequence[str], before: Collection[str]) -> Entry | None:
    """The entry that a start with these lists made: none of those that were there ``before``, the newest if several fit."""
    fits = [
        e
        for e in lineage.in_order()
        if e.id not in before and sorted(e.segments_from) == sorted(segments_from) and sorted(e.segments_to) == sorted(segments_to)
    ]
    return fits[-1] if fits else None


def _entry(entry_id: str, fields: dict[str, Any]) -> Entry:
    old, new = ([str(s) for s in fields.get(key) or []] for key in ("segmentsFrom", "segmentsTo"))
    auto = bool(fields.get("autoCompleteLineageEntry"))
    return Entry(entry_id, tuple(old), tuple(new), State(fields["state"]), int(fields["timestamp"]), auto)
