"""What a table's findings say of messages that were set aside: how many wait, and how many were not even kept."""

from __future__ import annotations

from typing import Final

from segments.domain.formats.plural import counted
from segments.domain.upkeep.findings import Found
from segments.models import SetAsideCount, SetAsideMessage
from segments.names import TableName

CODE: Final = "messages-set-aside"
#: Partitions that are named.
_NAMED: Final = 10


def set_aside_findings(cluster: str, table: TableName) -> list[Found]:
    """One finding while messages wait to be replayed or deleted, or while nobody has taken note of those that were not
    kept.
    """
    waiting = SetAsideMessage.objects.filter(cluster=cluster, table_name=table.typed, replay=None)
    lost = SetAsideCount.objects.filter(cluster=cluster, table_name=table.typed).first()
    count, dropped = waiting.count(), (lost.dropped_by_servers + lost.dropped_oldest if lost else 0)
    if not count and not dropped:
        return []
    partitions = list(waiting.order_by("partition").values_list("partition", flat=True).distinct()[: _NAMED + 1])
    named = ", ".join(map(str, partitions[:_NAMED])) + (" and others" if len(partitions) > _NAMED else "")
    where = f" (partition{'s' if len(partitions) > 1 else ''} {named})" if partitions else ""
    more = f" {dropped:,} more were too many to keep." if dropped else ""
    what = f"{counted(count, 'message')} of the stream gave no row and {'wait' if count != 1 else 'waits'}"
    return [Found(CODE, "", "warning", f"{what} to be replayed or deleted{where}.{more}")]
