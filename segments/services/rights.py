"""Who may do what with which table of which cluster: the one place that the API, the console and the admin ask.

Any active user reads and queries. Changes need a right, ``operate`` or ``administer`` (which includes the former). A user has it for the
whole installation (Django's permissions ``segments.operate`` and ``segments.administer``), or by a ``Grant`` to the user or one of their
groups: for one cluster or all, for the tables whose name matches a pattern. What nobody was given is denied.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, Literal

from django.db.models import Q

from segments.models import Grant
from segments.names import split_table_name

if TYPE_CHECKING:
    from collections.abc import Iterable

Right = Literal["read", "operate", "administer"]

PERMISSIONS: Final[dict[Right, str]] = {"operate": "segments.operate", "administer": "segments.administer"}
#: Pattern of a grant for everything in its cluster: all tables, and what belongs to no table (instances, settings, passes over all).
EVERYTHING: Final = "*"


def has_right(user: Any, right: Right, cluster: str, table: str | None = None) -> bool:
    """May ``user`` do what needs ``right`` with this table (raw or typed), or, without one, with the cluster as a whole?

    A grant for ``sales_*`` covers the raw name, and so both halves of a hybrid table; one for ``sales_OFFLINE`` only what names that half.
    """
    if user is None or not user.is_authenticated or not user.is_active:
        return False
    if right == "read" or is_given_everywhere(user, right):
        return True
    return any(covers(g.tables, table) for g in _grants(user, right, cluster))


def has_right_somewhere(user: Any, right: Right, cluster: str) -> bool:
    """Is there any table of the cluster that this holds for? For buttons whose table is chosen only later."""
    if user is None or not user.is_authenticated or not user.is_active:
        return False
    return right == "read" or is_given_everywhere(user, right) or bool(_grants(user, right, cluster))


def is_given_everywhere(user: Any, right: Right) -> bool:
    """Has this active user the right for the whole installation?"""
    return bool(user.is_superuser) or any(user.has_perm(PERMISSIONS[r]) for r in _sufficient(right))


def covers(pattern: str, table: str | None) -> bool:
    """Does a grant's pattern cover the table, by its raw or typed name? Without a table only ``*`` does."""
    if table is None:
        return pattern == EVERYTHING
    return any(fnmatchcase(name, pattern) for name in {table, split_table_name(table)[0]})


def _grants(user: Any, right: Right, cluster: str) -> Iterable[Grant]:
    """Grants of the user and their groups that would suffice for some table; none for users that are in no database."""
    if user.pk is None:
        return []
    whose = Q(user_id=user.pk) | Q(group__user=user.pk)
    return list(Grant.objects.filter(whose, Q(cluster=cluster) | Q(cluster=EVERYTHING), right__in=_sufficient(right)).distinct())


def _sufficient(right: Right) -> tuple[Right, ...]:
    return ("operate", "administer") if right == "operate" else ("administer",)
