"""The short way of requests that come all the time: queries, the replacement protocol, messages of the completion
protocol.

The same views, authentication, rights and error answers as everywhere, without the rest of what Django and DRF do
around a view, which costs more than these views themselves (``bench/lineage.py``). Only a request with an
``Authorization`` header is answered here. Wrong credentials are refused here, too, so that they are checked once; what
a known user may not do goes Django's way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, cast

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, QueryDict, StreamingHttpResponse
from django.http.request import HttpHeaders
from django.http.response import HttpResponseBase
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from segments import traces
from segments.answer_headers import DATA_HEADERS
from segments.api import errors
from segments.api.authentication import BasicAuthentication, TokenAuthentication
from segments.api.base import ApiView
from segments.api.clusters.cluster_calls import ClusterAuthentication, answer_headers
from segments.api.permissions import RightsPermission
from segments.api.routes import Route, of_a_cluster
from segments.request_ids import own_request_id, request_of_its_own

#: Bytes; larger bodies are worth Django's way, which writes them to disk.
LARGEST_BODY: Final = 1 << 20

_CLUSTERS: Final = "/clusters/"
_HEADS: Final = frozenset((b"authorization", b"content-length", b"transfer-encoding", b"host"))
_authenticators: Final = (TokenAuthentication(), ClusterAuthentication(), BasicAuthentication())
_permission: Final = RightsPermission()
_renderer: Final = JSONRenderer()


@dataclass(frozen=True)
class Answer:
    """Status, headers as ASGI wants them, and the whole body; or the ``pieces`` of a large one, with what to call in
    the end.
    """

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    pieces: Iterator[bytes] | None = None
    close: Callable[[], None] = lambda: None


class DirectRequest:
    """What the views of these routes read of a request, under the names that DRF gives it. ``_request`` has the body,
    as there.
    """

    def __init__(self, scope: Mapping[str, Any], body: bytes) -> None:
        self.scope, self.method, self.path, self.body = scope, str(scope["method"]), str(scope["path"]), body
        self.scheme = str(scope.get("scheme", "http"))
        self.META: dict[str, str] = {"REMOTE_ADDR": scope["client"][0] if scope.get("client") else ""}
        for name, value in scope["headers"]:
            key = _meta_name(name)
            text = value.decode("latin-1")
            self.META[key] = f"{self.META[key]},{text}" if key in self.META else text
        self._query = scope.get("query_string", b"")
        self.user: Any = None
        self.successful_authenticator: Any = None

    @property
    def _request(self) -> DirectRequest:
        return self

    @cached_property
    def query_params(self) -> QueryDict:
        """The parameters of the address."""
        return QueryDict(self._query.decode("latin-1"))

    @cached_property
    def headers(self) -> HttpHeaders:
        """Headers by name, in any case."""
        return HttpHeaders(self.META)

    @property
    def content_type(self) -> str:
        """As the client says it."""
        return self.META.get("CONTENT_TYPE", "")


def has_route(scope: Mapping[str, Any]) -> bool:
    """Is this a request for the short way, as far as its head says? Its body must be small and of known length."""
    if _match(scope) is None:
        return False
    heads = {name: value for name, value in scope["headers"] if name in _HEADS}
    length = heads.get(b"content-length", b"0" if scope["method"] == "GET" else b"")
    if (
        b"authorization" not in heads
        or not length.isdigit()
        or int(length) > LARGEST_BODY
        or b"transfer-encoding" in heads
        or b"%00" in scope.get("query_string", b"")
    ):
        return False
    return is_allowed_host(heads.get(b"host", b"").decode("latin-1"))


def answer(scope: Mapping[str, Any], body: bytes) -> Answer | None:
    """Answer it; None when it is to go Django's way: no credentials of a kind that is checked here, or not allowed."""
    found = _match(scope)
    if found is None:
        return None
    route, arguments, cluster = found
    view = cast("ApiView", route.view(**route.made_with))
    asked = DirectRequest(scope, body)
    request = cast("Request", asked)
    view.request, view.args, view.kwargs, view.cluster = request, (), arguments, cluster
    traces.rename(asked.method, route.path)
    with request_of_its_own():
        try:
            if not _is_allowed(request, view, asked):
                return None
            response = getattr(view, asked.method.lower())(request, **arguments)
        except Exception as error:  # noqa: BLE001  # as in DRF: the handler answers every fault and logs ours
            response = errors.handle(error, {"request": request, "view": view})
        return encoded(response, asked.user)


def _by_ends(route: Route) -> tuple[tuple[str, str], tuple[str, str, Route]]:
    """((method, last part of the path), (what stands before its one name, the name, the route))."""
    head, _, rest = route.path.partition("<str:")
    name, _, end = rest.partition(">/")
    return (route.short_way, end), (f"/{head}", name, route)


_ROUTES: Final = tuple(route for route in of_a_cluster() if route.short_way)
_LITERAL: Final = {(r.short_way, f"/{r.path}"): r for r in _ROUTES if "<" not in r.path}
_NAMED: Final = dict(_by_ends(r) for r in _ROUTES if "<" in r.path)


def _match(scope: Mapping[str, Any]) -> tuple[Route, dict[str, str], str | None] | None:
    """The route, what the path names, and the cluster of ``/clusters/NAME/...``. Called for every request that comes
    in, so it uses no regular expression.
    """
    path, cluster = scope["path"], None
    if path.startswith(_CLUSTERS):
        cluster, slash, rest = path[len(_CLUSTERS) :].partition("/")
        path = slash + rest
    found = _of_path(scope["method"], path)
    # What is the cluster's own business is passed on to it: Django's way finds out.
    if found is None:
        return None
    if cluster is not None and not (cluster and scope["method"] in cast("type[ApiView]", found[0].view).on_pinot):
        return None
    return *found, cluster


def _of_path(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    if (literal := _LITERAL.get((method, path))) is not None:
        return literal, {}
    cut = path.rfind("/")
    if (named := _NAMED.get((method, path[cut + 1 :]))) is None:
        return None
    head, name, route = named
    value = path[len(head) : cut]
    return (route, {name: value}) if value and "/" not in value and path.startswith(head) else None


def _is_allowed(request: Request, view: ApiView, asked: DirectRequest) -> bool:
    """False for credentials of another kind, and for who may not. AuthenticationFailed for wrong ones, with the header
    that DRF sends; TooManyRequests for guessing.
    """
    for authenticator in _authenticators:
        try:
            who = authenticator.authenticate(request)
        except AuthenticationFailed as error:
            error.auth_header = _authenticators[0].authenticate_header(request)  # type: ignore[attr-defined]  # as APIView does
            raise
        if who is not None:
            asked.user, asked.successful_authenticator = who[0], authenticator
            return _permission.has_permission(request, view)
    return False


def encoded(response: HttpResponseBase, user: Any = None) -> Answer:
    """A response as ASGI wants it, with the headers that Django's middleware adds; a whole one is signed for a process
    of the cluster.
    """
    if isinstance(response, StreamingHttpResponse):
        heads = _heads({**_security_headers(), "X-Request-Id": own_request_id(), **dict(response.items())})
        return Answer(response.status_code, heads, b"", iter(response), response.close)
    if isinstance(response, Response):
        body = b"" if response.data is None else _renderer.render(response.data)
        kind = "application/json"
    else:
        body, kind = bytes(getattr(response, "content", b"")), response.headers.get("Content-Type", "application/json")
    signature = answer_headers(user, response.status_code, body)
    headers = {
        **_security_headers(),
        "X-Request-Id": own_request_id(),
        **dict(response.items()),
        **signature,
        "Content-Type": kind,
        "Content-Length": str(len(body)),
    }
    return Answer(response.status_code, _heads(headers), body)


def _heads(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in headers.items()]


@lru_cache(maxsize=1)
def _security_headers() -> dict[str, str]:
    """What Django's middleware adds to every answer."""
    return {
        **DATA_HEADERS,
        "Referrer-Policy": str(settings.SECURE_REFERRER_POLICY),
        "X-Frame-Options": str(settings.X_FRAME_OPTIONS),
        "Cross-Origin-Opener-Policy": "same-origin",
    }


@lru_cache(maxsize=256)
def _meta_name(header: bytes) -> str:
    name = header.decode("latin-1").upper().replace("-", "_")
    return name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"


@lru_cache(maxsize=64)
def is_allowed_host(host: str) -> bool:
    """Is a request for this Host answered? As Django decides it (ALLOWED_HOSTS)."""
    request = HttpRequest()
    request.META = {"HTTP_HOST": host, "SERVER_NAME": "", "SERVER_PORT": ""}
    try:
        request.get_host()
    except DisallowedHost:
        return False
    return True
