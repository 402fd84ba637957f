"""Addresses below /console/c/NAME/: the console's pages about one cluster, and nothing else (see
``segments.console.cluster_address``).
"""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from segments.console.urls import OF_A_CLUSTER

urlpatterns: list[URLPattern | URLResolver] = [path("", include((OF_A_CLUSTER, "console")))]

handler400 = "pinotadmin.error_pages.bad_request"
handler404 = "pinotadmin.error_pages.not_found"
handler500 = "pinotadmin.error_pages.server_error"
