"""/metrics in Prometheus' text form; with credentials unless a setting opens it."""

from __future__ import annotations

from django.http import HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from segments import wiring
from segments.api.base import ApiView
from segments.api.permissions import RightsPermission


class OpenOrReader(BasePermission):
    """Everybody when metrics are open, else any active user."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """May this one read the metrics?"""
        return wiring.is_metrics_open() or RightsPermission().has_permission(request, view)


class Metrics(ApiView):
    """Counters and timings of this process."""

    permission_classes = (OpenOrReader,)

    def get(self, request: Request) -> HttpResponse:
        """Prometheus' text form."""
        return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)
