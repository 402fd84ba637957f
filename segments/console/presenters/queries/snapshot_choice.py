"""The snapshots that a query can be asked as of: of the one table that it reads, newest first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from django.http import HttpRequest
from django.utils.timezone import localtime

from segments.console.cluster_address import cluster_of, ctx_of
from segments.domain.formats.plural import counted
from segments.errors import PinotAdminError
from segments.models import LineageEntry, Snapshot
from segments.services.access.query_rights import require_query_rights
from segments.services.core.page_addresses import default_cluster
from segments.services.replacement.history.as_of import snapshot_named, table_read
from segments.services.replacement.history.snapshots import history_of
from segments.services.replacement.history.standing import standings

#: Snapshots that are offered; older ones are reached from the page History.
_MOST: Final = 50
_READABLE: Final = ("present", "grown", "served", "kept", "unknown")


@dataclass(frozen=True)
class SnapshotChoice:
    """``options``: (name, words) of what can be chosen; ``chosen`` and ``against``: what is. ``text``: the snapshot
    that the query itself names. ``why``: why there is nothing to choose. ``is_read``: False where nobody has asked
    for them yet.
    """

    options: list[tuple[str, str]] = field(default_factory=list)
    chosen: str = ""
    against: str = ""
    text: str = ""
    why: str = ""
    is_read: bool = True


def unread_choice(sql: str) -> SnapshotChoice:
    """What is known without reading anything: the page reads the rest when somebody opens the choice."""
    return SnapshotChoice(text=snapshot_named(sql, {}), is_read=False)


def snapshot_choice(request: HttpRequest, sql: str, chosen: str = "", against: str = "") -> SnapshotChoice:
    """What can be chosen for this query by who may read its table."""
    if not sql.strip():
        return SnapshotChoice(why="Write a query of one table first.")
    try:
        cluster = cluster_of(request)
        require_query_rights(request.user, cluster, sql, {}, is_foreign=cluster != default_cluster())
        ctx = ctx_of(request)
        table = table_read(ctx, sql)
        rows = list(history_of(ctx, table)[:_MOST])
    except PinotAdminError as error:
        return SnapshotChoice(chosen=chosen, against=against, why=error.message)
    running = LineageEntry.objects.filter(
        table__cluster__name=cluster, table__name=table.typed, state="IN_PROGRESS"
    ).order_by("-timestamp_ms")
    hidden = [(f"{e.entry_id}:to", f"not switched yet: {counted(len(e.segments_to), 'segment')}") for e in running[:5]]
    left = standings(ctx, table, [r.number for r in rows])
    is_readable = {n: found.state in _READABLE for n, found in left.items()}
    offered = [(str(r.number), _words(r)) for r in rows if is_readable.get(r.number, True)]
    found = hidden + offered
    known = {name for name, _ in found}
    found += [(name, name) for name in dict.fromkeys((chosen, against)) if name and name not in known | {"current"}]
    why = "" if found else f"Table {table.typed} has no snapshot yet."
    return SnapshotChoice(found, chosen, against, snapshot_named(sql, {}), why)


def _words(row: Snapshot) -> str:
    who = f", by {row.actor}" if row.actor else ""
    return f"{row.number}: {localtime(row.at):%Y-%m-%d %H:%M}, {counted(row.rows, 'row')}{who}"
