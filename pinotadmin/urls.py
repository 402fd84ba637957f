"""All addresses: Pinot's REST paths at the root, ours under /api/v1/, the console, the admin."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/", admin.site.urls),
    path("", include("segments.api.urls")),
    path("", include("segments.console.urls")),
]

handler400 = "pinotadmin.faults.bad_request"
handler404 = "pinotadmin.faults.not_found"
handler500 = "pinotadmin.faults.server_error"
