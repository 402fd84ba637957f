"""Replacements under way and done, from the mirror's rows."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count, Min, Q
from django.utils import timezone

from segments.domain.replacement.lineage import State
from segments.metrics import replacement as metrics
from segments.metrics.exposition import Collector
from segments.metrics.metric_kinds import Family
from segments.models import LineageEntry


class LineageStates(Collector):
    """Entries by state, and the age of the oldest one in progress; tables without entries have no line."""

    def collect(self) -> Iterator[Family]:
        """One query: the database counts."""
        counts, oldest = metrics.ENTRIES.family(), metrics.OLDEST_IN_PROGRESS.family()
        now_ms = timezone.now().timestamp() * 1000
        rows = LineageEntry.objects.order_by().values_list("table__cluster__name", "table__name", "state")
        running = Min("timestamp_ms", filter=Q(state=State.IN_PROGRESS))
        for cluster, table, state, count, since_ms in rows.annotate(count=Count("pk"), since=running):
            counts.add_metric([cluster, table, state], count)
            if since_ms is not None:
                oldest.add_metric([cluster, table], max(0.0, (now_ms - since_ms) / 1000))
        yield from (counts, oldest)
