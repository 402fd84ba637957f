"""Every error as Pinot's JSON, ``{"code": n, "error": text, ...}``: the cause and the remedy, never a traceback."""

from __future__ import annotations

import logging
import uuid
from typing import Any, Final

from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.http import Http404
from rest_framework.exceptions import APIException, AuthenticationFailed, NotAuthenticated, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from segments.api.authentication import actor_of
from segments.domain.tables.secret_masks import mask
from segments.errors import PinotAdminError
from segments.services.access.refusals import record_refusal
from segments.services.core.database_faults import as_refusal

log = logging.getLogger(__name__)

_RIGHTS: Final = (NotAuthenticated, AuthenticationFailed, PermissionDenied, DjangoPermissionDenied)


def handle(error: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler."""
    request: Request | None = context.get("request")
    if isinstance(error, _RIGHTS) and request is not None:
        _record_refusal(request, error)
    if isinstance(error, PinotAdminError):
        return _ours(error)
    if (of_database := as_refusal(error)) is not None:
        log.error("A request met a fault of the database: %s", error)
        return _ours(of_database)
    if isinstance(error, Http404):
        return _body(404, "There is nothing at this address.", {"remedy": "See /api/docs/."})
    if isinstance(error, DjangoPermissionDenied):
        return _body(403, "You may not do this.", {})
    if isinstance(error, APIException):
        return _of_framework(error)
    return _unexpected(error, request)


def _ours(error: PinotAdminError) -> Response:
    if error.status >= 500:
        log.error("%s: %s", type(error).__name__, error)
    details = {**mask(error.data), **({"remedy": error.remedy} if error.remedy else {})}
    response = _body(error.status, str(error), details)
    if "retry_after_s" in error.data:
        response["Retry-After"] = str(error.data["retry_after_s"])
    return response


def _of_framework(error: APIException) -> Response:
    detail = error.detail
    text = "; ".join(map(str, detail)) if isinstance(detail, list) else str(detail)
    headers = {}
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = str(error.auth_header)  # type: ignore[attr-defined]  # set by APIView on 401 only
    response = _body(error.status_code, text, {})
    for key, value in headers.items():
        response[key] = value
    return response


def _unexpected(error: Exception, request: Request | None) -> Response:
    """A fault of ours: the traceback goes to the log under an id, the caller gets the id."""
    request_id = uuid.uuid4().hex[:12]
    where = f"{request.method} {request.path}" if request is not None else "a request"
    log.error("Request %s failed: %s", request_id, where, exc_info=error)
    text = f"An internal error happened. The log has it under request id {request_id}."
    return _body(500, text, {"requestId": request_id})


def _body(status: int, text: str, details: dict[str, Any]) -> Response:
    return Response(
        {"code": status, "error": text, **{k: v for k, v in details.items() if k not in ("code", "error")}},
        status=status,
    )


def _record_refusal(request: Request, error: Exception) -> None:
    detail: dict[str, Any] = {"method": request.method or "", "error": str(getattr(error, "detail", "") or error)}
    user = getattr(error, "user", "")
    record_refusal(actor_of(request), request.path, **detail, **({"user": user} if user else {}))
