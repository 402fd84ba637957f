"""The OpenAPI document and its explorer, for everybody with a login: they describe paths, no table."""

from __future__ import annotations

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from segments.api.permissions import RightsPermission


class Document(SpectacularAPIView):
    """/api/schema/."""

    permission_classes = [RightsPermission]
    reading = "open"


class Explorer(SpectacularSwaggerSplitView):
    """/api/docs/, its script at an address of its own: pages have none inline."""

    permission_classes = [RightsPermission]
    reading = "open"
