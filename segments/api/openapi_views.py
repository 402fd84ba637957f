"""The OpenAPI document and its explorer, for everybody with a login: they tell of paths, of no table."""

from __future__ import annotations

from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from segments.api.permissions import RightsPermission


class Document(SpectacularAPIView):
    """/api/schema/."""

    permission_classes = [RightsPermission]
    reading = "open"


class Explorer(SpectacularSwaggerView):
    """/api/docs/."""

    permission_classes = [RightsPermission]
    reading = "open"
