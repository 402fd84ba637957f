"""/query/sql and /sql: SQL over the broker of this process or of a real Pinot, Pinot's broker answer as it is."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Final

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from segments import wiring
from segments.api.base import ApiView, need_text, text_param
from segments.api.bodies import QueryBody, read_body
from segments.api.queries.answer_stream import AnswerPieces, encode
from segments.dataplane.query.rows import PiecewiseRows
from segments.dataplane.stopping import stoppable
from segments.errors import InvalidInput
from segments.services.access.api_tokens import person_name
from segments.services.access.query_rights import require_query_rights
from segments.services.core.streaming import in_threads
from segments.services.queries.options import CLIENT_ID, option_of
from segments.services.queries.running import running_queries
from segments.services.replacement.history.as_of import query_as_of, snapshot_named

_LARGEST_BODY: Final = 8 << 20


class Query(ApiView):
    """Run a query. The answer is 200 also when the query fails: then it has ``exceptions``."""

    bodies = {"POST": QueryBody}
    rights = {"GET": "query", "POST": "query"}
    parameters = {"GET": ("sql", "queryOptions")}
    on_pinot = frozenset(("GET", "POST"))
    #: The right to every table of the statement is needed.
    reading = "filtered"

    @property
    def largest_body(self) -> int:
        """The longest query that is parsed, each character escaped."""
        return _LARGEST_BODY

    def get(self, request: Request) -> HttpResponseBase:
        """The query in the parameter ``sql``."""
        return self._answer(request, need_text(request, "sql"), text_param(request, "queryOptions"))

    def post(self, request: Request) -> HttpResponseBase:
        """The query in the body: {"sql": ..., "queryOptions": "a=b;c=d"}."""
        body = read_body(request, QueryBody)
        if not body.sql or not body.sql.strip():
            raise InvalidInput("The body has no 'sql'.", remedy='Send {"sql": "select ..."}.')
        return self._answer(request, body.sql, body.query_options)

    def _answer(self, request: Request, sql: str, options: Any) -> HttpResponseBase:
        """A large answer is sent while it is written, and takes its user's turn until it is sent."""
        given = _options(options)
        is_foreign = self.cluster is not None and not self.ctx.engine.offers.own_processes
        require_query_rights(request.user, self.cluster_name, sql, given, is_foreign=is_foreign)
        with ExitStack() as held:
            held.enter_context(wiring.query_slots().slot(person_name(request.user)))
            client_id = option_of(sql, given, CLIENT_ID)
            running = running_queries().running(request.user, self.ctx.cluster, sql, client_id)
            stop = held.enter_context(running).stop
            name = snapshot_named(sql, given)
            of_now = wiring.query(self.cluster).query
            with stoppable(stop):
                answer = query_as_of(self.ctx, sql, given, name) if name else of_now(sql, given)
            rows = (answer.get("resultTable") or {}).get("rows")
            if not isinstance(rows, PiecewiseRows):
                return HttpResponse(encode(answer), content_type="application/json")
            pieces = AnswerPieces(answer, rows, held.pop_all(), stop)
        is_async = isinstance(request._request, ASGIRequest)
        response = StreamingHttpResponse(in_threads(pieces) if is_async else pieces, content_type="application/json")
        response._resource_closers.append(pieces.close)  # type: ignore[attr-defined]  # the stream may end before it began
        return response


def _options(text: Any) -> dict[str, str]:
    """``timeoutMs=1000;useMultistageEngine=false`` -> {key: value}; objects are taken as they are."""
    if isinstance(text, dict):
        return {str(k): str(v) for k, v in text.items()}
    if text is None:
        return {}
    pairs = (item.partition("=") for item in str(text).split(";") if item.strip())
    return {key.strip(): value.strip() for key, _, value in pairs}
