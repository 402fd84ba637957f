"""The server's HTTP application: the routes of ``routes.ROUTES``, each behind its checks (``guard``)."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.routing import Route

from segments.dataplane.server.http.authorization import Authorization
from segments.dataplane.server.http.endpoints import Endpoints, ServerParts
from segments.dataplane.server.http.guard import guarded
from segments.dataplane.server.http.routes import ROUTES


def build_app(parts: ServerParts, authorization: Authorization) -> Starlette:
    """The ASGI application."""
    endpoints = Endpoints(parts)
    routes = [
        Route(
            route.path,
            guarded(route, getattr(endpoints, route.endpoint), authorization, parts.pool),
            methods=[route.method],
        )
        for route in ROUTES
    ]
    return Starlette(routes=routes)
