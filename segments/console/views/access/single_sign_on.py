"""Signing in with the identity provider: there by a button of the log-in page, and back."""

from __future__ import annotations

import hmac
import json
from dataclasses import asdict
from typing import Final

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from segments.console.too_many_attempts import as_refusal
from segments.console.views.access import logout
from segments.console.views.access.elsewhere import send_to_provider
from segments.domain.access.claimed_person import claimed_person
from segments.errors import NotAuthenticated, PinotAdminError, Rejected, TooManyRequests
from segments.gateways.identity_provider import IdentityProvider, Started
from segments.services.access.people_audit import acting_as
from segments.services.access.refusals import record_refusal
from segments.services.access.sign_in_throttle import TOKENS, throttle
from segments.services.access.sign_on_settings import group_rules, identity_provider
from segments.services.access.single_sign_on import user_of
from segments.services.core.context import Actor
from segments.services.core.page_addresses import own_address

#: A signed cookie: a row of a session for each who begins would be a way to fill the database.
_KEPT: Final = "pinotadmin_sign_on"
#: Seconds that a person may take at the provider.
_PATIENCE_S: Final = 600
_LONGEST_CODE: Final = 4_096
_LONGEST_TOKEN: Final = 6_000
_LONGEST_NEXT: Final = 500
_BACKEND: Final = "segments.services.access.sign_in.SignInBackend"


@never_cache
@require_POST
def leave(request: HttpRequest) -> HttpResponse:
    """To the provider. A form with its token: no foreign page signs somebody in."""
    try:
        url, started = _provider().start(_redirect_uri(request))
    except PinotAdminError as error:
        return _refusal(request, error)
    kept = json.dumps(asdict(started) | {"next": request.POST.get("next", "")[:_LONGEST_NEXT]})
    answer = send_to_provider(request, url, "Sign in there, and you come back.")
    answer.set_signed_cookie(
        _KEPT,
        kept,
        max_age=_PATIENCE_S,
        path=reverse("console:sign_on"),
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )
    return answer


@never_cache
@require_GET
def come_back(request: HttpRequest) -> HttpResponse:
    """From the provider: the browser that left is signed in."""
    answer = _signed_in(request)
    answer.delete_cookie(_KEPT, path=reverse("console:sign_on"))
    return answer


def _signed_in(request: HttpRequest) -> HttpResponse:
    address = str(request.META.get("REMOTE_ADDR") or "")
    try:
        provider = _provider()
        code, started, wanted = _checked(request)
        throttle().admit(TOKENS, address)
        rules = group_rules()
        signed_in = provider.finish(code, _redirect_uri(request), started)
        person = claimed_person(signed_in.claims, rules)
        with acting_as(lambda: Actor(person.name, "single sign-on", address)):
            user = user_of(person, settings.OIDC_ISSUER, rules)
    except TooManyRequests as error:
        return as_refusal(_refusal(request, error), error)
    except PinotAdminError as error:
        record_refusal(Actor("anonymous", "", address), request.path, error=error.message)
        return _refusal(request, error)
    throttle().succeeded(TOKENS, address)
    login(request, user, backend=_BACKEND)
    request.session.set_expiry(settings.OIDC_SESSION_S)
    if len(signed_in.id_token) <= _LONGEST_TOKEN:  # it goes into an address
        request.session[logout.KEY] = signed_in.id_token
    return redirect(own_address(request, wanted) or settings.LOGIN_REDIRECT_URL)


def _provider() -> IdentityProvider:
    found = identity_provider()
    if found is None:
        raise Rejected("Single sign-on is not configured.", remedy="Log in with user name and password.")
    return found


def _checked(request: HttpRequest) -> tuple[str, Started, str]:
    """The code, what the browser left with, and where the person wanted to go."""
    given = request.GET
    kept = request.get_signed_cookie(_KEPT, default="", max_age=_PATIENCE_S)
    if not kept:
        raise NotAuthenticated("This sign-in was started in another browser, or too long ago.", remedy="Sign in again.")
    left = json.loads(kept)
    if not hmac.compare_digest(given.get("state", "").encode(), left["state"].encode()):
        raise NotAuthenticated("The answer of the identity provider belongs to another sign-in.", remedy="Try again.")
    code = given.get("code", "")
    if not code or len(code) > _LONGEST_CODE:
        why = given.get("error_description") or given.get("error") or "it gives no code"
        raise NotAuthenticated(f"The identity provider did not sign you in: {why[:200]}.", remedy="Sign in again.")
    return code, Started(left["state"], left["nonce"], left["verifier"]), str(left["next"])


def _redirect_uri(request: HttpRequest) -> str:
    return settings.OIDC_REDIRECT_URL or request.build_absolute_uri(reverse("console:sign_on_return"))


def _refusal(request: HttpRequest, error: PinotAdminError) -> HttpResponse:
    shown = {"form": AuthenticationForm(request), "refusal": error, "sign_on": settings.OIDC_NAME}
    return render(request, "console/login.html", shown, status=error.status)
