"""Whose request it is, for records of changes that Django's own pages make (users, groups, passwords)."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from segments.services.access.people_audit import acting_as
from segments.services.core.context import Actor


class RequestActor:
    """Middleware; the session's user is read only when something is recorded."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, with the person known meanwhile."""

        def actor() -> Actor:
            return Actor(request.user.get_username() or "anonymous", "", str(request.META.get("REMOTE_ADDR") or ""))

        with acting_as(actor):
            return self._get_response(request)
