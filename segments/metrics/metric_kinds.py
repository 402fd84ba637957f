"""The kinds of metrics: a counter and a histogram that code records, a gauge that is read when somebody asks.

All of them are made of prometheus_client's. Recording takes a microsecond, needs no lock of ours and never fails.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

#: Control-plane processes of one machine share their values through files in this folder (``shared_values``).
SHARED_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
if os.environ.get(SHARED_FOLDER):
    Path(os.environ[SHARED_FOLDER]).mkdir(parents=True, exist_ok=True, mode=0o700)

# after the folder is there: the library decides by the variable where values are kept
import prometheus_client  # noqa: E402
from prometheus_client import CollectorRegistry  # noqa: E402
from prometheus_client.core import GaugeMetricFamily  # noqa: E402
from prometheus_client.core import Metric as Family  # noqa: E402

from segments.metrics.private_file import keep_values_private  # noqa: E402

__all__ = ["Counter", "Family", "Gauge", "Histogram", "Metric"]

keep_values_private()
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call] # the library lacks the annotation

PREFIX: Final = "pinotadmin_"
#: The label of what concerns tables beyond the first ``MOST_TABLES`` of a process, and tables that are gone.
OTHER: Final = "other"
MOST_TABLES: Final = 2_000
#: The label that names a table, with its type, and before it that of its cluster: servers belong to one, the others
#: drive several.
TABLE: Final = "table"
CLUSTER: Final = "cluster"
OF_TABLE: Final = (CLUSTER, TABLE)

#: Who shows a metric.
WEB, SERVER, MIRROR, WORKER = "web", "server", "mirror", "worker"
#: Processes whose values the web process and the mirror show together.
CONTROL: Final = (WEB, MIRROR, WORKER)

#: Where counters and histograms of this process are.
RECORDED: Final = CollectorRegistry(auto_describe=True)
#: Every declared metric by its name, in the order of declaration.
DECLARED: dict[str, Metric] = {}

#: Seconds, from a quick step to a commit that hangs.
SECONDS: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)

_tables: set[str] = set()


@dataclass(frozen=True, eq=False)
class Metric:
    """``name`` without prefix and without Prometheus' ending; ``text`` for people. ``pinot``: what it is called in
    Pinot and in its documents. ``shown_by``: the kinds of process that record or compute it.
    """

    name: str
    text: str
    labels: tuple[str, ...] = (TABLE,)
    pinot: tuple[str, ...] = ()
    shown_by: tuple[str, ...] = (WEB, WORKER)
    realtime_only: bool = False

    def __post_init__(self) -> None:
        if self.full_name in DECLARED:
            raise ValueError(f"Metric {self.full_name} is declared twice.")
        DECLARED[self.full_name] = self

    @property
    def full_name(self) -> str:
        """As Prometheus shows it."""
        return PREFIX + self.name

    @property
    def help(self) -> str:
        """The line of HELP: the text, and the names by which people who come from Pinot search for it."""
        return f"{self.text} (Pinot: {', '.join(self.pinot)})" if self.pinot else self.text

    @property
    def kind(self) -> str:
        """counter, gauge or histogram."""
        raise NotImplementedError

    def bounded(self, labels: Sequence[str]) -> tuple[str, ...]:
        """The values with a table beyond the most that have a label of their own as ``OTHER``."""
        return tuple(
            bounded_table(value) if name == TABLE else value for name, value in zip(self.labels, labels, strict=True)
        )


@dataclass(frozen=True, eq=False)
class Counter(Metric):
    """Only grows."""

    _counter: prometheus_client.Counter = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        made = prometheus_client.Counter(PREFIX + self.name, self.help, self.labels, registry=RECORDED)
        object.__setattr__(self, "_counter", made)

    @property
    def full_name(self) -> str:
        """With the ending of counters."""
        return f"{PREFIX}{self.name}_total"

    @property
    def kind(self) -> str:
        """counter"""
        return "counter"

    def add(self, *labels: str, by: float = 1.0) -> None:
        """Count; the values of ``labels`` in the order of their declaration, a table with its type."""
        if by:
            (self._counter.labels(*self.bounded(labels)) if self.labels else self._counter).inc(by)


@dataclass(frozen=True, eq=False)
class Histogram(Metric):
    """How long something took, in seconds, or how large it was."""

    buckets: tuple[float, ...] = SECONDS
    _histogram: prometheus_client.Histogram = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        made = prometheus_client.Histogram(
            self.full_name, self.help, self.labels, buckets=self.buckets, registry=RECORDED
        )
        object.__setattr__(self, "_histogram", made)

    @property
    def kind(self) -> str:
        """histogram"""
        return "histogram"

    def observe(self, amount: float, *labels: str) -> None:
        """One more of this size."""
        (self._histogram.labels(*self.bounded(labels)) if self.labels else self._histogram).observe(amount)

    @contextmanager
    def timed(self, *labels: str) -> Iterator[None]:
        """The seconds of the block, also when it raises."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.observe(time.perf_counter() - began, *labels)


@dataclass(frozen=True, eq=False)
class Gauge(Metric):
    """A state of the moment, computed by a collector when it is scraped; no process keeps it."""

    shown_by: tuple[str, ...] = (WEB,)

    @property
    def kind(self) -> str:
        """gauge"""
        return "gauge"

    def family(self) -> GaugeMetricFamily:
        """An empty family for ``add_metric(labels, value)``."""
        return GaugeMetricFamily(self.full_name, self.help, labels=self.labels)


def bounded_table(table: str) -> str:
    """The table, or ``OTHER`` when this process has met ``MOST_TABLES`` others before."""
    if table in _tables:
        return table
    if len(_tables) >= MOST_TABLES:
        return OTHER
    _tables.add(table)
    return table
