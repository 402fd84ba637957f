"""The server's HTTP application: the routes of ``routes.ROUTES``, each behind its checks (``guard``)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from segments.dataplane.server.http.authorization import Authorization
from segments.dataplane.server.http.endpoints import Endpoints, ServerParts
from segments.dataplane.server.http.guard import guarded
from segments.dataplane.server.http.routes import ROUTES, ServerRoute

Guarded = Callable[[Request], Awaitable[Response]]


class ServerApp(Starlette):
    """The ASGI application. A path without names, such as that of queries, is answered without searching the routes and
    without Starlette's middleware, which has nothing to do there: ``guarded`` answers every fault.
    """

    def __init__(self, answers: Mapping[ServerRoute, Guarded]) -> None:
        super().__init__(routes=[Route(r.path, answer, methods=[r.method]) for r, answer in answers.items()])
        self._literal = {(r.method, r.path): answer for r, answer in answers.items() if "{" not in r.path}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        answer = self._literal.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if answer is None:
            await super().__call__(scope, receive, send)
            return
        response = await answer(Request(scope, receive, send))
        await response(scope, receive, send)


def build_app(parts: ServerParts, authorization: Authorization) -> ServerApp:
    """The application of one server."""
    endpoints = Endpoints(parts)
    return ServerApp(
        {route: guarded(route, getattr(endpoints, route.endpoint), authorization, parts.pool) for route in ROUTES}
    )
