"""/metrics in Prometheus' text form; with credentials unless a setting opens it."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count
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
from segments.models import AlertDelivery, Cluster, Finding


class OpenOrReader(BasePermission):
    """Everybody when metrics are open, else any active user."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """May this one read the metrics?"""
        return wiring.is_metrics_open() or RightsPermission().has_permission(request, view)


class ClusterStates(Collector):
    """Each Pinot as its row says: the same in every process."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Up or not, the age of the mirror, and what the mirror asks of the controller."""
        up = GaugeMetricFamily(
            "pinotadmin_cluster_up", "1 when the controller of a Pinot answers as it should.", labels=["cluster"]
        )
        age = GaugeMetricFamily(
            "pinotadmin_cluster_mirror_age_seconds", "Age of what is shown of a Pinot cluster.", labels=["cluster"]
        )
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


class FindingCounts(Collector):
    """What is wrong, and whether somebody is notified."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Open findings by cluster, kind and severity; messages that wait for their receiver, by receiver."""
        labels = ["cluster", "kind", "severity"]
        found = GaugeMetricFamily("pinotadmin_findings", "Open findings.", labels=labels)
        still_open = Finding.objects.filter(closed_at=None).order_by()
        for cluster, kind, severity, count in still_open.values_list("cluster", "code", "severity").annotate(
            n=Count("pk")
        ):
            found.add_metric([cluster, kind, severity], float(count))
        waiting = GaugeMetricFamily(
            "pinotadmin_alerts_waiting", "Messages that a receiver has not taken yet.", labels=["receiver"]
        )
        messages = AlertDelivery.objects.filter(state=AlertDelivery.State.WAITING).order_by()
        for receiver, count in messages.values_list("webhook__name").annotate(n=Count("pk")):
            waiting.add_metric([receiver or "mail"], float(count))
        yield from (found, waiting)


_shared = CollectorRegistry()
_shared.register(ClusterStates())
_shared.register(WorkerStates())
_shared.register(FindingCounts())


class Metrics(ApiView):
    """Counters and timings of this process, the state of every Pinot cluster and of every pool of workers, open
    findings.
    """

    answers = {"GET": {200: "text"}}

    permission_classes = (OpenOrReader,)

    def get(self, request: Request) -> HttpResponse:
        """Prometheus' text form."""
        return HttpResponse(generate_latest() + generate_latest(_shared), content_type=CONTENT_TYPE_LATEST)
