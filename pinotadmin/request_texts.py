"""Refuses requests with the character U+0000 in their address or in a form: no name and no text can hold it, and
PostgreSQL takes it nowhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.views import APIView

from pinotadmin.error_pages import refused
from segments.errors import InvalidInput

_NUL: Final = "\0"


class RequestTexts:
    """Middleware. Bodies of REST calls are read, and refused, by their views."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, unless the address holds it."""
        if _NUL in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            return refused(request, _refusal("address"))
        return self._get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any
    ) -> HttpResponseBase | None:
        """The same of the fields of a form, which CSRF protection read already."""
        if request.method != "POST" or issubclass(getattr(view, "view_class", object), APIView):
            return None
        fields = (text for name, texts in request.POST.lists() for text in (name, *map(str, texts)))
        return refused(request, _refusal("form")) if any(_NUL in text for text in fields) else None


def _refusal(where: str) -> InvalidInput:
    return InvalidInput(
        f"The {where} holds the character U+0000, which no name and no text can hold.", remedy="Leave it out."
    )
