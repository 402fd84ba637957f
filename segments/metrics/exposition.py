"""Prometheus' text form of what was recorded and of what collectors compute.

A table has a label of its own only while it exists; what was recorded of others is in ``other``. Counters of a table
that exists begin at 0, so that their first event is an increase.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from segments.metrics.catalog import METRICS
from segments.metrics.metric_kinds import (
    OF_TABLE,
    OTHER,
    RECORDED,
    SHARED_FOLDER,
    TABLE,
    Counter,
    Family,
    Gauge,
    Metric,
)
from segments.metrics.shared_folder import reading
from segments.names import REALTIME, split_table_name

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
#: The values of ``cluster`` and ``table``, or of ``table`` alone on a server, of every table that exists.
Tables = Callable[[], Collection[tuple[str, ...]]]


__all__ = ["CONTENT_TYPE", "Collector", "RecordedValues", "Tables", "render"]


def render(*collectors: Collector) -> bytes:
    """All of them as one page, in this order, and behind them what Python and the system know of this process."""
    registry = CollectorRegistry(auto_describe=False)
    for collector in collectors:
        registry.register(collector)
    return generate_latest(registry) + generate_latest()


class RecordedValues(Collector):
    """Counters and histograms that processes of these kinds record: of this process, or where processes share a folder
    of all of them.
    """

    def __init__(self, processes: Iterable[str], tables: Tables) -> None:
        self._processes, self._tables = frozenset(processes), tables

    def collect(self) -> Iterator[Family]:
        """Every declared one, also those that nothing was recorded of."""
        found = {family.name: family for family in _recorded()}
        tables = frozenset(self._tables())
        for metric in METRICS:
            if not isinstance(metric, Gauge) and self._processes.intersection(metric.shown_by):
                yield _shown(metric, found.get(metric.full_name.removesuffix("_total")), tables)

    def describe(self) -> Iterator[Family]:
        """Nothing: names are checked where they are declared."""
        return iter(())


def _recorded() -> list[Family]:
    folder = os.environ.get(SHARED_FOLDER)
    if not folder:
        return list(RECORDED.collect())
    with reading(Path(folder)):
        shared = MultiProcessCollector(None, folder)  # type: ignore[no-untyped-call] # the library lacks the annotation
        return list(shared.collect())  # type: ignore[no-untyped-call]


def _shown(metric: Metric, family: Family | None, tables: frozenset[tuple[str, ...]]) -> Family:
    """The family with tables that are gone added up, and zeros of those that nothing happened to."""
    shown = Family(metric.full_name.removesuffix("_total"), metric.help, metric.kind)
    sums: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    of = [name for name in OF_TABLE if name in metric.labels]
    if isinstance(metric, Counter) and metric.labels in ((TABLE,), OF_TABLE):
        for values in sorted(tables):
            if not metric.realtime_only or split_table_name(values[-1])[1] == REALTIME:
                sums[metric.full_name, tuple(zip(of, values, strict=True))] = 0.0
    for sample in family.samples if family else ():
        labels = dict(sample.labels)
        if TABLE in labels and tuple(labels[name] for name in of) not in tables:
            labels[TABLE] = OTHER
        key = sample.name, tuple(sorted(labels.items()))
        sums[key] = sums.get(key, 0.0) + sample.value
    for (name, pairs), value in sums.items():
        shown.add_sample(name, dict(pairs), value)
    return shown
