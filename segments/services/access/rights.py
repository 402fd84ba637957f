"""Who may do what with which table of which cluster: the one place that the API, the console and the admin ask.

Any active user reads and queries, unless the setting ``READ_BY_GRANT`` restricts it; then that takes the right
``read``. Changes need ``operate`` or ``administer``. Each of the three includes those before it. A user has a right for
the whole installation (Django's permissions ``segments.read``, ``segments.operate`` and ``segments.administer``), or by
a ``Grant`` to the user or one of their groups: for one cluster or all, for the tables whose name matches a pattern.
What nobody was given is denied.

Who asks with an API token has the rights of its owner, as far as the token's scope allows them. ``query`` is the right
to read tables by queries: people have it with ``read``, tokens by a scope of its own.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from django.conf import settings
from django.db.models import Q

from segments.domain.access.token_scope import EVERYTHING, TokenScope, both, covers
from segments.models import Grant

__all__ = [
    "EVERYTHING",
    "Right",
    "allows",
    "covers",
    "has_right",
    "has_right_everywhere",
    "has_right_somewhere",
    "read_grants",
]

Right = Literal["read", "query", "operate", "administer"]

PERMISSIONS: Final[dict[Right, str]] = {
    "read": "segments.read",
    "operate": "segments.operate",
    "administer": "segments.administer",
}
_ORDER: Final[tuple[Right, ...]] = ("read", "operate", "administer")
_READ: Final = "_grants_read"


def has_right(user: Any, right: Right, cluster: str, table: str | None = None) -> bool:
    """May ``user`` do what needs ``right`` with this table (raw or typed), or, without one, with the cluster as a
    whole?

    A grant for ``sales_*`` covers the raw name, and so both halves of a hybrid table; one for ``sales_OFFLINE`` only
    what names that half.
    """
    if not _is_known(user):
        return False
    scope, owner = _scope(user)
    if scope is not None and not scope.allows(right, cluster, table):
        return False
    return _everywhere(owner, right) or any(covers(g.tables, table) for g in _grants(owner, right, cluster))


def has_right_somewhere(user: Any, right: Right, cluster: str) -> bool:
    """Is there any table of the cluster that this holds for? For buttons whose table is chosen only later."""
    if not _is_known(user):
        return False
    scope, owner = _scope(user)
    if scope is not None and not scope.allows_somewhere(right, cluster):
        return False
    if _everywhere(owner, right):
        return True
    return any(scope is None or both(g.tables, scope.tables) is not None for g in _grants(owner, right, cluster))


def has_right_everywhere(user: Any, right: Right) -> bool:
    """Has this user the right for the whole installation? Needed for what belongs to no cluster, such as adding one."""
    if not _is_known(user):
        return False
    scope, owner = _scope(user)
    return (scope is None or scope.allows_everywhere(right)) and _everywhere(owner, right)


def allows(user: Any, right: Right) -> bool:
    """Does what the user asks with allow this with anything at all? Asked before a view that checks tables itself,
    or shows none.
    """
    if not _is_known(user):
        return False
    scope, _ = _scope(user)
    return scope is None or right in scope.allowed


def read_grants(user: Any) -> list[tuple[str, str]] | None:
    """What a user reads when it is not everything: (cluster or ``*``, pattern of tables) of each grant. None:
    everything.
    """
    if has_right_everywhere(user, "read"):
        return None
    if not _is_known(user):
        return []
    scope, owner = _scope(user)
    grants = (
        [(EVERYTHING, EVERYTHING)]
        if _everywhere(owner, "read")
        else [(g.cluster, g.tables) for g in _all_grants(owner)]
    )
    if scope is None:
        return grants
    return [found for grant in grants if "read" in scope.allowed and (found := _within(grant, scope)) is not None]


def _within(grant: tuple[str, str], scope: TokenScope) -> tuple[str, str] | None:
    """What of a grant is left to a token; nothing where the two patterns cannot be made one."""
    cluster, tables = both(grant[0], scope.cluster), both(grant[1], scope.tables)
    return (cluster, tables) if cluster is not None and tables is not None else None


def _is_known(user: Any) -> bool:
    return user is not None and user.is_authenticated and user.is_active


def _scope(user: Any) -> tuple[TokenScope | None, Any]:
    """The limits of the token that is asked with, and whose rights count; for people themselves (None, the user)."""
    scope: TokenScope | None = getattr(user, "token_scope", None)
    return scope, user if scope is None else user.owner


def _everywhere(user: Any, right: Right) -> bool:
    if right in ("read", "query") and not settings.READ_BY_GRANT:
        return True
    return bool(user.is_superuser) or any(user.has_perm(PERMISSIONS[r]) for r in _sufficient(right))


def _grants(user: Any, right: Right, cluster: str) -> list[Grant]:
    """Grants of the user and their groups that would suffice for some table of the cluster."""
    return [g for g in _all_grants(user) if g.cluster in (cluster, EVERYTHING) and g.right in _sufficient(right)]


def _all_grants(user: Any) -> list[Grant]:
    """Grants of the user and their groups; none for users that are in no database. Read once for a user object, so once
    in a request.
    """
    if user.pk is None:
        return []
    if not hasattr(user, _READ):
        setattr(user, _READ, list(Grant.objects.filter(Q(user_id=user.pk) | Q(group__user=user.pk)).distinct()))
    found: list[Grant] = getattr(user, _READ)
    return found


def _sufficient(right: Right) -> tuple[Right, ...]:
    return _ORDER[_ORDER.index("read" if right == "query" else right) :]
