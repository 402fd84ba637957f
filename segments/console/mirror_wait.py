"""After a change: waits a moment until the mirror, from which most pages are made, shows the table as it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from segments.domain.realtime.pause import pause_of
from segments.domain.tables.secret_masks import mask
from segments.errors import PinotAdminError
from segments.models import LineageEntry, Table
from segments.names import resolve_table
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import observe
from segments.services.tables.stored_documents import config_body
from segments.store import paths

#: Seconds; the mirror usually follows within a tenth of one. A page that comes before it says how old it is, and renews
#: itself.
LONGEST_S: Final = 1.0
_EVERY_S: Final = 0.05


def wait_for_table(cluster: str, typed: str) -> bool:
    """Wait until the mirror has a table that was just made, for a second at most; False when it has not then."""
    return _wait_until(Table.objects.filter(cluster__name=cluster, name=typed).exists)


def wait_for_mirror(ctx: Context, table: Table, tab: str) -> bool:
    """Wait until the mirror has what a tab of the table shows: its entries in their present states, its config, or
    what of it is paused. For a second at most; False when it has not then.
    """
    wait = {
        "lineage": _wait_for_entries, "history": _wait_for_entries, "config": _wait_for_config,
        "ingestion": _wait_for_config, "consumption": _wait_for_pause,
    }.get(tab)  # fmt: skip
    try:
        return wait is None or wait(ctx, table)
    except PinotAdminError:
        return False


def _wait_for_entries(ctx: Context, table: Table) -> bool:
    lineage = observe(ctx, resolve_table(table.name, None)).lineage
    present = {e.id: e.state.value for e in lineage.entries.values()}
    rows = LineageEntry.objects.filter(table=table)
    return _wait_until(lambda: dict(rows.values_list("entry_id", "state")) == present)


def _wait_for_config(ctx: Context, table: Table) -> bool:
    node = ctx.store.get(paths.table_config(table.name))
    if node is None or node.record is None:
        return False
    present, rows = mask(config_body(node.record)), Table.objects.filter(pk=table.pk)
    return _wait_until(lambda: rows.values_list("config", flat=True).first() == present)


def _wait_for_pause(ctx: Context, table: Table) -> bool:
    node = ctx.store.get(paths.ideal_state(table.name))
    if node is None or node.record is None:
        return False
    present, rows = pause_of(node.record).to_json(), Table.objects.filter(pk=table.pk)
    return _wait_until(lambda: rows.values_list("pause", flat=True).first() == present)


def _wait_until(is_there: Callable[[], bool]) -> bool:
    until = time.monotonic() + LONGEST_S
    while not is_there():
        if time.monotonic() > until:
            return False
        threading.Event().wait(_EVERY_S)
    return True
