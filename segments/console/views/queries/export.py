"""The whole answer of a query as a file: CSV, JSON or Parquet, sent while it is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from segments.console.views.queries.page import run, valid
from segments.errors import InvalidInput
from segments.services.core.streaming import in_threads

_TYPES: Final = {"json": "application/json", "parquet": "application/vnd.apache.parquet"}


@page
@require_POST
def as_csv(request: HttpRequest) -> HttpResponseBase:
    """The whole answer as CSV."""
    return _csv(request, *_answer(request))


@page
@require_POST
def export(request: HttpRequest) -> HttpResponseBase:
    """The whole answer in the form ``format``: csv, json or parquet."""
    wanted = request.POST.get("format", "csv")
    if wanted not in ("csv", *_TYPES):
        raise InvalidInput("This format is not known.", remedy="Choose csv, json or parquet.")
    columns, rows = _answer(request)
    if wanted == "csv":
        return _csv(request, columns, rows)
    pieces = json_pieces(columns, rows) if wanted == "json" else parquet_pieces(columns, rows)
    return _download(request, pieces, wanted)


def _answer(request: HttpRequest) -> tuple[list[Column], Sequence[list[Any]]]:
    answer = run(request, valid(QueryForm(request.POST)))
    columns, rows = table_of(answer)
    if answer.get("exceptions") and not columns:
        raise InvalidInput(
            str(present(answer).exceptions[0].get("message", "")), remedy="Correct the query and try again."
        )
    return columns, rows


def _csv(request: HttpRequest, columns: Sequence[Column], rows: Sequence[list[Any]]) -> HttpResponseBase:
    texts = ([None if v is None else as_text(v) if isinstance(v, (list, dict)) else v for v in row] for row in rows)
    return csv_response("result.csv", [c.name for c in columns], texts, in_pieces=isinstance(request, ASGIRequest))


def _download(request: HttpRequest, pieces: Iterator[bytes], wanted: str) -> HttpResponseBase:
    content = in_threads(pieces) if isinstance(request, ASGIRequest) else pieces
    response = StreamingHttpResponse(content, content_type=_TYPES[wanted])
    response["Content-Disposition"] = f'attachment; filename="result.{wanted}"'
    return response
