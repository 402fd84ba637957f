"""What became of a push since it was done: its page says what queries see now, not what they saw then; and which pages
there are of it.
"""

from __future__ import annotations

from collections.abc import Callable

from segments.domain.formats.plural import counted
from segments.domain.replacement.lineage import State
from segments.errors import NotFound, PinotAdminError
from segments.models import LineageEntry, Push, Table
from segments.names import OFFLINE, TableName
from segments.services.core.context import Context
from segments.services.replacement.lineage_record import observe


def table_of(push: Push) -> Table | None:
    """The row of its table; None when there is none, any more or yet."""
    return Table.objects.filter(cluster__name=push.cluster, name=TableName(push.table_name, OFFLINE).typed).first()


def entry_of(push: Push, table: Table | None) -> LineageEntry | None:
    """The row of its replacement; None when it began none, or retention has dropped it since."""
    return (
        LineageEntry.objects.filter(table=table, entry_id=push.entry_id).first()
        if table is not None and push.entry_id
        else None
    )


def fate(context_of: Callable[[str], Context], push: Push) -> str:
    """One sentence about a push that is DONE, by what the lineage says at this moment."""
    try:
        seen = observe(context_of(push.cluster), TableName(push.table_name, OFFLINE))
    except NotFound:
        return "It was done; its table is not there any more."
    except PinotAdminError:
        return "It was done; what queries see of it now is not known, because the cluster does not answer."
    entry = seen.lineage.entries.get(push.entry_id)
    if entry is not None and entry.state is State.REVERTED:
        return "It was done and taken back since: queries do not see its rows."
    names = set(push.segments.values_list("name", flat=True)) or set(entry.segments_to if entry else ())
    shown = len(names.intersection(seen.lineage.visible(seen.ideal.maps)))
    if shown == len(names):
        return (
            "Queries see the new snapshot."
            if push.plan.get("replaces")
            else f"Queries see its {counted(shown, 'segment')}."
        )
    if shown:
        return (
            f"It was done; queries see {shown} of its {len(names)} segments, the others were replaced or removed since."
        )
    return "It was done; queries see none of its segments any more: they were replaced or removed since."
