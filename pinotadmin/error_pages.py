"""What an address that no view answers for says: a page to people in browsers, Pinot's error JSON to
everything else.
"""

from __future__ import annotations

import sys
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.views import defaults

from segments.errors import PinotAdminError
from segments.services.core.database_faults import as_refusal


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
    """500: a fault of ours outside of the REST views, which report theirs under a request id. 503 while the database
    does not answer, 400 for what it cannot keep, wherever on the way of the request that was.
    """
    refusal = as_refusal(sys.exc_info()[1])
    if refusal is not None:
        return refused(request, refusal)
    if wants_page(request):
        return defaults.server_error(request)
    return _json(HTTPStatus.INTERNAL_SERVER_ERROR, "An internal error happened. The log of the web process has it.")


def refused(request: HttpRequest, error: PinotAdminError) -> HttpResponse:
    """What went wrong before any view, or below it: a page that reads nothing from the database, or JSON."""
    response: HttpResponse
    if wants_page(request):
        response = HttpResponse(loader.get_template("refused.html").render({"error": error}), status=error.status)
    else:
        response = _json(HTTPStatus(error.status), error.message, remedy=error.remedy)
    if "retry_after_s" in error.data:
        response["Retry-After"] = str(error.data["retry_after_s"])
    return response


def wants_page(request: HttpRequest) -> bool:
    """Browsers name text/html, and htmx names itself; curl and Pinot's clients do neither. Below ``/api/v1/`` everybody
    gets JSON, as the API's own refusals are.
    """
    if "/api/v1/" in request.path:
        return False
    return "text/html" in request.META.get("HTTP_ACCEPT", "") or "HTTP_HX_REQUEST" in request.META


def _json(status: HTTPStatus, text: str, **details: Any) -> JsonResponse:
    return JsonResponse({"code": int(status), "error": text, **details}, status=status)
