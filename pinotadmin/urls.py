"""All addresses: Pinot's REST paths at the root, ours under /api/v1/, the console, the admin."""

from __future__ import annotations

from django.contrib import admin
from django.templatetags.static import static
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView

# Before our own pages, which take the place of some that others register.
admin.autodiscover()

from segments.admin.own_password import own_password  # noqa: E402  (needs the pages of others)

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/password_change/", own_password),
    path("admin/", admin.site.urls),
    # Browsers ask for it on pages that name no icon: the admin's and the API explorer's.
    path("favicon.ico", RedirectView.as_view(url=static("segments/favicon.svg"))),
    path("", include("segments.api.urls")),
    path("", include("segments.console.urls")),
]

handler400 = "pinotadmin.error_pages.bad_request"
handler404 = "pinotadmin.error_pages.not_found"
handler500 = "pinotadmin.error_pages.server_error"
