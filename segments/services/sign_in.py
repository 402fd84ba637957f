"""Who asks, by the credentials that came with a request: the one place that the web process and the embedded servers ask.

The user is read from the database on every request: a changed password, a deactivated user count at once, in every process.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.db import connections, router

from segments.domain.basic_auth import parse_basic
from segments.errors import NotAuthenticated
from segments.services.checked_passwords import CheckedPasswords

#: The fields that every request needs; Django reads the others when somebody asks for them.
_FIELDS: Final = frozenset(("id", "username", "password", "is_active", "is_superuser", "is_staff"))

_checked = CheckedPasswords()


class WrongPassword(NotAuthenticated):
    """``user`` is the name of the user it was tried for, for the audit record only; empty for a name that nobody has."""

    def __init__(self, user: str) -> None:
        super().__init__("User name or password is wrong.")
        self.user = user


def who_asks(authorization: str, address: str) -> Any:
    """The user that a whole ``Authorization`` header stands for, asked from ``address``. NotAuthenticated when it stands for nobody."""
    scheme, _, token = authorization.strip().partition(" ")
    if scheme.lower() != "basic":
        raise NotAuthenticated("Credentials are missing.", remedy="Send HTTP Basic.")
    found = parse_basic(token)
    if found is None:
        raise NotAuthenticated("The Authorization header is no HTTP Basic: the base64 of user:password is missing in it.")
    return check_password(*found, address)


def check_password(name: str, password: str, address: str) -> Any:
    """The active user whose password this is, asked from ``address``. WrongPassword, which does not say whether the user exists."""
    user = user_named(name)
    if user is not None and user.is_active:
        if _checked.is_right(name, password, user.password, lambda: user.password if user.check_password(password) else None):
            return user
    else:
        get_user_model()().set_password(password)  # takes as long as a check: names can not be told apart by time
    raise WrongPassword(name if user is not None else "")


def user_named(name: str) -> Any:
    """The user as the database has it now, or None."""
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


@lru_cache(maxsize=4)
def _user_query(using: str) -> tuple[str, tuple[Any, ...]]:
    """The question as Django writes it, and its fields in their order; writing it anew takes five times as long as asking it."""
    model = get_user_model()
    fields = tuple(field for field in model._meta.concrete_fields if field.name in _FIELDS)
    query = model._default_manager.using(using).filter(username="?").only(*(field.name for field in fields)).query
    return query.get_compiler(using).as_sql()[0], fields
