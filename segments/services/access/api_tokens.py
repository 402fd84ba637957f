"""API tokens: who asks with one, and making, listing and revoking them.

A token is 256 random bits, so its plain SHA-256 is kept: it cannot be guessed, and checking it costs one read of the
database. It never allows more than its owner may at that moment; ``segments.services.access.rights`` decides on both.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.db import DatabaseError, connections, router
from django.db.models import Q, QuerySet
from django.utils import timezone

from segments.domain.access.token_scope import EVERYTHING, SCOPES, TokenScope
from segments.errors import Forbidden, InvalidInput, NotFound, StateConflict
from segments.models import ApiToken
from segments.services.access.rights import has_right_everywhere
from segments.services.core import audit
from segments.services.core.context import Actor

log = logging.getLogger(__name__)
#: What every token begins with: it can be found by who searches for leaked secrets, and distinguished from passwords.
PREFIX: Final = "pinotadmin_"
_RANDOM_BYTES: Final = 32
_LENGTH: Final = len(PREFIX) + 43
#: The use of a token is written at most this often.
_NOTE_USE_EVERY: Final = timedelta(minutes=1)
DEFAULT_DAYS: Final = 90
MOST_DAYS: Final = 730
#: Tokens of one owner that are valid at once.
MOST_TOKENS: Final = 100
_MOST_NAME: Final = 60
_MOST_ACTOR: Final = 150


class TokenUser:
    """Who asks with a token. Has no rights of its own: ``rights`` asks ``owner`` and ``token_scope``."""

    is_authenticated = True
    is_anonymous = False
    is_staff = False
    is_superuser = False

    def __init__(self, token: ApiToken, owner: Any) -> None:
        self.token, self.owner = token, owner
        self.pk = self.id = owner.pk
        self.is_active: bool = owner.is_active

    @cached_property
    def token_scope(self) -> TokenScope:
        """What the token allows."""
        return scope_of(self.token)

    def get_username(self) -> str:
        """The name for audit records: ``ann (token nightly)``."""
        suffix = f" (token {self.token.name})"
        return str(self.owner.get_username())[: _MOST_ACTOR - len(suffix)] + suffix

    def has_perm(self, perm: str, obj: object = None) -> bool:
        """Nothing: Django's permissions know no scopes."""
        return False

    def __str__(self) -> str:
        return self.get_username()


def person_name(user: Any) -> str:
    """Whose limits count: the owner's, however many tokens are asked with."""
    return str(getattr(user, "owner", user).get_username())


@dataclass(frozen=True)
class TokenWish:
    """What somebody wants of a new token. ``days`` until it expires."""

    name: str
    scopes: tuple[str, ...]
    cluster: str = EVERYTHING
    tables: str = EVERYTHING
    days: int = DEFAULT_DAYS

    @property
    def scope(self) -> TokenScope:
        """The same for comparing."""
        return TokenScope(frozenset(self.scopes), self.cluster, self.tables)


def is_token(text: str) -> bool:
    """Does it have the form of one of our tokens? Says nothing on whether it is one."""
    return len(text) == _LENGTH and text.startswith(PREFIX)


def find_token_user(text: str, address: str) -> TokenUser | None:
    """Who asks with this token from ``address``; None when there is none such, or it is expired, revoked or its owner
    deactivated.
    """
    token = _token_of(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())
    now = timezone.now()
    if token is None or state_of(token) != "valid":
        return None
    _note_use(token, address, now)
    return TokenUser(token, token.owner)


def scope_of(token: ApiToken) -> TokenScope:
    """What it allows, at most."""
    return TokenScope(frozenset(token.scopes), token.cluster, token.tables)


def state_of(token: ApiToken) -> str:
    """valid, expired, revoked, or disabled with its owner."""
    if token.revoked_at is not None:
        return "revoked"
    if token.expires_at <= timezone.now():
        return "expired"
    return "valid" if token.owner.is_active else "disabled"


def visible_tokens(user: Any, *, of_all: bool = False) -> list[ApiToken]:
    """The user's own tokens, newest first; ``of_all``: everybody's, for administrators of the installation (else
    Forbidden).

    Who asks with a token is shown what allows no more than that token does.
    """
    found = ApiToken.objects.select_related("owner")
    if of_all and not has_right_everywhere(user, "administer"):
        raise Forbidden("Only administrators of the installation see the tokens of others.")
    if not of_all:
        found = found.filter(owner_id=user.pk)
    return [token for token in found if _is_within_reach(user, token)]


def create_token(user: Any, wish: TokenWish, actor: Actor) -> tuple[ApiToken, str]:
    """(the row, the token itself, which nobody can read again). InvalidInput, StateConflict for a name that is in use.

    Forbidden for who asks with a token and wants more than it allows. It expires with that token, and is revoked with
    it.
    """
    if user.pk is None:
        raise Forbidden("The cluster itself needs no token.")
    _check(wish)
    with_token: ApiToken | None = getattr(user, "token", None)
    if with_token is not None and not wish.scope.is_within(scope_of(with_token)):
        raise Forbidden(
            "A token cannot make one that allows more than itself.",
            remedy="Log in with your password to make this one.",
        )
    now = timezone.now()
    valid = ApiToken.objects.filter(owner_id=user.pk, revoked_at=None, expires_at__gt=now)
    if valid.filter(name=wish.name).exists():
        raise StateConflict(
            f"You have a token named '{wish.name}'.", remedy="Choose another name, or revoke that one.", field="name"
        )
    if valid.count() >= MOST_TOKENS:
        raise StateConflict(f"You have {MOST_TOKENS} valid tokens.", remedy="Revoke some that are not used any more.")
    expires = now + timedelta(days=wish.days)
    secret = PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
    row = ApiToken.objects.create(
        owner_id=user.pk,
        name=wish.name,
        digest=hashlib.sha256(secret.encode()).hexdigest(),
        scopes=sorted(wish.scopes, key=SCOPES.index),
        cluster=wish.cluster,
        tables=wish.tables,
        made_with=with_token,
        expires_at=min(expires, with_token.expires_at) if with_token is not None else expires,
    )
    audit.record(actor, "createToken", cluster=_cluster(row), target=str(row), **_audited(row))
    return row, secret


def find_token(user: Any, token_id: int) -> ApiToken:
    """A token that the user may see and revoke: an own one; any for administrators of the installation. NotFound."""
    row = ApiToken.objects.select_related("owner").filter(pk=token_id).first()
    may = (
        row is not None
        and (row.owner_id == user.pk or has_right_everywhere(user, "administer"))
        and _is_within_reach(user, row)
    )
    if row is None or not may:
        raise NotFound(f"There is no token {token_id} of yours.", remedy="List them with GET /api/v1/tokens.")
    return row


def revoke_token(user: Any, token_id: int, actor: Actor) -> list[ApiToken]:
    """Revoke it, and those that were made with it: all that were still valid. NotFound as ``find_token``."""
    waiting, revoked = [find_token(user, token_id)], []
    while waiting:
        row = waiting.pop()
        waiting.extend(ApiToken.objects.select_related("owner").filter(made_with=row))
        if row.revoked_at is None:
            ApiToken.objects.filter(pk=row.pk, revoked_at=None).update(revoked_at=timezone.now(), revoked_by=actor.name)
            row.refresh_from_db()
            audit.record(actor, "revokeToken", cluster=_cluster(row), target=str(row), **_audited(row))
            revoked.append(row)
    return revoked


def _is_within_reach(user: Any, token: ApiToken) -> bool:
    scope: TokenScope | None = getattr(user, "token_scope", None)
    return scope is None or scope_of(token).is_within(scope)


def _check(wish: TokenWish) -> None:
    if not wish.name.strip() or len(wish.name) > _MOST_NAME or not wish.name.isprintable():
        raise InvalidInput(f"A token needs a name of at most {_MOST_NAME} characters.", field="name")
    unknown = sorted(set(wish.scopes) - set(SCOPES))
    if unknown or not wish.scopes:
        text = f"'{unknown[0]}' is not a scope." if unknown else "A token without a scope allows nothing."
        raise InvalidInput(text, remedy=f"There are {', '.join(SCOPES)}.", field="scopes")
    for field, value, most in (("cluster", wish.cluster, 64), ("tables", wish.tables, 255)):
        if not value or len(value) > most or " " in value or "," in value or not value.isprintable():
            raise InvalidInput(
                f"'{field}' must be one name or pattern, such as sales_*.", remedy="* is everything.", field=field
            )
    if not 1 <= wish.days <= MOST_DAYS:
        raise InvalidInput(f"A token is valid for 1 to {MOST_DAYS} days.", field="expiresInDays")


def _audited(row: ApiToken) -> dict[str, Any]:
    return {
        "token": row.pk,
        "scopes": row.scopes,
        "tables": row.tables,
        "clusterPattern": row.cluster,
        "expires": row.expires_at.isoformat(),
    }


def _cluster(row: ApiToken) -> str:
    return "" if row.cluster == EVERYTHING else row.cluster


def _note_use(token: ApiToken, address: str, now: datetime) -> None:
    """Write when and from where it was used, once a minute. That it cannot be written refuses nobody."""
    if token.last_used_at is not None and now - token.last_used_at < _NOTE_USE_EVERY:
        return
    due: QuerySet[ApiToken] = ApiToken.objects.filter(
        Q(last_used_at=None) | Q(last_used_at__lte=now - _NOTE_USE_EVERY), pk=token.pk
    )
    try:
        due.update(last_used_at=now, last_used_from=address[:64])
    except DatabaseError as error:
        log.warning("The use of token %s could not be noted: %s", token.pk, error)


@dataclass(frozen=True)
class _Question:
    """A statement as Django writes it, and how it reads the answer: letting Django make both each time takes eight
    times as long.
    """

    text: str
    #: Field names of the token's columns, then of its owner's.
    token: tuple[str, ...]
    owner: tuple[str, ...]
    #: {column: (functions that make Python values, what they are given of the column)}.
    converters: dict[int, tuple[list[Any], Any]]


@lru_cache(maxsize=4)
def _question(using: str) -> _Question:
    compiler = (
        ApiToken.objects.using(using).select_related("owner").filter(digest="?").order_by().query.get_compiler(using)
    )
    text = compiler.as_sql()[0]
    columns = [column for column, *_ in compiler.select]
    names = [column.target.attname for column in columns]
    count = len(ApiToken._meta.concrete_fields)
    return _Question(text, tuple(names[:count]), tuple(names[count:]), compiler.get_converters(columns))


def _token_of(digest: str) -> ApiToken | None:
    """The token with its owner as the database has them now."""
    using = router.db_for_read(ApiToken)
    question, connection = _question(using), connections[using]
    with connection.cursor() as cursor:
        cursor.execute(question.text, [digest])
        found = cursor.fetchone()
    if found is None:
        return None
    row = list(found)
    for position, (functions, column) in question.converters.items():
        for function in functions:
            row[position] = function(row[position], column, connection)
    count = len(question.token)
    token = ApiToken.from_db(using, question.token, row[:count])
    token.owner = get_user_model().from_db(using, question.owner, row[count:])
    return token
