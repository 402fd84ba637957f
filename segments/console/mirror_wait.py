"""After a change: waits a moment until the mirror, from which most pages are made, shows the lineage as it is."""

from __future__ import annotations

import threading
import time
from typing import Final

from segments.errors import PinotAdminError
from segments.models import LineageEntry, Table
from segments.names import resolve_table
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import observe

#: Seconds; the mirror usually follows within a tenth of one. A page that comes before it says how old it is, and renews
#: itself.
LONGEST_S: Final = 1.0
_EVERY_S: Final = 0.05


def wait_for_table(cluster: str, typed: str) -> bool:
    """Wait until the mirror has a table that was just made, for a second at most; False when it has not then."""
    until = time.monotonic() + LONGEST_S
    while not Table.objects.filter(cluster__name=cluster, name=typed).exists():
        if time.monotonic() > until:
            return False
        threading.Event().wait(_EVERY_S)
    return True


def wait_for_mirror(ctx: Context, table: Table) -> bool:
    """Wait until the mirror has the table's entries in their present states, for a second at most; False when it has
    not then.
    """
    until = time.monotonic() + LONGEST_S
    try:
        lineage = observe(ctx, resolve_table(table.name, None)).lineage
    except PinotAdminError:
        return False
    present = {e.id: e.state.value for e in lineage.entries.values()}
    while dict(LineageEntry.objects.filter(table=table).values_list("entry_id", "state")) != present:
        if time.monotonic() > until:
            return False
        threading.Event().wait(_EVERY_S)
    return True
