"""The query page: SQL in, the broker's answer as a chart and a table."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from segments import wiring
from segments.console.access import page, shown_status
from segments.console.cluster_address import cluster_of
from segments.console.forms import QueryForm
from segments.console.presenters.queries.answer import present
from segments.console.presenters.queries.side import query_words, table_names
from segments.console.presenters.queries.side_by_side import marked
from segments.console.presenters.queries.snapshot_choice import SnapshotChoice, snapshot_choice, unread_choice
from segments.console.views.queries.kept import kept_context
from segments.dataplane.stopping import Stop, stoppable
from segments.domain.replacement.snapshots import CURRENT
from segments.errors import InvalidInput, NotFound, PinotAdminError
from segments.models import KeptQuery
from segments.services.access.api_tokens import person_name
from segments.services.access.query_rights import require_query_rights
from segments.services.core.context import Context
from segments.services.core.page_addresses import default_cluster
from segments.services.queries.kept import note_run, shared_query
from segments.services.queries.options import CLIENT_ID, option_of
from segments.services.queries.running import running_queries
from segments.services.replacement.history.as_of import query_as_of, snapshot_named
from segments.services.tour.progress import has_queried


@page
@require_http_methods(["GET", "HEAD", "POST"])
def query(request: HttpRequest) -> HttpResponse:
    """GET shows the editor, filled by ``?sql=`` or ``?saved=``; POST runs, and shows the answer alone to htmx."""
    context: dict[str, Any] = {}
    status: int = HTTPStatus.OK
    form = (
        QueryForm(request.POST) if request.method == "POST" else QueryForm(initial={"sql": request.GET.get("sql", "")})
    )
    if request.method == "POST":
        try:
            context |= _results(request, form)
            note_run(request.user, cluster_of(request), form.cleaned_data["sql"])
        except PinotAdminError as error:
            context["error"], status = error, shown_status(request, error)
    if request.headers.get("HX-Request"):
        #: htmx swaps only successful answers; the text itself says what went wrong.
        response = render(request, "console/partials/query_result.html", context)
        response["HX-Trigger"] = "query-ran"
        return response
    if link := request.GET.get("saved"):
        found = _saved(request, link)
        form = QueryForm(initial={"sql": found.sql})
        context["saved_name"] = found.name if found.owner_id == request.user.pk else ""
    context |= kept_context(request)
    names, has_more = table_names(cluster_of(request), request.user)
    form.initial["query"] = uuid.uuid4().hex
    context["can_cancel"] = cluster_of(request) == default_cluster()
    context |= {"form": form, "names": names, "has_more": has_more, "words": query_words()}
    context["choice"] = _choice(request, form)
    return render(request, "console/query.html", context, status=status)


def _choice(request: HttpRequest, form: QueryForm) -> SnapshotChoice:
    """What stands in the two selects; read only where something was chosen, else when they are opened."""
    values = form.data if form.is_bound else form.initial
    sql, *chosen = (str(values.get(key) or "") for key in ("sql", "snapshot", "against"))
    return snapshot_choice(request, sql, *chosen) if any(chosen) else unread_choice(sql)


def _results(request: HttpRequest, form: QueryForm) -> dict[str, Any]:
    """One answer, or two next to each other."""
    data = valid(form)
    first = present(run(request, data), data["sql"])
    found: dict[str, Any] = {"sql": data["sql"], "snapshot": data["snapshot"]}
    against = data["against"]
    if not against or first.plan:
        return found | {"result": first}
    second = present(run(request, data | {"snapshot": against}), data["sql"])
    left, right, count = marked(first, second)
    here = data["snapshot"] or snapshot_named(data["sql"], {}) or CURRENT
    sides = [(_words(here), here, left), (_words(against), against, right)]
    is_cut = any(side.may_be_cut or side.total > len(side.rows) for side in (left, right))
    return found | {
        "sides": sides, "differing": count, "is_same_shape": left.columns == right.columns, "is_cut": is_cut,
    }  # fmt: skip


def _words(name: str) -> str:
    if name == CURRENT:
        return "What queries see now"
    entry, _, side = name.partition(":")
    return f"{'New' if side == 'to' else 'Old'} side of replacement {entry[:8]}" if side else f"Snapshot {name}"


def _saved(request: HttpRequest, text: str) -> KeptQuery:
    try:
        link = uuid.UUID(text)
    except ValueError as error:
        raise NotFound("There is no such query.", remedy="Ask who sent the link.") from error
    cluster = cluster_of(request)
    return shared_query(request.user, cluster, link, is_foreign=cluster != default_cluster())


def valid(form: QueryForm) -> dict[str, Any]:
    """What the form says. InvalidInput, in the form's own words."""
    if not form.is_valid():
        raise InvalidInput(" ".join(str(m) for e in form.errors.values() for m in e))
    return form.cleaned_data


def run(request: HttpRequest, data: Mapping[str, Any]) -> dict[str, Any]:
    """As ``answering``, for an answer of which no more than a page is kept."""
    with answering(request, data) as (answer, _):
        return answer


@contextmanager
def answering(request: HttpRequest, data: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Stop]]:
    """The broker's answer to the text ``data["sql"]`` of a ``valid`` form, for who may read every table of it, as of
    ``data["snapshot"]`` or else the snapshot that the text names, and what is set once somebody cancels it. Inside, it
    takes its person's turn and is among the running ones. Raises PinotAdminError.
    """
    from segments.dataplane.query.sql.explaining import explaining  # heavy; only who queries needs it

    sql, cluster = data["sql"], cluster_of(request)
    if data["explain"]:
        sql = explaining(sql)
    is_foreign = cluster != default_cluster()
    require_query_rights(request.user, cluster, sql, {}, is_foreign=is_foreign)
    ctx, client_id = wiring.context(cluster), data["query"] or option_of(sql, {}, CLIENT_ID)
    with (
        wiring.query_slots().slot(person_name(request.user)),
        running_queries().running(request.user, ctx.cluster, sql, client_id) as running,
    ):
        with stoppable(running.stop):
            answer = _asked(ctx, sql, data["snapshot"])
        has_queried(request.user)
        yield answer, running.stop


def _asked(ctx: Context, sql: str, snapshot: str) -> dict[str, Any]:
    named = snapshot_named(sql, {})
    name = snapshot or named
    if name and (name != CURRENT or named):
        return query_as_of(ctx, sql, {}, name)
    answer: dict[str, Any] = wiring.query(ctx.cluster).query(sql)
    return answer
