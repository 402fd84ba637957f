"""Who may do what with which table of which cluster: the one place that the API, the console and the admin ask.

Any active user reads and queries. Changes need a right, ``operate`` or ``administer`` (which includes the former). A user has it for the
whole installation (Django's permissions ``segments.operate`` and ``segments.administer``), or by a ``Grant`` to the user or one of their
groups: for one cluster or all, for the tables whose name matches a pattern. What nobody was given is denied.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from django.db.models import Q

from segments.models import Grant
from segments.names import split_table_name

Right = Literal["read", "operate", "administer"]

PERMISSIONS: Final[dict[Right, str]] = {"operate": "segments.operate", "administer": "segments.administer"}
#: Pattern of a grant for everything in its cluster: all tables, and what belongs to no table (instances, settings, passes over all).
EVERYTHING: Final = "*"
_READ: Final = "_grants_read"


def has_right(user: Any, right: Right, cluster: str, table: str | None = None) -> bool:
    """May ``user`` do what needs ``right`` with this table (raw or typed), or, without one, with the cluster as a whole?

    A grant for ``sales_*`` covers the raw name, and so both halves of a hybrid table; one for ``sales_OFFLINE`` only what names that half.
    """
    if user is None or not user.is_authenticated or not user.is_active:
        return False
    if right == "read" or has_right_everywhere(user, right):
        return True
    return any(covers(g.tables, table) for g in _grants(user, right, cluster))


def has_right_somewhere(user: Any, right: Right, cluster: str) -> bool:
    """Is there any table of the cluster that this holds for? For buttons whose table is chosen only later."""
    if user is None or not user.is_authenticated or not user.is_active:
        return False
    return right == "read" or has_right_everywhere(user, right) or bool(_grants(user, right, cluster))


def has_right_everywhere(user: Any, right: Right) -> bool:
    """Has this user the right for the whole installation? Needed for what belongs to no cluster, such as adding one."""
    if user is None or not user.is_authenticated or not user.is_active:
        return False
    return bool(user.is_superuser) or any(user.has_perm(PERMISSIONS[r]) for r in _sufficient(right))


def covers(pattern: str, table: str | None) -> bool:
    """Does a grant's pattern cover the table, by its raw or typed name? Without a table only ``*`` does."""
    if table is None:
        return pattern == EVERYTHING
    return any(fnmatchcase(name, pattern) for name in {table, split_table_name(table)[0]})


def _grants(user: Any, right: Right, cluster: str) -> list[Grant]:
    """Grants of the user and their groups that would suffice for some table; none for users that are in no database.

    Read once for a user object, and so once in a request.
    """
    if user.pk is None:
        return []
    if not hasattr(user, _READ):
        setattr(user, _READ, list(Grant.objects.filter(Q(user_id=user.pk) | Q(group__user=user.pk)).distinct()))
    return [g for g in getattr(user, _READ) if g.cluster in (cluster, EVERYTHING) and g.right in _sufficient(right)]


def _sufficient(right: Right) -> tuple[Right, ...]:
    return ("operate", "administer") if right == "operate" else ("administer",)
