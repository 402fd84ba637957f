"""Who may open a page or press a button, and what a page says when something refuses."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, Final, ParamSpec, cast

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render, resolve_url
from django.views.decorators.cache import never_cache

from segments.console.cluster_address import cluster_of
from segments.errors import NotFound, PinotAdminError
from segments.models import Cluster, Table
from segments.names import TableName, resolve_table
from segments.services.access.read_rights import require_reading
from segments.services.access.rights import Right, has_right, has_right_everywhere, has_right_somewhere
from segments.services.core import audit
from segments.services.core.context import Actor
from segments.services.core.page_addresses import at_home, default_cluster

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]

READ: Final = "segments.read"
OPERATE: Final = "segments.operate"
#: Includes the former, as over REST.
ADMINISTER: Final = "segments.administer"


def page(view: View[P]) -> View[P]:
    """A page of the console: for people who are logged in, never cached, errors shown with their remedy."""

    @wraps(view)
    def shown(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        missing = _missing_cluster(request)
        if missing is not None:
            with at_home():
                return error_page(request, missing)
        try:
            response = view(request, *args, **kwargs)
        except PinotAdminError as error:
            response = error_page(request, error)
        return response

    inside = cast(View[P], login_required(shown))

    @wraps(view)
    def guarded(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.headers.get("HX-Request") and not request.user.is_authenticated:
            #: A fragment must not become a log-in form inside the page: the whole page goes there.
            return HttpResponse(headers={"HX-Redirect": resolve_url("console:login")})
        return inside(request, *args, **kwargs)

    return cast(View[P], never_cache(guarded))


def error_page(request: HttpRequest, error: PinotAdminError) -> HttpResponse:
    """Say what is wrong and what to do; as a fragment when htmx asks."""
    template = "console/partials/problem.html" if request.headers.get("HX-Request") else "console/error.html"
    return render(request, template, {"error": error}, status=shown_status(request, error))


def shown_status(request: HttpRequest, error: PinotAdminError) -> int:
    """The status of a page that shows this error. That a Pinot does not answer, or answers with nonsense, is not a
    fault of ours: 424.
    """
    is_theirs = error.status >= HTTPStatus.INTERNAL_SERVER_ERROR and cluster_of(request) != default_cluster()
    return HTTPStatus.FAILED_DEPENDENCY if is_theirs else error.status


def _missing_cluster(request: HttpRequest) -> NotFound | None:
    """Why there is no page: its address names a cluster that is not there. Only of the page's own cluster it is not
    asked.
    """
    name = cluster_of(request)
    if name == default_cluster() or Cluster.objects.filter(name=name).exists():
        return None
    return NotFound(f"Cluster '{name}' does not exist.", remedy="The page Clusters lists those that do.")


def may_operate(request: HttpRequest, table: str | None = None) -> bool:
    """Has this person the right to push, revert and run passes?"""
    return may(request, OPERATE, table)


def may(request: HttpRequest, right: str, table: str | None = None) -> bool:
    """Has this person the right in the page's cluster, for the table or (None) for everything in it?"""
    return has_right(request.user, _word(right), cluster_of(request), table)


def may_somewhere(request: HttpRequest, right: str = OPERATE) -> bool:
    """Has this person the right for any table of the page's cluster? For buttons whose table is chosen
    only afterwards.
    """
    return has_right_somewhere(request.user, _word(right), cluster_of(request))


def may_administer_all(request: HttpRequest) -> bool:
    """May this person administer the whole installation? Needed for clusters: who says where one is could read what we
    know of it.
    """
    return has_right_everywhere(request.user, "administer")


def refusal(
    request: HttpRequest, action: str, target: str, right: str = OPERATE, *, table: str | None = None
) -> HttpResponse | None:
    """None when the person may; else a 403 page, with an audit record of the try. ``table`` as for ``may``."""
    return None if may(request, right, table) else refused(request, action, target, right, table=table)


def refused(request: HttpRequest, action: str, target: str, right: str, *, table: str | None = None) -> HttpResponse:
    """The 403 page of something that the person may not do, with an audit record of the try."""
    why = f"{request.user} lacks the right {right}{f' for table {table}' if table else ''}."
    audit.record(
        actor_of(request), action, cluster=cluster_of(request), target=target[:600], outcome="refused", error=why
    )
    return render(request, "403.html", {"action": action, "right": right, "table": table}, status=403)


def _word(right: str) -> Right:
    return cast(Right, right.rpartition(".")[2])


def actor_of(request: HttpRequest, reason: str = "") -> Actor:
    """Who asks, from where and why."""
    return Actor(request.user.get_username(), reason, str(request.META.get("REMOTE_ADDR", "")))


def reads(request: HttpRequest, table: str | None) -> None:
    """Forbidden, which is a 403 page, unless the person may read the table or (None) everything in the
    page's cluster.
    """
    require_reading(request.user, cluster_of(request), table)


def find_table(request: HttpRequest, typed: str) -> tuple[Table, TableName]:
    """The mirror row and the name of a table of the page's cluster, or a 404 page. Forbidden for one that the person
    may not read.
    """
    reads(request, typed)
    table = Table.objects.select_related("cluster").filter(cluster__name=cluster_of(request), name=typed).first()
    if table is None:
        raise Http404
    return table, resolve_table(table.name, None)
