"""Requests of the cluster's own processes to the web process: checked by their signature, allowed for what a view
names, answered signed.

The head of a request is checked once, when it arrives (``receive``), so that neither a long body nor a second check of
it counts against it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, MutableMapping
from typing import Any, Final, cast
from urllib.parse import quote

from django.core.handlers.asgi import ASGIRequest
from django.http.response import HttpResponseBase
from rest_framework import authentication, exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from segments import wiring
from segments.domain.access.cluster_signature import ANSWER_HEADER, digest_of, is_signed
from segments.errors import NotAuthenticated
from segments.gateways.signed_calls import ReceivedCall

#: Where the outcome of the check is kept; no header can have this name.
_KEY: Final = "pinotadmin.cluster_call"
#: Says that the body is still to come.
_NO_BODY_YET: Final = "pinotadmin.no_body_yet"
_PIECE: Final = 1 << 20


class ClusterUser:
    """A process of the cluster. It is in no database and has no rights but those that views give to the cluster
    (``for_cluster``).
    """

    username = "cluster"
    pk = None
    id = None
    is_active = True
    is_staff = False
    is_superuser = False
    is_authenticated = True
    is_anonymous = False

    def __init__(self, call: ReceivedCall) -> None:
        self.call = call

    def get_username(self) -> str:
        """The name for audit records."""
        return self.username

    def has_perm(self, perm: str, obj: object = None) -> bool:
        """No permission of Django's."""
        return False


class ClusterAuthentication(authentication.BaseAuthentication):
    """Signed requests (``segments.domain.access.cluster_signature``)."""

    def authenticate(self, request: Request) -> tuple[ClusterUser, None] | None:
        """The cluster's user; None for other schemes; AuthenticationFailed for a wrong signature, or a body that is not
        the signed one.
        """
        header = request.headers.get("Authorization", "")
        if not is_signed(header):
            return None
        plain: Any = request._request
        try:
            call = _call(plain, header)
            if _NO_BODY_YET not in getattr(plain, "scope", ()):
                call.check_body(_digest(plain))
        except NotAuthenticated as error:
            raise exceptions.AuthenticationFailed(str(error)) from error
        return ClusterUser(call), None

    def authenticate_header(self, request: Request) -> str:
        """Makes a refusal 401, and lets browsers ask for a password."""
        return 'Basic realm="pinotadmin"'


def receive(scope: MutableMapping[str, Any]) -> None:
    """Check the head of a request that has just arrived, if it claims to come from the cluster. ``authenticate`` says
    what is wrong.
    """
    header = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"), "")
    if is_signed(header):
        path = scope.get("raw_path") or quote(scope["path"]).encode()
        query = scope.get("query_string", b"")
        target = (path + b"?" + query if query else path).decode("latin-1")
        scope[_KEY] = _checked(header, scope["method"], target)


def is_from_cluster(scope: Mapping[str, Any]) -> bool:
    """Did ``receive`` find that a process of the cluster sent it?"""
    return isinstance(scope.get(_KEY), ReceivedCall)


def without_body(scope: Mapping[str, Any]) -> dict[str, Any]:
    """The scope for a decision before the body is read: who asks is known, and the body is held against the signature
    later.
    """
    return {**scope, _NO_BODY_YET: True}


def sign(user: Any, response: HttpResponseBase) -> None:
    """Sign what a process of the cluster gets, as soon as its content is known; a stream is not signed here."""
    if not isinstance(user, ClusterUser) or response.streaming:
        return
    if isinstance(response, Response) and not response.is_rendered:
        response.add_post_render_callback(lambda rendered: sign(user, rendered))
        return
    for name, value in answer_headers(user, response.status_code, bytes(getattr(response, "content", b""))).items():
        response[name] = value


def answer_headers(user: Any, status: int, content: bytes) -> dict[str, str]:
    """The signature of an answer to a process of the cluster; nothing for everybody else."""
    return {ANSWER_HEADER: user.call.sign_answer(status, digest_of(content))} if isinstance(user, ClusterUser) else {}


def _call(plain: Any, header: str) -> ReceivedCall:
    """What ``receive`` found; where no such thing stands before the view (in tests), it is checked now."""
    scope = getattr(plain, "scope", None)
    notes = plain.META if scope is None else scope
    if _KEY not in notes and scope is not None:
        receive(scope)
    elif _KEY not in notes:
        notes[_KEY] = _checked(header, str(plain.method), str(plain.get_full_path()))
    found = notes[_KEY]
    if isinstance(found, NotAuthenticated):
        raise found
    return cast(ReceivedCall, found)


def _checked(header: str, method: str, target: str) -> ReceivedCall | NotAuthenticated:
    try:
        return wiring.call_verifier().verify(header, method, target)
    except NotAuthenticated as error:
        return error


def _digest(plain: Any) -> str:
    """SHA-256 of the body; one that lies in a file is not read into memory."""
    if not isinstance(plain, ASGIRequest) or plain._read_started:  # type: ignore[attr-defined]  # Django's own mark
        return digest_of(plain.body)
    file, seen = plain._stream, hashlib.sha256()
    while piece := file.read(_PIECE):
        seen.update(piece)
    file.seek(0)
    return seen.hexdigest()
