"""Who tries to sign in too often in the admin, or wherever a form asks for a password, gets 429 and how
long to wait.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from segments.errors import TooManyRequests


class TooManyAttempts:
    """Middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Nothing on the way."""
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """The page for this one error."""
        if not isinstance(exception, TooManyRequests):
            return None
        return as_refusal(render(request, "429.html", {"error": exception}), exception)


def as_refusal(response: HttpResponse, error: TooManyRequests) -> HttpResponse:
    """The same with status 429 and Retry-After."""
    response.status_code = HTTPStatus.TOO_MANY_REQUESTS
    response["Retry-After"] = str(error.data.get("retry_after_s", 60))
    return response
