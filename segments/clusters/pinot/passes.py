"""Which periodic passes the controllers of a real Pinot run themselves: those are only started from here."""

from __future__ import annotations

from typing import Any, Final

from segments.clusters.pinot.calls import controller, refusals_translated
from segments.errors import Unavailable
from segments.models import LineageEntry
from segments.names import TableName
from segments.services.core import audit
from segments.services.core.context import Actor, Context
from segments.store import paths

#: Pinot's controller does what these do; doing it from here too would delete and repair under its hands.
OF_PINOT: Final = frozenset({"RetentionManager", "RealtimeSegmentValidationManager"})


def ask_pinot(ctx: Context, name: str, table: TableName | None) -> list[str]:
    """Have Pinot's controllers run their own pass now; returns at once, their logs say what they did."""
    params = {"taskname": name, "tableName": table.raw if table else None, "type": table.type if table else None}
    with refusals_translated():
        answer = controller(ctx).send("GET", "/periodictask/run", params)
    where = f" over {table}" if table else ""
    if isinstance(answer, dict) and answer.get("Controllers notified") is False:
        raise Unavailable(
            f"No controller of cluster '{ctx.cluster}' took up {name}{where}.", remedy="Check that one is the leader."
        )
    request = answer.get("Log Request Id") if isinstance(answer, dict) else None
    known = f" (request {request} in their logs)" if request else ""
    return [f"Pinot's own controllers were asked to run {name}{where}{known}."]


def run_of_pinot(ctx: Context, name: str, table: str | None, table_type: str | None, *, actor: Actor) -> Any:
    """Start any pass of Pinot's controllers, for versions that take no POST; their answer. NotFound for a name that is
    none.
    """
    target = f"{table or ''}{f' {table_type}' if table_type else ''}"
    with refusals_translated():
        answer = controller(ctx).send(
            "GET", "/periodictask/run", {"taskname": name, "tableName": table, "type": table_type}
        )
    audit.record(actor, f"start {name}", cluster=ctx.cluster, target=target)
    return answer


def tables_with_open_entries(ctx: Context) -> list[str]:
    """Tables with an unfinished replacement as the mirror has them, or with a start of ours that may have become one.

    Searching Pinot for them every few seconds would cost its controller too much.
    """
    rows = LineageEntry.objects.filter(table__cluster__name=ctx.cluster, state="IN_PROGRESS")
    return sorted({*rows.values_list("table__name", flat=True), *ctx.store.children(paths.STARTS)})
