"""Clusters, workers, findings and alerts: the same in every process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from django.db.models import Count
from django.utils import timezone

from segments.domain.jobs.workers.pools import POOLS
from segments.domain.jobs.workers.state import PoolState
from segments.errors import Unavailable
from segments.gateways.worker_status import WorkerStatus
from segments.metrics import installation as metrics
from segments.metrics.exposition import Collector
from segments.metrics.metric_kinds import Family
from segments.models import AlertDelivery, Cluster, Finding


class ClusterStates(Collector):
    """Each Pinot as its row says."""

    def collect(self) -> Iterator[Family]:
        """Up or not, the age of the mirror, and what the mirror asks of the controller."""
        up, age, calls = (one.family() for one in (metrics.CLUSTER_UP, metrics.MIRROR_AGE, metrics.MIRROR_CALLS))
        now = timezone.now()
        for row in Cluster.objects.filter(kind=Cluster.Kind.PINOT):
            up.add_metric([row.name], float(row.state == Cluster.State.UP))
            calls.add_metric([row.name], float(row.calls_per_minute))
            if row.mirrored_at is not None:
                age.add_metric([row.name], (now - row.mirrored_at).total_seconds())
        yield from (up, age, calls)


class WorkerStates(Collector):
    """Each pool of workers. ``states`` reads them."""

    def __init__(self, states: Callable[[], Sequence[PoolState]]) -> None:
        self._states = states

    def collect(self) -> Iterator[Family]:
        """Does it do its work, and how many of its slots are taken?"""
        up, busy = metrics.WORKER_UP.family(), metrics.WORKER_BUSY.family()
        for state in self._states():
            up.add_metric([state.pool.name], float(state.ok))
            busy.add_metric([state.pool.name], float(len(state.running)))
        yield from (up, busy)


class Queues(Collector):
    """What waits in Redis, and beat. ``board`` reads them."""

    def __init__(self, board: WorkerStatus, now_ms: int) -> None:
        self._board, self._now_ms = board, now_ms

    def collect(self) -> Iterator[Family]:
        """Nothing of it while Redis does not answer: a 0 would say that nothing waits."""
        kinds = (metrics.QUEUE_LENGTH, metrics.QUEUE_WAIT, metrics.BEAT_SILENT)
        length, wait, silent = (one.family() for one in kinds)
        try:
            tick = self._board.read_tick()
            found = [(pool.name, *self._board.read_queue(pool.queue)) for pool in POOLS]
        except Unavailable:
            tick, found = None, []
        for name, tasks, since_ms in found:
            length.add_metric([name], float(tasks))
            if tasks == 0 or since_ms is not None:
                wait.add_metric([name], self._seconds(since_ms))
        if tick is not None:
            silent.add_metric([], self._seconds(tick))
        yield from (length, wait, silent)

    def _seconds(self, since_ms: int | None) -> float:
        return 0.0 if since_ms is None else max(0.0, (self._now_ms - since_ms) / 1000)


class FindingCounts(Collector):
    """What is wrong, and whether somebody is notified."""

    def collect(self) -> Iterator[Family]:
        """Open findings by cluster, kind and severity; messages that wait for their receiver, by receiver."""
        found, waiting = metrics.FINDINGS.family(), metrics.ALERTS_WAITING.family()
        still_open = Finding.objects.filter(closed_at=None).order_by()
        for cluster, kind, severity, count in still_open.values_list("cluster", "code", "severity").annotate(
            n=Count("pk")
        ):
            found.add_metric([cluster, kind, severity], float(count))
        messages = AlertDelivery.objects.filter(state=AlertDelivery.State.WAITING).order_by()
        for receiver, count in messages.values_list("webhook__name").annotate(n=Count("pk")):
            waiting.add_metric([receiver or "mail"], float(count))
        yield from (found, waiting)
