"""/metrics in Prometheus' text form; with credentials unless a setting opens it."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from segments import wiring
from segments.api.base import ApiView
from segments.api.permissions import RightsPermission
from segments.metrics.exposition import CONTENT_TYPE
from segments.services.metrics.installation import Queues, WorkerStates
from segments.services.metrics.page import control_page


class OpenOrReader(BasePermission):
    """Everybody when metrics are open, else any active user."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """May this one read the metrics?"""
        return wiring.is_metrics_open() or RightsPermission().has_permission(request, view)


class Metrics(ApiView):
    """What the processes of the control plane counted, and the state of tables, partitions, clusters, workers and
    findings; docs/metrics.md lists the names.
    """

    answers = {"GET": {200: "text"}}

    permission_classes = (OpenOrReader,)

    def get(self, request: Request) -> HttpResponse:
        """Prometheus' text form."""
        states, queues = WorkerStates(lambda: wiring.worker_states()), Queues(wiring.worker_board(), wiring.clock_ms())
        return HttpResponse(control_page(states, queues), content_type=CONTENT_TYPE)
