"""What an address that no view answers for says: a page to people in browsers, Pinot's error JSON to
everything else.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404."""
    if wants_page(request):
        return defaults.page_not_found(request, exception)
    return _json(HTTPStatus.NOT_FOUND, f"There is nothing at {request.path[:300]}.", remedy="See /api/docs/.")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: Django itself refused the request, for example for its Host header."""
    if wants_page(request):
        return defaults.bad_request(request, exception)
    remedy = "A host name of your own must be listed in PINOTADMIN_ALLOWED_HOSTS."
    return _json(HTTPStatus.BAD_REQUEST, f"The request is malformed ({type(exception).__name__}).", remedy=remedy)


def server_error(request: HttpRequest) -> HttpResponse:
    """500: a fault of ours outside of the REST views, which report theirs under a request id."""
    if wants_page(request):
        return defaults.server_error(request)
    return _json(HTTPStatus.INTERNAL_SERVER_ERROR, "An internal error happened. The log of the web process has it.")


def wants_page(request: HttpRequest) -> bool:
    """Browsers name text/html, and htmx names itself; curl and Pinot's clients do neither. Below ``/api/v1/`` everybody
    gets JSON, as the API's own refusals are.
    """
    if "/api/v1/" in request.path:
        return False
    return "text/html" in request.META.get("HTTP_ACCEPT", "") or "HTTP_HX_REQUEST" in request.META


def _json(status: HTTPStatus, text: str, **details: Any) -> JsonResponse:
    return JsonResponse({"code": int(status), "error": text, **details}, status=status)
