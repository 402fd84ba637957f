"""What all views share: the cluster's context, the actor, parameters read strictly, and their OpenAPI description."""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar, Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from segments import wiring
from segments.api.authentication import actor_of
from segments.api.openapi import PinotSchema
from segments.api.permissions import Right
from segments.errors import InvalidInput
from segments.services.context import Actor, Context

_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class ApiView(APIView):
    """Base of all views. ``rights`` names the right per method, ``parameters`` the query parameters per method."""

    rights: ClassVar[dict[str, Right]] = {}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {}
    schema = PinotSchema()
    cluster: str | None = None

    def dispatch(self, request: HttpRequest, *args: Any, cluster: str | None = None, **kwargs: Any) -> HttpResponseBase:
        """As usual, with the cluster of ``/clusters/<cluster>/...`` kept aside."""
        self.cluster = cluster
        return super().dispatch(request, *args, **kwargs)

    @property
    def ctx(self) -> Context:
        """The cluster that is asked. NotFound when there is none of that name."""
        return wiring.context(self.cluster)

    @property
    def actor(self) -> Actor:
        """Who asks, and why."""
        return actor_of(self.request)


def status(text: str) -> Response:
    """Pinot's answer to a change."""
    return Response({"status": text})


def text_param(request: Request, name: str) -> str | None:
    """The first value of a query parameter, as in JAX-RS; None when it is missing or empty."""
    values = request.query_params.getlist(name)
    return values[0].strip() or None if values else None


def need_text(request: Request, name: str) -> str:
    """A parameter that must be there. Raises InvalidInput."""
    value = text_param(request, name)
    if value is None:
        raise InvalidInput(f"Parameter '{name}' is missing.", remedy=f"Add {name}=...")
    return value


def bool_param(request: Request, name: str, default: bool = False) -> bool:
    """``true`` or ``false`` in any case. Raises InvalidInput for other text."""
    return parse_bool(text_param(request, name), name, default)


def parse_bool(value: str | None, name: str, default: bool) -> bool:
    """The text of a flag; None is the default. Raises InvalidInput."""
    if value is None or not value.strip():
        return default
    if value.strip().lower() not in ("true", "false"):
        raise InvalidInput(f"'{name}' must be true or false, not '{value}'.")
    return value.strip().lower() == "true"


def int_param(request: Request, name: str) -> int | None:
    """A whole number, None when it is missing. Raises InvalidInput."""
    value = text_param(request, name)
    if value is None:
        return None
    try:
        return int(value)
    except ValueError as error:
        raise InvalidInput(f"'{name}' must be a whole number, not '{value}'.") from error


def json_body(request: Request, *, optional: bool = False) -> Any:
    """The JSON body whatever the content type says; None when it is empty and ``optional``. Raises InvalidInput."""
    raw = request._request.body
    if not raw.strip():
        if optional:
            return None
        raise InvalidInput("The request has no body.", remedy="Send JSON.")
    try:
        return _parse_json(raw)
    except (ValueError, RecursionError) as error:  # the latter: lists in lists in lists
        raise InvalidInput(f"The body is no JSON: {error}.") from error


def _parse_json(raw: bytes) -> Any:
    def refuse(text: str) -> Any:
        raise ParseError(f"{text} is no JSON value.")

    text = raw.decode(json.detect_encoding(raw))
    found = json.loads(text, parse_constant=refuse)
    if _ESCAPED_SURROGATE.search(text):
        json.dumps(found, ensure_ascii=False).encode()  # half a character is a ValueError; a whole one in two halves is not
    return found
