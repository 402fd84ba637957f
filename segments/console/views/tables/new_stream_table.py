"""A new table from a stream: first which one, then what the table is to be; it consumes as soon as it is there."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from segments.console.access import ADMINISTER, actor_of, may, may_somewhere, page, refused, shown_status
from segments.console.cluster_address import ctx_of
from segments.console.mirror_wait import wait_for_table
from segments.console.new_table.document_texts import read_object
from segments.console.new_table.draft import Draft, first_draft, grid_rows, posted_draft, sample_rows
from segments.console.new_table.forms import INDEXES, KINDS, TYPES
from segments.console.new_table.stream_form import StreamForm, StreamTableForm
from segments.domain.formats.bounded_json import parse_json
from segments.errors import InvalidInput, PinotAdminError
from segments.names import REALTIME, TableName
from segments.services.tables.design.creation import create_and_consume, is_left_behind
from segments.services.tables.design.inferred_stream import StreamWish, infer_stream_table
from segments.services.tables.design.inferred_table import InferredTable

_ACTION: Final = "createTable"
_MOST_COLUMNS: Final = 2_000


@page
@require_http_methods(["GET", "HEAD", "POST"])
def choose_stream(request: HttpRequest) -> HttpResponse:
    """Which stream. POST reads its first messages and shows what the table could be."""
    if request.method != "POST":
        return _source_page(request, StreamForm())
    if not may_somewhere(request, ADMINISTER):  # the sample shows messages
        return refused(request, _ACTION, "", ADMINISTER)
    form = StreamForm(request.POST)
    if not form.is_valid():
        return _source_page(request, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    name = form.cleaned_data["name"]
    if name and not may(request, ADMINISTER, TableName(name, REALTIME).typed):
        return refused(request, _ACTION, name, ADMINISTER, table=TableName(name, REALTIME).typed)
    try:
        inferred = infer_stream_table(ctx_of(request), StreamWish(form.stream, name))
    except PinotAdminError as error:
        form.refuse(error)
        return _source_page(request, form, shown_status(request, error))
    draft = first_draft(inferred)
    reason = f"New table from topic {inferred.file}"[:500]
    return _design_page(request, draft, StreamTableForm(draft.table, reason, is_bound=False))


@page
@require_http_methods(["GET", "HEAD", "POST"])
def design_stream(request: HttpRequest) -> HttpResponse:
    """What the table is to be. POST checks it, or creates it."""
    if request.method != "POST":
        return redirect("console:new_stream_table")
    if not may_somewhere(request, ADMINISTER):
        return refused(request, _ACTION, "", ADMINISTER)
    given = {k: str(v) for k, v in request.POST.items()}
    try:
        inferred = infer_stream_table(ctx_of(request), _wish(given))
    except PinotAdminError as error:
        form = StreamForm({"name": given.get("name", "")})
        form.errors.clear()
        form.refuse(error)
        return _source_page(request, form, shown_status(request, error))
    draft = posted_draft(inferred, given)
    table_form = StreamTableForm(
        draft.table, given.get("reason", ""), is_bound=True, replaces_schema="replace_schema" in given
    )
    if given.get("action") != "create":
        table_form.errors.pop("reason", None)
        draft.show_faults(table_form)
        return _design_page(request, draft, table_form)
    return _create(request, draft, table_form)


def _wish(given: dict[str, str]) -> StreamWish:
    """The stream that the page carries on, with the columns that it shows."""
    columns = parse_json(given.get("sources", "[]"), what="The page's columns")
    if not isinstance(columns, list) or not all(isinstance(c, str) for c in columns) or len(columns) > _MOST_COLUMNS:
        raise InvalidInput("The page's columns are not a list of names.", remedy="Begin again.")
    return StreamWish(read_object(given.get("stream", "{}")), "", columns)


def _create(request: HttpRequest, draft: Draft, form: StreamTableForm) -> HttpResponse:
    if not form.is_valid() or draft.faults:
        draft.show_faults(form)
        return _design_page(request, draft, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    table = TableName(form.cleaned_data["name"], REALTIME)
    if not may(request, ADMINISTER, table.typed):
        return refused(request, _ACTION, table.typed, ADMINISTER, table=table.typed)
    ctx, actor = ctx_of(request), actor_of(request, form.cleaned_data["reason"])
    try:
        replaces = form.cleaned_data["replace_schema"]
        create_and_consume(ctx, table.raw, draft.schema, draft.config, actor=actor, replaces_schema=replaces)
    except PinotAdminError as error:
        draft.refuse(error, form)
        return _design_page(request, draft, form, shown_status(request, error))
    messages.success(request, f"Table {table.raw} is created and consumes topic {draft.inferred.file}.")
    if not wait_for_table(ctx.cluster, table.typed):
        return redirect("console:tables")
    return redirect("console:stream", table.typed)


def _source_page(request: HttpRequest, form: StreamForm, status: int = HTTPStatus.OK) -> HttpResponse:
    reads = ctx_of(request).engine.offers.reads_streams
    context = {"form": form, "may_administer": may_somewhere(request, ADMINISTER), "reads_streams": reads}
    return render(request, "console/new_table/stream.html", context, status=status)


def _design_page(
    request: HttpRequest, draft: Draft, form: StreamTableForm, status: int = HTTPStatus.OK
) -> HttpResponse:
    inferred: InferredTable = draft.inferred
    if not is_left_behind(ctx_of(request), draft.table.name, draft.schema):
        del form.fields["replace_schema"]
    context: dict[str, Any] = {
        "draft": draft, "form": form, "rows": grid_rows(draft), "types": TYPES, "kinds": KINDS, "indexes": INDEXES,
        "sample": sample_rows(draft), "can_rename": False, "is_csv": False,
        "carried": [
            ("stream", json.dumps(dict(inferred.stream or {}))),
            ("sources", json.dumps([c.source for c in inferred.columns])),
        ],
        "json_is_open": bool({"schema", "config"} & set(draft.faults)),
    }  # fmt: skip
    if request.headers.get("HX-Request"):  # htmx swaps only successful answers; the page says what is wrong
        status = HTTPStatus.OK
    return render(request, "console/new_table/design_stream.html", context, status=status)
