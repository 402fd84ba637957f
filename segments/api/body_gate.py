"""Decides from the head of a request whether its body is read at all, and how much of it: who may not send it is
refused without it.

A body costs memory, disk and time before any view sees it. So authentication and rights are asked first, by the view's
own authenticators and permissions on a request without a body. Where only the body names the table, the right for some
table is enough to send it; the view asks for the right one.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.core.handlers.asgi import ASGIRequest
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils.functional import SimpleLazyObject
from rest_framework.request import Request
from rest_framework.views import APIView

from segments.api import errors, fast_path
from segments.api.base import ApiView
from segments.api.clusters import cluster_calls
from segments.errors import PinotAdminError
from segments.services.access.rights import has_right_somewhere
from segments.services.core.database_faults import UNREACHABLE, unavailable

#: Bytes that come with the head of a request as a rule; pages without a login (the login itself) take no more.
SMALL: Final = 64 << 10
_KEY: Final = secrets.token_bytes(32)
_SESSION: Final = settings.SESSION_COOKIE_NAME.encode() + b"="
_OF_BODY: Final = frozenset((b"content-length", b"content-type", b"transfer-encoding", b"expect"))


@dataclass(frozen=True)
class Verdict:
    """``most`` bytes of body are taken in, or none and ``refusal`` is the answer."""

    most: int
    refusal: fast_path.Answer | None = None


def body_length(scope: Mapping[str, Any]) -> int | None:
    """Bytes of the body as the head names them; None when it comes in chunks."""
    length = b"0"
    for name, value in scope["headers"]:
        if name == b"transfer-encoding":
            return None
        if name == b"content-length":
            length = value
    return int(length) if length.isdigit() else None


def sender(scope: Mapping[str, Any]) -> bytes | None:
    """Whose turn a request takes: a hash of its credentials as they were sent, else its address. None: a process of
    this cluster.

    The hash has a key of this process: what is remembered of who is at work is not a password, and cannot be tried for
    one.
    """
    cookie = b""
    for name, value in scope["headers"]:
        if name == b"authorization":
            return None if cluster_calls.is_from_cluster(scope) else _hashed(value)
        if name == b"cookie":
            cookie = bytes(value)
    if _SESSION in cookie:
        return _hashed(cookie.partition(_SESSION)[2].partition(b";")[0])
    return str((scope.get("client") or ("",))[0]).encode()


def _hashed(credentials: bytes) -> bytes:
    return blake2b(credentials, digest_size=16, key=_KEY).digest()


def judge(scope: dict[str, Any]) -> Verdict:
    """Ask the view that the request is for. What Django refuses itself, such as a foreign Host, is left to it. While
    the database does not answer nobody's login is known.
    """
    try:
        return _judged(scope)
    except UNREACHABLE:
        return Verdict(0, encoded(unavailable()))


def _judged(scope: dict[str, Any]) -> Verdict:
    headers = [(name, value) for name, value in scope["headers"] if name not in _OF_BODY]
    host = next((value for name, value in headers if name == b"host"), b"").decode("latin-1")
    if not fast_path.is_allowed_host(host):
        return Verdict(SMALL)
    request = ASGIRequest(cluster_calls.without_body({**scope, "headers": headers}), io.BytesIO())
    # As the middleware puts them there.
    request.session = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    request.user = SimpleLazyObject(lambda: get_user(request))  # type: ignore[assignment]  # as Django's own middleware does
    found = _view_of(scope["path"])
    if found is None:
        return Verdict(settings.MAX_BODY_BYTES if request.user.is_authenticated else SMALL)
    view, match = found
    arguments = dict(match.kwargs)
    if isinstance(view, ApiView) and "cluster" in arguments:
        view.cluster = arguments.pop("cluster")
        if view.is_passed_on(request, str(view.cluster)):
            from segments.api.clusters.pass_through import PassThrough  # which is a view, too

            view, arguments = PassThrough(), {"path": scope["path"].split("/", 3)[3]}
            view.cluster = match.kwargs["cluster"]
    return _of_view(view, request, arguments)


def encoded(error: PinotAdminError) -> fast_path.Answer:
    """The answer to an error that happened before any view."""
    return fast_path.encoded(errors.handle(error, {}))


def _view_of(path: str) -> tuple[APIView, ResolverMatch] | None:
    """The REST view of an address; None for pages and for addresses that nothing is at."""
    try:
        match = resolve(path, settings.ROOT_URLCONF)
    except Resolver404:
        return None
    made: Any = getattr(match.func, "view_class", None)
    if made is None or not issubclass(made, APIView):
        return None
    return made(**getattr(match.func, "view_initkwargs", {})), match


def _of_view(view: APIView, request: ASGIRequest, arguments: dict[str, Any]) -> Verdict:
    asked: Any = request
    view.setup(request, **arguments)
    try:
        asked = view.request = view.initialize_request(request, **arguments)
        view.perform_authentication(asked)
        if not _may_send(asked, view):
            view.check_permissions(asked)
        return Verdict(view.largest_body if isinstance(view, ApiView) else SMALL)
    except Exception as error:  # noqa: BLE001  # as in DRF: the view's handler answers every fault and logs ours
        if not isinstance(asked, Request):
            asked = Request(request)
        view.request = asked
        return Verdict(0, fast_path.encoded(view.handle_exception(error)))


def _may_send(request: Request, view: APIView) -> bool:
    """May the user do this with some table, where the body alone says with which?"""
    right = getattr(view, "rights", {}).get(str(request.method))
    if right is None or not isinstance(view, ApiView) or _is_table_named(request, view):
        return False
    return has_right_somewhere(request.user, right, view.cluster_name)


def _is_table_named(request: Request, view: ApiView) -> bool:
    """Does the head of the request name a table? What is wrong with a name is for the view to say."""
    try:
        return view.table_asked(request) is not None
    except PinotAdminError:
        return False
