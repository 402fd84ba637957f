"""The state of every table of every cluster, from the sums that the mirror keeps in its row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from segments.domain.realtime.pause import RESOURCE_UTILIZATION_LIMIT_EXCEEDED
from segments.metrics import tables as metrics
from segments.metrics.exposition import Collector
from segments.metrics.metric_kinds import MOST_TABLES, Family, Gauge
from segments.models import Table
from segments.names import REALTIME

Row = Mapping[str, Any]

_PAUSELESS: Final = "config__ingestionConfig__streamIngestionConfig__pauselessConsumptionEnabled"
_COLUMNS: Final = (
    "cluster__name",
    "name",
    "type",
    "replication",
    "segments_total",
    "segments_visible",
    "replicas_wanted",
    "replicas_online",
    "rows_visible",
    "bytes_total",
    "consuming_segments",
    "segments_short",
    "segments_unserved",
    "segments_in_error",
    "segments_committing",
    "segments_unrecoverable",
    "segments_without_url",
    "pause",
    "is_disabled",
    _PAUSELESS,
)


def existing_tables() -> list[tuple[str, ...]]:
    """(cluster, typed table) of those that have a label of their own."""
    return list(Table.objects.order_by("pk").values_list("cluster__name", "name")[:MOST_TABLES])


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 100.0


def _is_pauseless(row: Row) -> bool:
    return str(row[_PAUSELESS]).lower() == "true"


def _is_paused_by_disks(pause: Mapping[str, Any]) -> bool:
    return bool(pause.get("paused")) and pause.get("reasonCode") == RESOURCE_UTILIZATION_LIMIT_EXCEEDED


_OF_ALL: Final[tuple[tuple[Gauge, Callable[[Row], float]], ...]] = (
    (metrics.SEGMENT_COUNT, lambda row: row["segments_visible"]),
    (metrics.SEGMENT_COUNT_ALL, lambda row: row["segments_total"]),
    (metrics.IN_ERROR, lambda row: row["segments_in_error"]),
    (metrics.WITH_LESS_REPLICAS, lambda row: row["segments_short"]),
    (metrics.UNAVAILABLE, lambda row: row["segments_unserved"]),
    (
        metrics.PERCENT_AVAILABLE,
        lambda row: _percent(row["segments_total"] - row["segments_unserved"], row["segments_total"]),
    ),
    (metrics.PERCENT_OF_REPLICAS, lambda row: _percent(row["replicas_online"], row["replicas_wanted"])),
    (metrics.REPLICATION, lambda row: row["replication"]),
    (metrics.SIZE, lambda row: row["bytes_total"]),
    (metrics.ROWS, lambda row: row["rows_visible"]),
    (metrics.MISSING_URL, lambda row: row["segments_without_url"]),
    (metrics.DISABLED, lambda row: row["is_disabled"]),
)
_OF_REALTIME: Final[tuple[tuple[Gauge, Callable[[Row], float]], ...]] = (
    (metrics.CONSUMING_SEGMENTS, lambda row: row["consuming_segments"]),
    (metrics.COMMITTING_SEGMENTS, lambda row: row["segments_committing"]),
    (metrics.PAUSELESS_IN_ERROR, lambda row: row["segments_in_error"] if _is_pauseless(row) else 0),
    (metrics.PAUSELESS_UNRECOVERABLE, lambda row: row["segments_unrecoverable"]),
    (metrics.PAUSED, lambda row: bool((row["pause"] or {}).get("paused"))),
    (metrics.PAUSED_BY_DISKS, lambda row: _is_paused_by_disks(row["pause"] or {})),
    (metrics.PAUSELESS, _is_pauseless),
)


class TableStates(Collector):
    """One query; a line per table and figure."""

    def collect(self) -> Iterator[Family]:
        """Those of consumption for REALTIME tables only."""
        rows = list(Table.objects.order_by("pk").values(*_COLUMNS)[:MOST_TABLES])
        realtime = [row for row in rows if row["type"] == REALTIME]
        for figures, chosen in ((_OF_ALL, rows), (_OF_REALTIME, realtime)):
            for gauge, figure in figures:
                family = gauge.family()
                for row in chosen:
                    family.add_metric([row["cluster__name"], row["name"]], float(figure(row)))
                yield family
