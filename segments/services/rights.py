"""Who may do what with which table of which cluster: the one place that the API, the console and the admin ask.

Any active user reads and queries, unless the setting ``READ_BY_GRANT`` restricts it; then that takes the right ``read``. Changes need
``operate`` or ``administer``. Each of the three includes those before it. A user has a right for the whole installation (Django's
permissions ``segments.read``, ``segments.operate`` and ``segments.administer``), or by a ``Grant`` to the user or one of their groups:
for one cluster or all, for the tables whose name matches a pattern. What nobody was given is denied.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from django.conf import settings
from django.db.models import Q

from segments.models import Grant
from segments.names import split_table_name

Right = Literal["read", "operate", "administer"]

PERMISSIONS: Final[dict[Right, str]] = {"read": "segments.read", "operate": "segments.operate", "administer": "segments.administer"}
_ORDER: Final[tuple[Right, ...]] = ("read", "operate", "administer")
#: Pattern of a grant for everything in its cluster: all tables, and what belongs to no table (instances, settings, passes over all).
EVERYTHING: Final = "*"
_READ: Final = "_grants_read"


def has_right(user: Any, right: Right, cluster: str, table: str | None = None) -> bool:
    """May ``user`` do what needs ``right`` with this table (raw or typed), or, without one, with the cluster as a whole?

    A grant for ``sales_*`` covers the raw name, and so both halves of a hybrid table; one for ``sales_OFFLINE`` only what names that half.
    """
    if user is None or not user.is_authenticated or not user.is_active:
        return False
    return has_right_everywhere(user, right) or any(covers(g.tables, table) for g in _grants(user, right, cluster))


def has_right_somewhere(user: Any, right: Right, cluster: str) -> bool:
    """Is there any table of the cluster that this holds for? For buttons whose table is chosen only later."""
    if user is None or not user.is_authenticated or not user.is_active:
        return False
    return has_right_everywhere(user, right) or bool(_grants(user, right, cluster))


def has_right_everywhere(user: Any, right: Right) -> bool:
    """Has this user the right for the whole installation? Needed for what belongs to no cluster, such as adding one."""
    if user is None or not user.is_authenticated or not user.is_active:
        return False
    if right == "read" and not settings.READ_BY_GRANT:
        return True
    return bool(user.is_superuser) or any(user.has_perm(PERMISSIONS[r]) for r in _sufficient(right))


def read_grants(user: Any) -> list[tuple[str, str]] | None:
    """What a user reads when it is not everything: (cluster or ``*``, pattern of tables) of each grant. None: everything."""
    if has_right_everywhere(user, "read"):
        return None
    if user is None or not user.is_authenticated or not user.is_active:
        return []
    return [(g.cluster, g.tables) for g in _all_grants(user)]


def covers(pattern: str, table: str | None) -> bool:
    """Does a grant's pattern cover the table, by its raw or typed name? Without a table only ``*`` does."""
    if table is None:
        return pattern == EVERYTHING
    return any(fnmatchcase(name, pattern) for name in {table, split_table_name(table)[0]})


def _grants(user: Any, right: Right, cluster: str) -> list[Grant]:
    """Grants of the user and their groups that would suffice for some table of the cluster."""
    return [g for g in _all_grants(user) if g.cluster in (cluster, EVERYTHING) and g.right in _sufficient(right)]


def _all_grants(user: Any) -> list[Grant]:
    """Grants of the user and their groups; none for users that are in no database. Read once for a user object, so once in a request."""
    if user.pk is None:
        return []
    if not hasattr(user, _READ):
        setattr(user, _READ, list(Grant.objects.filter(Q(user_id=user.pk) | Q(group__user=user.pk)).distinct()))
    found: list[Grant] = getattr(user, _READ)
    return found


def _sufficient(right: Right) -> tuple[Right, ...]:
    return _ORDER[_ORDER.index(right) :]
