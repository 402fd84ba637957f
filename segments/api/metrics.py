"""/metrics in Prometheus' text form; with credentials unless a setting opens it."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from segments import wiring
from segments.api.base import ApiView
from segments.api.permissions import RightsPermission
from segments.models import Cluster


class OpenOrReader(BasePermission):
    """Everybody when metrics are open, else any active user."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """May this one read the metrics?"""
        return wiring.is_metrics_open() or RightsPermission().has_permission(request, view)


class ClusterStates(Collector):
    """Each Pinot as its row tells: the same in every process."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Up or not, the age of the mirror, and what the mirror asks of the controller."""
        up = GaugeMetricFamily("pinotadmin_cluster_up", "1 when the controller of a Pinot answers as it should.", labels=["cluster"])
        age = GaugeMetricFamily("pinotadmin_cluster_mirror_age_seconds", "Age of what is shown of a Pinot cluster.", labels=["cluster"])
        calls = GaugeMetricFamily(
            "pinotadmin_cluster_mirror_calls", "Requests of the mirror to its controller a minute.", labels=["cluster"]
        )
        now = timezone.now()
        for row in Cluster.objects.filter(kind=Cluster.Kind.PINOT):
            up.add_metric([row.name], float(row.state == Cluster.State.UP))
            calls.add_metric([row.name], float(row.calls_per_minute))
            if row.mirrored_at is not None:
                age.add_metric([row.name], (now - row.mirrored_at).total_seconds())
        yield from (up, age, calls)


class WorkerStates(Collector):
    """Each pool of workers: the same in every process."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Does it do its work, and how many of its slots are taken?"""
        up = GaugeMetricFamily("pinotadmin_worker_up", "1 when the pool of workers does its work.", labels=["pool"])
        busy = GaugeMetricFamily("pinotadmin_worker_busy_slots", "Tasks that the pool is at.", labels=["pool"])
        for state in wiring.worker_states():
            up.add_metric([state.pool.name], float(state.ok))
            busy.add_metric([state.pool.name], float(len(state.running)))
        yield from (up, busy)


_shared = CollectorRegistry()
_shared.register(ClusterStates())
_shared.register(WorkerStates())


class Metrics(ApiView):
    """Counters and timings of this process, the state of every Pinot cluster and of every pool of workers."""

    answers = {"GET": {200: "text"}}

    permission_classes = (OpenOrReader,)

    def get(self, request: Request) -> HttpResponse:
        """Prometheus' text form."""
        return HttpResponse(generate_latest() + generate_latest(_shared), content_type=CONTENT_TYPE_LATEST)
