"""What a person may name in a query: tables that they may read, their columns, functions."""

from __future__ import annotations

from typing import Any, Final

from segments.console.presenters.tables import schema_columns
from segments.models import Table
from segments.services.access.read_rights import readable_rows

#: Names of tables at once; a search finds the others.
SHOWN_TABLES: Final = 50
_KEYWORDS: Final = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "OFFSET", "DISTINCT", "AND", "OR", "NOT",
    "IN", "BETWEEN", "LIKE", "IS NULL", "IS NOT NULL", "CASE", "WHEN", "THEN", "ELSE", "END", "CAST", "JOIN",
    "LEFT JOIN", "ON", "USING", "WITH", "UNION ALL", "OVER", "PARTITION BY", "ASC", "DESC", "AS", "OPTION",
)  # fmt: skip


def table_names(cluster: str, user: Any, search: str = "") -> tuple[list[str], bool]:
    """Raw names that hold the text, those that begin with it first; and whether there are more than are given."""
    rows = _readable(cluster, user)
    if search:
        rows = rows.filter(raw_name__icontains=search)
    found = list(rows.order_by("raw_name").values_list("raw_name", flat=True).distinct()[: SHOWN_TABLES + 1])
    first = sorted(found[:SHOWN_TABLES], key=lambda n: (not n.lower().startswith(search.lower()), n))
    return first, len(found) > SHOWN_TABLES


def table_columns(cluster: str, user: Any, name: str) -> list[dict[str, str]]:
    """``[{"name", "type", "kind"}]`` of a raw or typed table; [] for one that is not there or may not be read."""
    rows = _readable(cluster, user)
    table = rows.filter(raw_name=name).first() or rows.filter(name=name).first()
    if table is None:
        return []
    return [
        {"name": str(c["name"]), "type": f"{c['type']}{'[]' * c['is_multi']}", "kind": str(c["kind"])}
        for c in schema_columns(table.schema)
    ]


def query_words() -> dict[str, list[str]]:
    """Functions and keywords for the completion."""
    from segments.dataplane.query.aggregate import AGGREGATIONS  # heavy; only who queries needs it
    from segments.expressions.functions import FUNCTIONS

    names = {f.name for f in FUNCTIONS.values() if f.duckdb is not None} | set(AGGREGATIONS)
    return {"functions": sorted(names, key=str.lower), "keywords": list(_KEYWORDS)}


def _readable(cluster: str, user: Any) -> Any:
    tables = Table.objects.filter(cluster__name=cluster)
    return readable_rows(tables, user, cluster="cluster__name", table="name")
