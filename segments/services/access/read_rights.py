"""What somebody may read where reading is restricted: rows of the database, names in a list, tables of a query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from django.db.models import Model, Q, QuerySet, Value
from django.db.models.functions import Concat

from segments.domain.access.token_scope import covers
from segments.errors import Forbidden
from segments.models import AuditEvent, Push
from segments.names import OFFLINE
from segments.services.access.rights import EVERYTHING, has_right, read_grants

M = TypeVar("M", bound=Model)

_TYPE: Final = "_(?:OFFLINE|REALTIME)"
_OF_SCHEMAS: Final = ("createSchema", "updateSchema", "deleteSchema")
_NOTHING: Final = Q(pk__in=[])


def require_reading(user: Any, cluster: str, table: str | None) -> None:
    """Forbidden unless ``user`` may read the table (raw or typed), or, without one, everything in the cluster. Checked
    before anything is read, so that the answer is the same for tables that do not exist.
    """
    if not has_right(user, "read", cluster, table):
        raise forbidden(table)


def forbidden(table: str | None) -> Forbidden:
    """To raise for a table (None: a cluster as a whole) that the asker may not read."""
    what = f"table '{table[:200]}'" if table else "everything in this cluster"
    return Forbidden(f"You may not read {what}.", remedy="Ask an administrator for a grant of 'read'.")


def reads_all(user: Any) -> bool:
    """May the user read every table of every cluster?"""
    return read_grants(user) is None


def readable(user: Any, cluster: str) -> Callable[[str], bool]:
    """A predicate on names (raw or typed) of tables of the cluster: may the user read this one?"""
    grants = read_grants(user)
    if grants is None:
        return lambda _: True
    patterns = [tables for name, tables in grants if name in (cluster, EVERYTHING)]
    return lambda table: any(covers(pattern, table) for pattern in patterns)


def readable_rows(rows: QuerySet[M, Any], user: Any, *, cluster: str, table: str) -> QuerySet[M, Any]:
    """The rows about tables that the user may read. ``cluster`` and ``table`` are the columns with their names, the
    latter typed.
    """
    grants = read_grants(user)
    return rows if grants is None else rows.filter(_any(_about(g, cluster, table, "") for g in grants))


def readable_pushes(rows: QuerySet[Push, Any], user: Any) -> QuerySet[Push, Any]:
    """Pushes to tables that the user may read."""
    if reads_all(user):
        return rows
    named = rows.alias(_typed=Concat("table_name", Value(f"_{OFFLINE}")))
    return readable_rows(named, user, cluster="cluster", table="_typed")


def readable_events(rows: QuerySet[AuditEvent, Any], user: Any) -> QuerySet[AuditEvent, Any]:
    """Audit records of tables and schemas that the user may read, and what they did themselves; for a token only the
    former.
    """
    grants = read_grants(user)
    if grants is None:
        return rows
    of_tables = Q(target__regex=f"{_TYPE}(?:/|$)") & _any(_about(g, "cluster", "target", "(?:/.*)?") for g in grants)
    of_schemas = Q(action__in=_OF_SCHEMAS) & _any(_about(g, "cluster", "target", "") for g in grants)
    own = _NOTHING if getattr(user, "token_scope", None) is not None else Q(actor=user.get_username())
    return rows.filter(own | of_tables | of_schemas)


def _any(conditions: Iterable[Q]) -> Q:
    found = list(conditions)
    if not found:
        return _NOTHING
    whole = found[0]
    for condition in found[1:]:
        whole |= condition
    return whole


def _about(grant: tuple[str, str], cluster: str, table: str, more: str) -> Q:
    """Rows that a grant covers; ``more`` may follow the table's name."""
    name, pattern = grant
    of_cluster = Q() if name == EVERYTHING else Q(**{cluster: name})
    if pattern == EVERYTHING:
        return of_cluster | Q(pk__isnull=False) if name == EVERYTHING else of_cluster
    return of_cluster & Q(**{f"{table}__regex": f"^(?:{as_regex(pattern)})(?:{_TYPE})?{more}$"})


def as_regex(pattern: str) -> str:
    """A grant's pattern (``*``, ``?``, ``[a-z]``) as SQLite and PostgreSQL both read it; what stands for any text holds
    no slash.
    """
    parts, at = [], 0
    while at < len(pattern):
        end = pattern.find("]", at + 2 + (pattern[at + 1 : at + 2] == "!")) if pattern[at] == "[" else -1
        if end > 0:
            inside = pattern[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            parts.append(f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside.replace('^', chr(92) + '^', 1)}]")
            at = end
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[at]) or re.escape(pattern[at]))
        at += 1
    return "".join(parts)
