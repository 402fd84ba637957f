"""Who asks? Checks user name and password, or an API token, wherever somebody signs in: REST, console, admin, the
servers' ports.

The user is read on every request: a changed password, a deactivated user count at once. Guessing is slowed down before
anything slow is computed; what this process remembers as right is neither slow nor slowed down.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.contrib.auth.backends import ModelBackend
from django.db import connections, router
from django.http import HttpRequest

from segments.domain.access.basic_auth import parse_basic
from segments.errors import NotAuthenticated
from segments.services.access.api_tokens import TokenUser, find_token_user, is_token
from segments.services.access.checked_passwords import CheckedPasswords
from segments.services.access.sign_in_throttle import TOKENS, throttle

_checked = CheckedPasswords()
#: User name with which any token is taken as the password, for clients that know only HTTP Basic.
TOKEN_USER: Final = "token"  # noqa: S105  # a user name
#: The fields that every request needs; Django reads the others when somebody asks for them.
_FIELDS: Final = frozenset(("id", "username", "password", "is_active", "is_superuser", "is_staff"))


class WrongPassword(NotAuthenticated):
    """``user`` is the name of the user it was tried for, for the audit record only; empty for a name
    that nobody has.
    """

    def __init__(self, user: str) -> None:
        super().__init__("User name or password is wrong.")
        self.user = user


def check_password(name: str, password: str, address: str) -> Any:
    """The active user of this name and password, who asks from ``address`` (an IP address as text).

    WrongPassword, which does not reveal whether the user exists; TooManyRequests (429, ``retry_after_s``) after too
    many attempts.
    """
    user = user_named(name)
    if user is None or not user.is_active:
        throttle().admit(name, address)
        get_user_model()().set_password(password)  # takes as long as a check: names cannot be found out by time
        raise WrongPassword(name if user is not None else "")

    def check() -> str | None:
        throttle().admit(name, address)
        if not user.check_password(password):
            return None
        throttle().succeeded(name, address)
        return str(user.password)

    if not _checked.is_right(name, password, user.password, check):
        raise WrongPassword(name)
    return user


def who_asks(authorization: str, address: str) -> Any:
    """The user that a whole ``Authorization`` header stands for, asked from ``address``; an ``api_tokens.TokenUser``
    for an API token.

    NotAuthenticated when it stands for nobody; TooManyRequests after too many attempts.
    """
    scheme, _, credentials = authorization.strip().partition(" ")
    if scheme.lower() == "bearer":
        return check_token(credentials.strip(), address)
    if scheme.lower() != "basic":
        raise NotAuthenticated("Credentials are missing.", remedy="Send HTTP Basic, or an API token as Bearer.")
    found = parse_basic(credentials)
    if found is None:
        raise NotAuthenticated(
            "The Authorization header is not HTTP Basic: the base64 of user:password is missing in it."
        )
    return check_basic(*found, address)


def check_basic(name: str, password: str, address: str) -> Any:
    """As ``check_password``; an API token counts in the place of its owner's password, also with the user name
    ``token``.
    """
    if not is_token(password):
        return check_password(name, password, address)
    user = check_token(password, address)
    if name not in (user.owner.get_username(), TOKEN_USER):
        raise NotAuthenticated(
            "The API token is not one of this user.", remedy=f"Send its owner's name, or '{TOKEN_USER}'."
        )
    return user


def check_token(token: str, address: str) -> TokenUser:
    """Who asks with an API token. NotAuthenticated, which does not say why it is not taken; TooManyRequests for
    guessing.
    """
    user = find_token_user(token, address) if is_token(token) else None
    if user is None:
        throttle().admit(TOKENS, address)
        raise NotAuthenticated("The token is wrong, has expired or was revoked.")
    return user


class SignInBackend(ModelBackend):
    """What Django's own forms ask (console, admin): the same check. TooManyRequests goes through to the page."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> Any | None:
        """The user, or None for a wrong password."""
        name = username if username is not None else kwargs.get(get_user_model().USERNAME_FIELD)
        if not isinstance(name, str) or password is None:
            return None
        address = str(request.META.get("REMOTE_ADDR") or "") if request is not None else ""
        try:
            return check_password(name, password, address)
        except WrongPassword:
            return None


@lru_cache(maxsize=4)
def _user_query(using: str) -> tuple[str, tuple[Any, ...]]:
    """The question as Django writes it, and its fields in their order; writing it again takes five times as long as
    asking it.
    """
    model = get_user_model()
    fields = tuple(field for field in model._meta.concrete_fields if field.name in _FIELDS)
    query = model._default_manager.using(using).filter(username="?").only(*(field.name for field in fields)).query
    return query.get_compiler(using).as_sql()[0], fields


def user_named(name: str) -> Any:
    """The user as the database has it now, or None."""
    if "\0" in name:
        return None  # nobody is called so, and PostgreSQL does not take it
    model = get_user_model()
    using = router.db_for_read(model)
    question, fields = _user_query(using)
    with connections[using].cursor() as cursor:
        cursor.execute(question, [name])
        row = cursor.fetchone()
    if row is None:
        return None
    values = [field.to_python(value) for field, value in zip(fields, row, strict=True)]
    return model.from_db(using, [field.attname for field in fields], values)
