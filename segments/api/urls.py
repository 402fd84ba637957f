"""Django's patterns of the REST addresses, made from the table in ``routes``."""

from __future__ import annotations

from collections.abc import Iterable

from django.urls import URLPattern, URLResolver, include, path

from segments.api.clusters.pass_through import PassThrough
from segments.api.routes import OF_THE_INSTALLATION, Route, of_a_cluster


def _patterns(routes: Iterable[Route]) -> list[URLPattern | URLResolver]:
    return [path(r.path, r.view.as_view(**r.made_with), name=r.name or None) for r in routes]


_of_a_cluster = _patterns(of_a_cluster())
urlpatterns: list[URLPattern | URLResolver] = [
    *_patterns(OF_THE_INSTALLATION),
    *_of_a_cluster,
    path("clusters/<str:cluster>/", include(_of_a_cluster)),
    # Whatever else a real Pinot has.
    path("clusters/<str:cluster>/<path:path>", PassThrough.as_view()),
]
