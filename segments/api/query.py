"""/query/sql and /sql: SQL over the broker of this process or of a real Pinot, Pinot's broker answer as it is."""

from __future__ import annotations

import json
from typing import Any, Final

import orjson
from django.http import HttpResponse
from rest_framework.request import Request

from segments import wiring
from segments.api.base import ApiView, json_body, need_text, text_param
from segments.errors import InvalidInput
from segments.services.query_rights import require_query_rights

_LARGEST_BODY: Final = 8 << 20


class Query(ApiView):
    """Run a query. The answer is 200 also when the query fails: then it has ``exceptions``."""

    rights = {"GET": "query", "POST": "query"}
    parameters = {"GET": ("sql", "queryOptions")}
    on_pinot = frozenset(("GET", "POST"))
    #: Every table of the statement is asked for.
    reading = "filtered"

    @property
    def largest_body(self) -> int:
        """The longest query that is parsed, each character escaped."""
        return _LARGEST_BODY

    def get(self, request: Request) -> HttpResponse:
        """The query in the parameter ``sql``."""
        return self._answer(request, need_text(request, "sql"), text_param(request, "queryOptions"))

    def post(self, request: Request) -> HttpResponse:
        """The query in the body: {"sql": ..., "queryOptions": "a=b;c=d"}."""
        body = json_body(request)
        sql = body.get("sql") if isinstance(body, dict) else None
        if not isinstance(sql, str) or not sql.strip():
            raise InvalidInput("The body has no 'sql'.", remedy='Send {"sql": "select ..."}.')
        return self._answer(request, sql, body.get("queryOptions"))

    def _answer(self, request: Request, sql: str, options: Any) -> HttpResponse:
        given = _options(options)
        is_foreign = self.cluster is not None and self.ctx.pinot is not None
        require_query_rights(request.user, self.cluster_name, sql, given, is_foreign=is_foreign)
        return HttpResponse(_encode(wiring.query(self.cluster).query(sql, given)), content_type="application/json")


def _options(text: Any) -> dict[str, str]:
    """``timeoutMs=1000;useMultistageEngine=false`` -> {key: value}; objects are taken as they are."""
    if isinstance(text, dict):
        return {str(k): str(v) for k, v in text.items()}
    if text is None:
        return {}
    pairs = (item.partition("=") for item in str(text).split(";") if item.strip())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _encode(body: Any) -> bytes:
    """orjson is ten times faster on large answers; what it can not write (integers beyond 64 bits) goes the plain way."""
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body, default=str).encode()
