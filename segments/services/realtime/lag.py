"""How far each partition of a realtime table is behind its stream, as servers report it, and the samples of a day.

A partition's lag is that of its best replica for queries (they stay with one replica), shown next to the worst; the
history keeps the worst.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Count, F, Max, Min

from segments.domain.realtime.llc_name import is_llc_name, parse_llc_name
from segments.errors import NotFound
from segments.models import LagSample, Table
from segments.names import TableName
from segments.services.core.context import Context
from segments.services.realtime.consuming_info import consuming_segments_info

KEPT: Final = timedelta(hours=24)
#: A partition that does not move for so long although messages wait is stuck; samples in it that are wanted for that,
#: one a minute.
STILL_FOR: Final = timedelta(minutes=15)
_SAMPLES_OF_STILL: Final = 10


@dataclass(frozen=True)
class Replica:
    """What one server reports of a consuming segment. None: it is not known. ``behind_ms`` 0 when nothing is left to
    consume.
    """

    server: str
    is_consuming: bool
    offset: str
    messages: int | None
    behind_ms: int | None
    last_consumed_ms: int | None


@dataclass(frozen=True)
class PartitionLag:
    """One partition's consuming segment and its replicas."""

    partition: int
    segment: str
    replicas: tuple[Replica, ...]

    @property
    def messages(self) -> int | None:
        """Messages that the slowest replica has not consumed; None when no replica reports it."""
        return max((r.messages for r in self.replicas if r.messages is not None), default=None)

    @property
    def behind_ms(self) -> int | None:
        """Age of the last consumed message on the slowest replica; None when no replica reports it."""
        return max((r.behind_ms for r in self.replicas if r.behind_ms is not None), default=None)

    @property
    def last_consumed_ms(self) -> int | None:
        """When a row was last consumed, by any replica."""
        return max((r.last_consumed_ms for r in self.replicas if r.last_consumed_ms), default=None)

    @property
    def offset(self) -> str:
        """Next offset, of any replica that reports it."""
        return next((r.offset for r in self.replicas if r.offset), "")


def read_lag(ctx: Context, table: TableName) -> list[PartitionLag]:
    """Lag of every consuming segment, as servers report it now, by partition. NotFound when there is no such table."""
    found = []
    for segment, rows in consuming_segments_info(ctx, table)["_segmentToConsumingInfoMap"].items():
        if is_llc_name(segment):
            found.append(PartitionLag(parse_llc_name(segment).partition, segment, tuple(_replica(row) for row in rows)))
    return sorted(found, key=lambda lag: lag.partition)


@dataclass(frozen=True)
class StandingStill:
    """A partition that consumes and did not move in all samples of ``STILL_FOR``, although messages wait."""

    partition: int
    offset: str
    messages: int


def standing_still(ctx: Context, table: TableName) -> list[StandingStill]:
    """Partitions whose offset was the same in every sample of the last while, with messages behind it. One query."""
    now = ctx.now()
    rows = (
        LagSample.objects.filter(
            table__cluster__name=ctx.cluster, table__name=table.typed, at__gt=now - STILL_FOR, at__lte=now
        )
        .order_by()
        .values("partition")
        .annotate(n=Count("pk"), least=Min("offset"), most=Max("offset"), fewest=Min("messages"))
        .filter(n__gte=_SAMPLES_OF_STILL, least=F("most"), fewest__gt=0)
        .exclude(most="")
    )
    return [StandingStill(r["partition"], r["most"], r["fewest"]) for r in rows.order_by("partition")]


def history(table: Table, partition: int, now: datetime) -> list[LagSample]:
    """Samples of the last day, oldest first."""
    return list(LagSample.objects.filter(table=table, partition=partition, at__gte=now - KEPT).order_by("at"))


def lag_json(ctx: Context, table: TableName) -> dict[str, Any]:
    """The document of GET /api/v1/tables/{table}/lag: now, and the samples of the last day per partition."""
    row = Table.objects.filter(cluster__name=ctx.cluster, name=table.typed).first()
    if row is None:
        raise NotFound(f"Table '{table}' does not exist.", remedy="List the tables with GET /tables.")
    now = ctx.now()
    return {
        "table": table.typed,
        "partitions": [_json(lag, history(row, lag.partition, now)) for lag in read_lag(ctx, table)],
    }


def _json(lag: PartitionLag, samples: Iterable[LagSample]) -> dict[str, Any]:
    return {
        "partition": lag.partition,
        "segment": lag.segment,
        "messages": lag.messages,
        "behindMs": lag.behind_ms,
        "offset": lag.offset,
        "lastConsumedMs": lag.last_consumed_ms,
        "replicas": [
            {
                "server": r.server,
                "consuming": r.is_consuming,
                "offset": r.offset,
                "messages": r.messages,
                "behindMs": r.behind_ms,
            }
            for r in lag.replicas
        ],
        "history": [
            {
                "atMs": int(s.at.timestamp() * 1000),
                "messages": s.messages,
                "behindMs": s.behind_ms,
                "rowsPerSecond": s.rows_per_s,
            }
            for s in samples
        ],
    }


def _replica(row: Mapping[str, Any]) -> Replica:
    info = row.get("partitionOffsetInfo") or {}
    return Replica(
        server=str(row.get("serverName", "")),
        is_consuming=row.get("consumerState") == "CONSUMING",
        offset=_only(info.get("currentOffsetsMap")) or _only(row.get("partitionToOffsetMap")),
        messages=_number(_only(info.get("recordsLagMap"))),
        behind_ms=_number(_only(info.get("availabilityLagMsMap"))),
        last_consumed_ms=_number(str(row.get("lastConsumedTimestamp") or "")),
    )


def _only(values: Any) -> str:
    """The one value of a map with one partition."""
    return str(next(iter(values.values()), "")) if isinstance(values, Mapping) else ""


def _number(text: str) -> int | None:
    """Pinot writes NOT_CALCULATED where nothing is known."""
    return max(0, int(text)) if text.lstrip("-").isdigit() else None
