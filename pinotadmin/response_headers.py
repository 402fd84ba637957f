"""What browsers may do with our answers: a content security policy on every one of them, and headers against sniffing,
framing, keeping; and the id of the request.

Our own pages have nothing inline. The admin's theme needs inline styles and evaluates the expressions of its templates;
the API explorer needs inline styles. Neither runs inline scripts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from segments.answer_headers import DATA_HEADERS, DATA_POLICY
from segments.request_ids import HEADER, own_request_id, request_at_work
from segments.services.core.page_addresses import address_of, path_of

_COMMON: Final = (
    "default-src 'none'; script-src 'self'{scripts}; style-src 'self'{styles}; img-src 'self' data:; font-src "
    "'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; object-src 'none'"
)
PAGE: Final = _COMMON.format(scripts="", styles="")
ADMIN: Final = _COMMON.format(scripts=" 'unsafe-eval'", styles=" 'unsafe-inline'")
EXPLORER: Final = _COMMON.format(scripts="", styles=" 'unsafe-inline'")
#: Policies of pages by the beginning of their path.
_BY_PATH: Final = (("/admin/", ADMIN), ("/api/docs/", EXPLORER))
_STATIC: Final = "/static/"


class ResponseHeaders:
    """Middleware, the first of all, so that answers of the others have them too. A header that a view
    set itself stays.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The response with its headers; everything that is done for it, and logged, has its id."""
        with request_at_work():
            return with_headers(self._get_response(request), path_of(request))


def with_headers(response: HttpResponseBase, path: str) -> HttpResponseBase:
    """The response to a request for this path with its headers. Only files of our own may be kept by browsers."""
    response.headers.setdefault("Content-Security-Policy", policy_of(path, response.get("Content-Type", "")))
    is_static = path.startswith(_STATIC)
    for cookie in response.cookies.values():
        # Other programs behind the same proxy do not get them.
        cookie["path"] = address_of("/") if cookie["path"] == "/" else cookie["path"]
    if not is_static:
        response.headers.setdefault(HEADER, own_request_id())
    for name, value in DATA_HEADERS.items():
        if name != "Cache-Control" or not is_static:
            response.headers.setdefault(name, value)
    return response


def policy_of(path: str, content_type: str) -> str:
    """The policy of an answer: pages by their path, everything else is data."""
    if not content_type.startswith("text/html"):
        return DATA_POLICY
    return next((policy for beginning, policy in _BY_PATH if path.startswith(beginning)), PAGE)
