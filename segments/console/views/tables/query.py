"""The query page: SQL in, the broker's answer as a table or as CSV."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_POST

from segments import wiring
from segments.console.access import page, shown_status
from segments.console.cluster_address import cluster_of
from segments.console.export import csv_response
from segments.console.forms import QueryForm
from segments.console.presenters.queries.answer import as_text, present, table_of
from segments.errors import InvalidInput, PinotAdminError
from segments.models import Table
from segments.services.access.api_tokens import person_name
from segments.services.access.query_rights import require_query_rights
from segments.services.access.read_rights import readable_rows
from segments.services.core.page_addresses import default_cluster


@page
@require_http_methods(["GET", "HEAD", "POST"])
def query(request: HttpRequest) -> HttpResponse:
    """GET shows the editor (``?sql=`` fills it); POST runs and shows the answer, alone when htmx asks."""
    context: dict[str, Any] = {}
    status: int = HTTPStatus.OK
    form = (
        QueryForm(request.POST) if request.method == "POST" else QueryForm(initial={"sql": request.GET.get("sql", "")})
    )
    if request.method == "POST":
        try:
            answer = _run(request, form)
            context.update(result=present(answer, form.cleaned_data["sql"]), sql=form.cleaned_data["sql"])
        except PinotAdminError as error:
            context["error"], status = error, shown_status(request, error)
    if request.headers.get("HX-Request"):
        #: htmx swaps only successful answers; the text itself says what went wrong.
        return render(request, "console/partials/query_result.html", context)
    tables = readable_rows(
        Table.objects.filter(cluster__name=cluster_of(request)), request.user, cluster="cluster__name", table="name"
    )
    raw_names = sorted(set(tables.values_list("raw_name", flat=True)))
    return render(request, "console/query.html", {**context, "form": form, "names": raw_names}, status=status)


@page
@require_POST
def download(request: HttpRequest) -> HttpResponseBase:
    """The whole answer as CSV."""
    answer = _run(request, QueryForm(request.POST))
    columns, rows = table_of(answer)
    if answer.get("exceptions") and not columns:
        raise InvalidInput(
            str(present(answer).exceptions[0].get("message", "")), remedy="Correct the query and try again."
        )
    texts = ([None if v is None else as_text(v) if isinstance(v, (list, dict)) else v for v in row] for row in rows)
    return csv_response("result.csv", [c.name for c in columns], texts, in_pieces=isinstance(request, ASGIRequest))


def _run(request: HttpRequest, form: QueryForm) -> dict[str, Any]:
    if not form.is_valid():
        raise InvalidInput(" ".join(str(m) for e in form.errors.values() for m in e))
    sql, cluster = form.cleaned_data["sql"], cluster_of(request)
    is_foreign = cluster != default_cluster()
    require_query_rights(request.user, cluster, sql, {}, is_foreign=is_foreign)
    with wiring.query_slots().slot(person_name(request.user)):
        answer: dict[str, Any] = wiring.query(cluster).query(sql)
    return answer
