"""Who asks: HTTP Basic against the users, and API tokens. The cluster's own processes: ``cluster_calls``."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from segments.domain.access.basic_auth import parse_basic
from segments.domain.access.browser_request import is_browser, is_foreign
from segments.errors import NotAuthenticated, PinotAdminError
from segments.services.access.api_tokens import TokenUser, is_token
from segments.services.access.known_people import known_people
from segments.services.access.sign_in import check_basic, check_token
from segments.services.core.context import Actor

_MAX_REASON: Final = 500
#: Why a request with remembered credentials is refused.
FOREIGN: Final = (
    "A page of another site started this request, with credentials that the browser remembers. Open the address "
    "itself, log in at "
    "/login/, or send an API token."
)


class WrongCredentials(exceptions.AuthenticationFailed):
    """``user`` is the name of the user that a password was tried for, for the audit record only."""

    def __init__(self, error: NotAuthenticated, user: str = "") -> None:
        super().__init__(str(error))
        self.user = user


def is_from_browser(request: Any) -> bool:
    """Does a browser send it? Then a GET must change nothing, whatever the credentials are: any page can make it send
    one.
    """
    return is_browser(request.META.get("HTTP_USER_AGENT", ""), request.META.get("HTTP_SEC_FETCH_MODE", ""))


def _is_foreign(request: Any) -> bool:
    own = f"{request.scheme}://{request.META.get('HTTP_HOST', '')}"
    site, origin = request.META.get("HTTP_SEC_FETCH_SITE", ""), request.META.get("HTTP_ORIGIN", "")
    return is_foreign(site, origin, own, settings.CSRF_TRUSTED_ORIGINS)


def _challenge(request: Any) -> str:
    """Makes a refusal 401. Browsers are not asked for a password: they would remember it and send it along for every
    page's requests.
    """
    return f'{"Bearer" if is_from_browser(request) else "Basic"} realm="pinotadmin"'


class BasicAuthentication(authentication.BasicAuthentication):
    """HTTP Basic. The user is read on every request: a changed password, a deactivated user count at once.

    PermissionDenied for a request that a page of another origin made a browser send.
    """

    www_authenticate_realm = "pinotadmin"

    def authenticate(self, request: Request) -> tuple[Any, None] | None:
        """(user, None); None for other schemes; AuthenticationFailed for what is not HTTP Basic and for wrong
        credentials.
        """
        scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() != "basic":
            return None
        if _is_foreign(request):
            raise exceptions.PermissionDenied(FOREIGN)
        found = parse_basic(token)
        if found is None:
            raise exceptions.AuthenticationFailed(
                "The Authorization header is not HTTP Basic: the base64 of user:password is missing in it."
            )
        return self.authenticate_credentials(*found, request)

    def authenticate_credentials(self, userid: str, password: str, request: Any = None) -> tuple[Any, None]:
        """(user, None), or AuthenticationFailed, which does not say whether the user exists; TooManyRequests for who
        guesses.

        An API token is taken in the place of the password, for clients that know nothing else.
        """
        address = address_of(request)
        try:
            user = known_people().ask(f"Basic {userid}:{password}", lambda: check_basic(userid, password, address))
            return user, None
        except NotAuthenticated as error:
            raise WrongCredentials(error, getattr(error, "user", "")) from error


class TokenAuthentication(authentication.BaseAuthentication):
    """``Authorization: Bearer pinotadmin_...``: an API token."""

    def authenticate(self, request: Request) -> tuple[TokenUser, None] | None:
        """(who asks, None); None for what is none of our tokens; AuthenticationFailed for one that is not valid."""
        scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
        if scheme.lower() != "bearer" or not is_token(token.strip()):
            return None
        text, address = token.strip(), address_of(request)
        try:
            return known_people().ask(f"Bearer {text}", lambda: check_token(text, address)), None
        except NotAuthenticated as error:
            raise WrongCredentials(error) from error

    def authenticate_header(self, request: Request) -> str:
        """As for the others."""
        return _challenge(request)


def actor_of(request: Request, reason: str = "") -> Actor:
    """Who asks and from where; the reason is given, or the header ``X-Reason``, or the parameter ``reason``."""
    try:
        name = request.user.get_username() if request.user and request.user.is_authenticated else "anonymous"
    except (exceptions.APIException, PinotAdminError):
        name = "anonymous"  # asking for the user is what failed
    given = reason or request.headers.get("X-Reason") or request.query_params.get("reason") or ""
    return Actor(name, given.replace("\x00", "")[:_MAX_REASON], address_of(request))


def address_of(request: Any) -> str:
    """The IP address that a request comes from; empty when it is not known."""
    return str(request.META.get("REMOTE_ADDR") or "") if request is not None else ""
