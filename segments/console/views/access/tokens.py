"""API tokens: the list, a new one, which is shown once, and revoking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from segments.console.access import actor_of, may_administer_all, page
from segments.console.operation import Operation, Outcome, Target
from segments.console.presenters.badges import Mark
from segments.console.token_form import TokenForm
from segments.errors import PinotAdminError
from segments.models import ApiToken
from segments.services.access.api_tokens import create_token, find_token, revoke_token, state_of, visible_tokens
from segments.services.core.context import Actor
from segments.services.core.page_addresses import address_of

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


def _own_token(target: Target) -> None:
    find_token(target.request.user, target.arguments["token"])


def _to_revoke(target: Target, plain: Operation) -> Operation:
    row = find_token(target.request.user, target.arguments["token"])
    used = f"{row.last_used_at:%Y-%m-%d %H:%M} UTC" if row.last_used_at else "never"
    where = f", from {row.last_used_from}" if row.last_used_at and row.last_used_from else ""
    return replace(
        plain,
        title=f"Revoke {row.name}",
        explain=[
            f"Every request with this token of {row.owner.get_username()} is refused from now on; so is every one with "
            "a token that was made with it.",
            *plain.explain,
            f"It is {_MARKS[state_of(row)].text}, and was used last: {used}{where}.",
        ],
    )


def _run_revoke(target: Target, _: Mapping[str, Any], actor: Actor) -> Outcome:
    row = find_token(target.request.user, target.arguments["token"])
    revoked = revoke_token(target.request.user, row.pk, actor)
    others = f", with {len(revoked) - 1} that were made with it" if len(revoked) > 1 else ""
    return Outcome(f"The token {row.name} is revoked{others}. Requests with it are refused from now on.")


#: ``find_token`` finds only what the person may revoke.
REVOKE: Final = Operation(
    action="revokeToken",
    title="Revoke a token",
    button="Revoke",
    right="",
    asks="nothing",
    is_danger=True,
    place="tokens",
    find=_own_token,
    explain=["What was done with it stays done and on record. It cannot be taken back: make another token instead."],
    preview=_to_revoke,
    run=_run_revoke,
    back=lambda _: reverse("console:tokens"),
)


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
        "site": request.build_absolute_uri(address_of("/")),
        **made,
    }
    return render(request, "console/tokens.html", context, status=status)
