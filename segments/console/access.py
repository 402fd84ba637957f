"""Who may open a page or press a button, and what a page says when something refuses."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, Final, ParamSpec, cast

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render, resolve_url
from django.views.decorators.cache import never_cache

from segments.errors import PinotAdminError
from segments.models import Table
from segments.names import TableName, resolve_table
from segments.services import audit
from segments.services.context import Actor

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]

OPERATE: Final = "segments.operate"
#: Includes the former, as over REST.
ADMINISTER: Final = "segments.administer"
#: Scripts and styles come from our own static files only; nothing is inline.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def page(view: View[P]) -> View[P]:
    """A page of the console: for people who are logged in, never cached, errors told with their remedy."""

    @wraps(view)
    def shown(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            response = view(request, *args, **kwargs)
        except PinotAdminError as error:
            response = error_page(request, error)
        response["Content-Security-Policy"] = _POLICY
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
    return render(request, template, {"error": error}, status=error.status)


def may_operate(request: HttpRequest) -> bool:
    """Has this person the right to push, revert and run passes?"""
    return may(request, OPERATE)


def may(request: HttpRequest, right: str) -> bool:
    """Has this person the right, by itself or by the larger one?"""
    return request.user.has_perm(right) or request.user.has_perm(ADMINISTER)


def refusal(request: HttpRequest, action: str, target: str, right: str = OPERATE) -> HttpResponse | None:
    """None when the person may; else a 403 page, with an audit record of the try."""
    if may(request, right):
        return None
    audit.record(actor_of(request), action, target=target[:600], outcome="refused", error=f"{request.user} lacks the right {right}.")
    return render(request, "403.html", {"action": action, "right": right}, status=403)


def actor_of(request: HttpRequest, reason: str = "") -> Actor:
    """Who asks, from where and why."""
    return Actor(request.user.get_username(), reason, str(request.META.get("REMOTE_ADDR", "")))


def find_table(typed: str) -> tuple[Table, TableName]:
    """The mirror row and the name of a table, or a 404 page."""
    table = Table.objects.select_related("cluster").filter(name=typed).order_by("cluster_id").first()
    if table is None:
        raise Http404
    return table, resolve_table(table.name, None)
