"""What an API token allows, and which of two allows more. Never more than its owner may: that is asked besides."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, Literal, get_args

from segments.names import split_table_name

Scope = Literal["read", "query", "operate", "administer"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
#: Pattern of every cluster, or of everything in one.
EVERYTHING: Final = "*"
#: What holding a scope also allows. Data of tables (``query``) is a matter of its own: a program that loads them need
#: not read them.
_INCLUDED: Final[dict[str, frozenset[str]]] = {
    "read": frozenset(("read",)),
    "query": frozenset(("query",)),
    "operate": frozenset(("read", "operate")),
    "administer": frozenset(("read", "operate", "administer")),
}


@dataclass(frozen=True)
class TokenScope:
    """Scopes, the cluster's name (or ``*``) and the pattern of the tables' names."""

    scopes: frozenset[str]
    cluster: str = EVERYTHING
    tables: str = EVERYTHING

    @property
    def allowed(self) -> frozenset[str]:
        """The scopes with those that they include."""
        return frozenset().union(*(_INCLUDED.get(scope, frozenset()) for scope in self.scopes))

    def allows(self, right: str, cluster: str, table: str | None) -> bool:
        """Does it allow this with the table (raw or typed name) or, without one, with the cluster as a whole?"""
        return self.allows_somewhere(right, cluster) and covers(self.tables, table)

    def allows_somewhere(self, right: str, cluster: str) -> bool:
        """Does it allow this with some table of the cluster?"""
        return right in self.allowed and self.cluster in (cluster, EVERYTHING)

    def allows_everywhere(self, right: str) -> bool:
        """Does it allow this with everything in every cluster?"""
        return right in self.allowed and self.cluster == EVERYTHING and self.tables == EVERYTHING

    def is_within(self, other: TokenScope) -> bool:
        """Does it allow nothing that ``other`` does not allow?"""
        is_same_cluster = other.cluster in (self.cluster, EVERYTHING)
        return self.allowed <= other.allowed and is_same_cluster and is_narrower(self.tables, other.tables)


def covers(pattern: str, table: str | None) -> bool:
    """Does a pattern cover the table, by its raw or typed name? Without a table only ``*`` does.

    ``sales_*`` covers the raw name, and so both halves of a hybrid table; ``sales_OFFLINE`` only what names that half.
    """
    if table is None:
        return pattern == EVERYTHING
    return any(fnmatchcase(name, pattern) for name in {table, split_table_name(table)[0]})


def is_narrower(pattern: str, than: str) -> bool:
    """Does every name that ``pattern`` matches also match ``than``? No, too, where a comparison of the two texts does
    not show it.
    """
    if pattern == than or than == EVERYTHING:
        return True
    if not any(character in pattern for character in "*?["):
        return covers(than, pattern)
    # With stars alone on the right, whatever a wildcard on the left stands for lies within what a star on the right
    # stands for.
    return "[" not in pattern and not any(character in than for character in "?[") and fnmatchcase(pattern, than)


def both(one: str, other: str) -> str | None:
    """A pattern that matches only what both match: the narrower one; None where neither is known to be."""
    if is_narrower(one, other):
        return one
    return other if is_narrower(other, one) else None
