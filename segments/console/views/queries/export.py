"""The whole answer of a query as a file: CSV, JSON or Parquet, sent while it is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, Final

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_POST

from segments.console.access import page
from segments.console.export import csv_response
from segments.console.forms import QueryForm
from segments.console.presenters.queries.answer import Column, as_text, present, table_of
from segments.console.presenters.queries.files import json_pieces, parquet_pieces
from segments.console.views.queries.page import answering, valid
from segments.dataplane.stopping import Stop
from segments.errors import InvalidInput
from segments.services.core.streaming import in_threads

_TYPES: Final = {"json": "application/json", "parquet": "application/vnd.apache.parquet"}


@page
@require_POST
def as_csv(request: HttpRequest) -> HttpResponseBase:
    """The whole answer as CSV."""
    return _file(request, "csv")


@page
@require_POST
def export(request: HttpRequest) -> HttpResponseBase:
    """The whole answer in the form ``format``: csv, json or parquet."""
    wanted = request.POST.get("format", "csv")
    if wanted not in ("csv", *_TYPES):
        raise InvalidInput("This format is not known.", remedy="Choose csv, json or parquet.")
    return _file(request, wanted)


def _file(request: HttpRequest, wanted: str) -> StreamingHttpResponse:
    """The answer is in memory until the file is sent or its reader has left: so long it takes its person's turn."""
    with ExitStack() as held:
        answer, stop = held.enter_context(answering(request, valid(QueryForm(request.POST))))
        columns, rows = table_of(answer)
        if problems := present(answer).exceptions:
            message = str(problems[0].get("message", ""))
            if columns:  # of a Pinot cluster some of whose servers did not answer
                message = f"The answer is not whole, so no file was made of it. {message}"
            raise InvalidInput(message, remedy="Try again." if columns else "Correct the query and try again.")
        made = _made(request, wanted, columns, _until_stopped(rows, stop))
        made._resource_closers.append(held.pop_all().close)  # type: ignore[attr-defined]  # also of one that never began
    return made


def _made(
    request: HttpRequest, wanted: str, columns: Sequence[Column], rows: Iterable[list[Any]]
) -> StreamingHttpResponse:
    if wanted == "csv":
        return _csv(request, columns, rows)
    pieces = json_pieces(columns, rows) if wanted == "json" else parquet_pieces(columns, rows)
    return _download(request, pieces, wanted)


def _until_stopped(rows: Iterable[list[Any]], stop: Stop) -> Iterator[list[Any]]:
    for row in rows:
        stop.check()
        yield row


def _csv(request: HttpRequest, columns: Sequence[Column], rows: Iterable[list[Any]]) -> StreamingHttpResponse:
    texts = (
        [None if v is None else as_text(v) if isinstance(v, (list, dict, bool)) else v for v in row] for row in rows
    )
    return csv_response("result.csv", [c.name for c in columns], texts, in_pieces=isinstance(request, ASGIRequest))


def _download(request: HttpRequest, pieces: Iterator[bytes], wanted: str) -> StreamingHttpResponse:
    content = in_threads(pieces) if isinstance(request, ASGIRequest) else pieces
    response = StreamingHttpResponse(content, content_type=_TYPES[wanted])
    response["Content-Disposition"] = f'attachment; filename="result.{wanted}"'
    return response
