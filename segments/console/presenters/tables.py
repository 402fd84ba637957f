"""Rows of the table list and the head of a table's pages."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.db.models import Case, Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from segments.console.listing import Listing, cut
from segments.console.presenters.badges import Mark, mark, replicas_mark
from segments.models import Finding, LineageEntry, Push, Segment, Table
from segments.services.access.read_rights import readable_rows

#: Seconds that servers may take to begin with the first segments of a table.
_STARTS_S: Final = 60

STARTING: Final = Mark("starting", "idle", "dot")


@dataclass(frozen=True)
class TableRow:
    """One table with everything the list shows."""

    table: Table
    health: Mark
    replicas: Mark
    errors: int
    warnings: int
    last_push: Mark | None
    last_push_at: datetime | None
    last_push_id: Any
    snapshot_at: datetime | None


def table_row(pk: int) -> TableRow | None:
    """One table; None when it is there no more."""
    found = _annotated().filter(pk=pk).first()
    return None if found is None else _row(found)


def table_page(search: str, number: int, *, cluster: str, reader: Any) -> Listing[TableRow]:
    """A page of the cluster's tables whose name contains ``search`` and which ``reader`` may read, those in trouble
    first. What the list shows is read of the page's tables only.
    """
    query = readable_rows(Table.objects.filter(cluster__name=cluster), reader, cluster="cluster__name", table="name")
    if search:
        query = query.filter(name__icontains=search)
    listing = cut(query.annotate(rank=_rank()).order_by("rank", "name").only("pk"), number)
    rows = _annotated().filter(pk__in=[table.pk for table in listing.rows])
    return Listing([_row(t) for t in rows], listing.number, listing.has_next, listing.total, listing.is_capped)


def _findings() -> QuerySet[Finding]:
    return Finding.objects.filter(
        cluster=OuterRef("cluster__name"), table_name=OuterRef("name"), closed_at=None
    ).order_by()


def _starts() -> Q:
    """It has nothing but segments that are about to consume, and for a short while only."""
    older = Segment.objects.filter(table=OuterRef("pk"), creation_ms__lt=(time.time() - _STARTS_S) * 1000)
    # The subquery comes last: it runs only for the few tables that the columns leave.
    return Q(replicas_online=0, segments_total__gt=0, consuming_segments=F("segments_total")) & Q(~Exists(older))


def _rank() -> Case:
    """0: it needs help, 1: it is degraded, 2: all is well, 3: it starts."""
    errors, warnings = (Exists(_findings().filter(severity=severity)) for severity in ("error", "warning"))
    down, less = Q(replicas_wanted__gt=0, replicas_online=0), Q(replicas_online__lt=F("replicas_wanted"))
    return Case(
        When(errors, then=Value(0)),
        When(_starts(), then=Value(3)),
        When(down, then=Value(0)),
        When(warnings | less, then=Value(1)),
        default=Value(2),
    )


def _annotated() -> QuerySet[Table, Any]:
    findings = _findings()
    pushes = Push.objects.filter(cluster=OuterRef("cluster__name"), table_name=OuterRef("raw_name")).order_by(
        "-created_at"
    )
    snapshot = LineageEntry.objects.filter(table=OuterRef("pk"), state="COMPLETED").order_by("-timestamp_ms")

    def count(severity: str) -> Coalesce:
        counted = findings.filter(severity=severity).values("table_name").annotate(n=Count("pk")).values("n")
        return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))

    return (
        Table.objects.select_related("cluster")
        .annotate(
            errors=count("error"),
            warnings=count("warning"),
            last_push_id=Subquery(pushes.values("pk")[:1]),
            last_push_state=Subquery(pushes.values("state")[:1]),
            last_push_at=Subquery(pushes.values("created_at")[:1]),
            snapshot_ms=Subquery(snapshot.values("timestamp_ms")[:1]),
            rank=_rank(),
        )
        .order_by("rank", "name")
    )


def _row(table: Any) -> TableRow:
    return TableRow(
        table=table,
        health=_health(table),
        replicas=STARTING if table.rank == 3 else replicas_mark(table.replicas_online, table.replicas_wanted),
        errors=table.errors,
        warnings=table.warnings,
        last_push=mark(table.last_push_state) if table.last_push_state else None,
        last_push_at=table.last_push_at,
        last_push_id=table.last_push_id,
        snapshot_at=datetime.fromtimestamp(table.snapshot_ms / 1000, UTC) if table.snapshot_ms else None,
    )


def _health(table: Any) -> Mark:
    if table.rank == 0:
        return Mark("needs help", "bad", "cross")
    if table.rank == 1:
        return Mark("degraded", "warn", "alert")
    if table.rank == 3:
        return STARTING
    return Mark("healthy", "ok", "check") if table.segments_total else Mark("empty", "idle", "dot")


def schema_columns(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Columns of a Pinot schema in its order: name, kind, type, single or multi value."""
    kinds = (("dimensionFieldSpecs", "dimension"), ("metricFieldSpecs", "metric"), ("dateTimeFieldSpecs", "date time"))
    columns = []
    for key, kind in kinds:
        for spec in schema.get(key) or []:
            is_multi = spec.get("singleValueField") is False
            columns.append(
                {
                    "name": spec.get("name"),
                    "kind": kind,
                    "type": spec.get("dataType"),
                    "is_multi": is_multi,
                    "format": spec.get("format"),
                }
            )
    return columns
