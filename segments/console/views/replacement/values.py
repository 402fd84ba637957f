"""Rows per day, nulls and values of a column in two snapshots: parts of the page that compares them, loaded by it."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from segments import wiring
from segments.console.access import find_table, page
from segments.console.presenters.history.values import day_bars, null_bars, value_bars
from segments.errors import InvalidInput, PinotAdminError
from segments.names import TableName
from segments.services.access.api_tokens import person_name
from segments.services.core.context import Context
from segments.services.replacement.values_diff import compare_column, compare_days, compare_nulls


@page
@require_safe
def days(request: HttpRequest, typed: str) -> HttpResponse:
    """Rows per day on both sides."""

    def read(ctx: Context, table: TableName, before: str, after: str) -> dict[str, Any]:
        found = compare_days(ctx, table, before, after)
        return {"found": found, "bars": day_bars(found)}

    return _part(request, typed, "console/diff/days.html", read)


@page
@require_safe
def nulls(request: HttpRequest, typed: str) -> HttpResponse:
    """Share of nulls of every column on both sides."""

    def read(ctx: Context, table: TableName, before: str, after: str) -> dict[str, Any]:
        found = compare_nulls(ctx, table, before, after)
        return {"found": found, "bars": null_bars(found)}

    return _part(request, typed, "console/diff/nulls.html", read)


@page
@require_safe
def values(request: HttpRequest, typed: str) -> HttpResponse:
    """Share of nulls and most frequent values of a column on both sides."""

    def read(ctx: Context, table: TableName, before: str, after: str) -> dict[str, Any]:
        found = compare_column(ctx, table, before, after, request.GET.get("column", ""))
        return {"found": found, "sides": value_bars(found)}

    return _part(request, typed, "console/diff/values.html", read)


def _part(
    request: HttpRequest, typed: str, template: str, read: Callable[[Context, TableName, str, str], dict[str, Any]]
) -> HttpResponse:
    """The part; htmx swaps only successful answers, so it shows what went wrong."""
    table, name = find_table(request, typed)
    before, after = request.GET.get("from", "").strip(), request.GET.get("to", "").strip() or "current"
    context: dict[str, Any] = {"table": table}
    status: int = HTTPStatus.OK
    try:
        if not before:
            raise InvalidInput("The first snapshot is not named.", remedy="Add from=..., such as from=1.")
        with wiring.query_slots().slot(person_name(request.user)):
            context |= read(wiring.context(table.cluster.name), name, before, after)
    except PinotAdminError as error:
        context["problem"], status = str(error), error.status
    is_part = bool(request.headers.get("HX-Request"))
    return render(request, template, context, status=HTTPStatus.OK if is_part else status)
