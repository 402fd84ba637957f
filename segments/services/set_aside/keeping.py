"""Takes in what servers report, once for each message whatever number of replicas read it, and within bounds for each
table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.db import transaction
from django.db.models import F, QuerySet, Sum

from segments.domain.formats.moment import moment_at
from segments.domain.formats.storable_text import without_nul
from segments.domain.set_aside import LARGEST_PAYLOAD, Message, Report, Settled, place_of, shown_reason
from segments.errors import InvalidInput
from segments.models import SetAsideCount, SetAsideMessage, SetAsideReplay
from segments.names import REALTIME, TableName
from segments.services.core.context import Context
from segments.services.set_aside.finding import CODE, set_aside_findings
from segments.services.tables.table_record import read_table_config
from segments.services.upkeep.validation import keep_findings

#: Messages of one table that are kept, and bytes of their payloads. The oldest make room for new ones, those that were
#: replayed first.
KEPT_MESSAGES: Final = 10_000
KEPT_BYTES: Final = 64 << 20
#: Rows of one statement: SQLite takes a limited number of values.
_AT_ONCE: Final = 500
_LONGEST_REASON: Final = 1_000


def keep_report(ctx: Context, table: TableName, report: Report) -> int:
    """Keep what a server reports; returns how many messages were not known. The same report again changes nothing.

    Raises NotFound when there is no such table (any more).
    """
    check_table(ctx, table)
    with transaction.atomic():
        SetAsideCount.objects.get_or_create(cluster=ctx.cluster, table_name=table.typed)
        count = SetAsideCount.objects.select_for_update().get(cluster=ctx.cluster, table_name=table.typed)
        if count.last_reports.get(report.server) == report.id:
            return 0
        count.last_reports[report.server] = report.id
        count.dropped_by_servers += max(0, report.dropped)
        kept = of_table(ctx.cluster, table)
        before = kept.count()
        rows = [_row(ctx.cluster, table, m) for m in report.messages]
        SetAsideMessage.objects.bulk_create(rows, batch_size=_AT_ONCE, ignore_conflicts=True)
        fresh = kept.count() - before
        for settled in report.settled:
            _settle(kept, settled)
        count.dropped_oldest += _make_room(kept)
        count.save()
        refresh_finding(ctx.cluster, table)
    return fresh


def refresh_finding(cluster: str, table: TableName) -> None:
    """Open, renew or close the table's finding, without waiting for the next pass."""
    keep_findings(cluster, table.typed, set_aside_findings(cluster, table), owns=lambda code: code == CODE)


def check_table(ctx: Context, table: TableName) -> None:
    """NotFound without such a table; InvalidInput where messages are not kept."""
    read_table_config(ctx, table)
    ctx.engine.consumption.require_set_aside(ctx, table)
    if table.type != REALTIME:
        raise InvalidInput(f"{table} reads no stream.", remedy="Ask for a REALTIME table.")


def of_table(cluster: str, table: TableName) -> QuerySet[SetAsideMessage]:
    """All messages of a table that are kept."""
    return SetAsideMessage.objects.filter(cluster=cluster, table_name=table.typed)


def forget_table(cluster: str, table: TableName) -> None:
    """The table was dropped: another one of its name must not show its messages."""
    of_table(cluster, table).delete()
    SetAsideReplay.objects.filter(cluster=cluster, table_name=table.typed).delete()
    SetAsideCount.objects.filter(cluster=cluster, table_name=table.typed).delete()


def _row(cluster: str, table: TableName, message: Message) -> SetAsideMessage:
    payload = message.payload[:LARGEST_PAYLOAD]
    return SetAsideMessage(
        cluster=cluster, table_name=table.typed, topic=_text(message.topic, 255), partition=max(0, message.partition),
        offset=_text(message.offset, 64), place=place_of(message.offset)[:64], segment=_text(message.segment, 512),
        noticed_at=moment_at(message.noticed_ms), sent_at=moment_at(message.sent_ms) if message.sent_ms > 0 else None,
        # Masked before it is kept: it is searched by people who may not see what the mask hides.
        column=_text(message.column, 255), reason=_text(shown_reason(message.reason, payload), _LONGEST_REASON),
        size=max(message.size, len(payload)), payload=payload, kept_bytes=len(payload),
    )  # fmt: skip


def _settle(kept: QuerySet[SetAsideMessage], settled: Settled) -> None:
    """A message that gave a row when its segment was read again, after a change of the schema say, is not set aside any
    more.
    """
    if settled.offsets is None:
        return
    bad = set(settled.offsets)
    ranged = kept.filter(
        topic=settled.topic,
        partition=settled.partition,
        place__gte=place_of(settled.start),
        place__lt=place_of(settled.end),
        replay=None,
    )
    _delete(kept, [pk for pk, offset in ranged.values_list("pk", "offset") if offset not in bad])


def _make_room(kept: QuerySet[SetAsideMessage]) -> int:
    """Delete what is beyond the bounds; returns how many of these nobody had replayed."""
    total, size = kept.count(), kept.aggregate(bytes=Sum("kept_bytes"))["bytes"] or 0
    if total <= KEPT_MESSAGES and size <= KEPT_BYTES:
        return 0
    gone: list[int] = []
    unreplayed = 0
    removable = kept.exclude(replay__state=SetAsideReplay.State.RUNNING).order_by(
        F("replay").asc(nulls_last=True), "pk"
    )
    for pk, replay, each in removable.values_list("pk", "replay", "kept_bytes").iterator():
        if total <= KEPT_MESSAGES and size <= KEPT_BYTES:
            break
        gone.append(pk)
        total, size, unreplayed = total - 1, size - each, unreplayed + (replay is None)
    _delete(kept, gone)
    return unreplayed


def _delete(kept: QuerySet[SetAsideMessage], keys: Sequence[int]) -> None:
    for at in range(0, len(keys), _AT_ONCE):
        kept.filter(pk__in=keys[at : at + _AT_ONCE]).delete()


def _text(value: str, longest: int) -> str:
    """Without what databases cannot hold."""
    return without_nul(value).encode("utf-8", "replace").decode()[:longest]
