"""How far partitions are behind, from the samples of the last minutes, and which ones nothing consumes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from django.db.models import Count, Max, Q
from django.utils import timezone

from segments.metrics import consumption as metrics
from segments.metrics.exposition import Collector
from segments.metrics.metric_kinds import MOST_TABLES, Family
from segments.models import LagSample, Segment, Table
from segments.names import REALTIME

#: Samples are taken once a minute; older ones say nothing of now.
_FRESH: Final = timedelta(minutes=3)
#: Partitions of all tables that are shown.
_MOST: Final = 10_000


class PartitionLags(Collector):
    """The newest sample of each partition."""

    def collect(self) -> Iterator[Family]:
        """What is not known has no line."""
        messages, seconds = metrics.MAX_RECORDS_LAG.family(), metrics.MAX_AVAILABILITY_LAG.family()
        rows = LagSample.objects.filter(at__gte=timezone.now() - _FRESH).order_by("-at")
        columns = ("table__cluster__name", "table__name", "partition", "messages", "behind_ms")
        newest: dict[tuple[str, str, str], tuple[int | None, int | None]] = {}
        for cluster, table, partition, count, behind_ms in rows.values_list(*columns)[: 4 * _MOST]:
            if len(newest) < _MOST:
                newest.setdefault((cluster, table, str(partition)), (count, behind_ms))
        for labels, (count, behind_ms) in newest.items():
            if count is not None:
                messages.add_metric(labels, count)
            if behind_ms is not None:
                seconds.add_metric(labels, behind_ms / 1000)
        yield from (messages, seconds)


class MissingConsumers(Collector):
    """Partitions whose newest segment is committed, by table; counted in an index, not in rows."""

    def collect(self) -> Iterator[Family]:
        """0 for a paused table: nothing is to consume there."""
        family, longest = metrics.MISSING_CONSUMING.family(), metrics.MISSING_LONGEST.family()
        consuming = Count("partition", distinct=True, filter=Q(is_consuming=True))
        counted = Segment.objects.filter(table__type=REALTIME, partition__isnull=False).order_by().values("table_id")
        missing = {
            row["table_id"]: row["known"] - row["consumed"]
            for row in counted.annotate(known=Count("partition", distinct=True), consumed=consuming)
        }
        tables = Table.objects.filter(type=REALTIME).order_by("pk").values_list("pk", "cluster__name", "name", "pause")
        rows = [(pk, cluster, name, (pause or {}).get("paused")) for pk, cluster, name, pause in tables[:MOST_TABLES]]
        since = _last_created([pk for pk, _, _, is_paused in rows if missing.get(pk) and not is_paused])
        now_ms = timezone.now().timestamp() * 1000
        for pk, cluster, name, is_paused in rows:
            family.add_metric([cluster, name], 0 if is_paused else missing.get(pk, 0))
            longest.add_metric([cluster, name], max(0.0, now_ms - since[pk]) / 1000 if pk in since else 0)
        yield from (family, longest)


def _last_created(tables: Sequence[int]) -> dict[int, int]:
    """{table: when the last segment of a partition was created that nothing consumes, the earliest of them, in epoch
    milliseconds}; one query, none where nothing is missing.
    """
    if not tables:
        return {}
    partitions = Segment.objects.filter(table__in=tables, partition__isnull=False).order_by()
    counted = partitions.values("table_id", "partition").annotate(
        created=Max("creation_ms"), consumed=Count("pk", filter=Q(is_consuming=True))
    )
    found: dict[int, int] = {}
    for row in counted.filter(consumed=0, created__isnull=False):
        found[row["table_id"]] = min(row["created"], found.get(row["table_id"], row["created"]))
    return found
