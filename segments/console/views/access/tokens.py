"""API tokens: the list, a new one, which is shown once, and revoking."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from segments.console.access import actor_of, may_administer_all, page
from segments.console.forms import ReasonForm
from segments.console.presenters.badges import Mark
from segments.console.token_form import TokenForm
from segments.errors import PinotAdminError
from segments.models import ApiToken
from segments.services.access.api_tokens import create_token, find_token, revoke_token, state_of, visible_tokens

_MARKS = {
    "valid": Mark("valid", "ok", "check"),
    "expired": Mark("expired", "idle", "clock"),
    "revoked": Mark("revoked", "idle", "cross"),
    "disabled": Mark("owner disabled", "warn", "alert"),
}


@page
@require_http_methods(["GET", "HEAD", "POST"])
def token_list(request: HttpRequest) -> HttpResponse:
    """The person's own tokens and the form of a new one; ``?all=1``: everybody's, for administrators of the
    installation.

    What a POST makes is in its answer and nowhere else.
    """
    if request.method != "POST":
        return _page(request, TokenForm())
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        row, secret = create_token(request.user, form.wish(), actor_of(request, form.cleaned_data["reason"]))
    except PinotAdminError as error:
        form.refuse(error)
        return _page(request, form, error.status)
    return _page(request, TokenForm(), made=row, secret=secret)


@page
@require_http_methods(["GET", "HEAD", "POST"])
def revoke(request: HttpRequest, token: int) -> HttpResponse:
    """Revoke a token, with a reason."""
    row = find_token(request.user, token)
    form = ReasonForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        status = HTTPStatus.OK if request.method != "POST" else HTTPStatus.UNPROCESSABLE_ENTITY
        context = {
            "row": row,
            "form": form,
            "mark": _MARKS[state_of(row)],
            "is_valid": state_of(row) in ("valid", "disabled"),
        }
        return render(request, "console/token_revoke.html", context, status=status)
    revoked = revoke_token(request.user, token, actor_of(request, form.cleaned_data["reason"]))
    others = f", with {len(revoked) - 1} that were made with it" if len(revoked) > 1 else ""
    messages.success(request, f"The token {row.name} is revoked{others}. Requests with it are refused from now on.")
    return redirect("console:tokens")


def _page(request: HttpRequest, form: TokenForm, status: int = HTTPStatus.OK, **made: Any) -> HttpResponse:
    may_see_all = may_administer_all(request)
    is_all = may_see_all and request.GET.get("all") == "1"
    rows: list[tuple[ApiToken, Mark]] = [
        (row, _MARKS[state_of(row)]) for row in visible_tokens(request.user, of_all=is_all)
    ]
    context = {
        "form": form,
        "rows": rows,
        "is_all": is_all,
        "may_see_all": may_see_all,
        "site": request.build_absolute_uri("/"),
        **made,
    }
    return render(request, "console/tokens.html", context, status=status)
