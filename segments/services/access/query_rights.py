"""May somebody query the tables that a statement names? Where reading is not restricted, it is not even
read for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from segments.errors import Forbidden
from segments.models import Table
from segments.services.access.read_rights import forbidden
from segments.services.access.rights import has_right, has_right_everywhere

_DEFAULT: Final = "default"


def require_query_rights(user: Any, cluster: str, sql: str, options: Mapping[str, str], *, is_foreign: bool) -> None:
    """Forbidden unless ``user`` may query every table of the statement, or when that cannot be decided.

    ``is_foreign``: a real Pinot answers it. What our own broker would not understand it refuses itself, without reading
    a table.
    """
    if has_right_everywhere(user, "query"):
        return
    for name in _foreign(cluster, sql, options) if is_foreign else _own(sql):
        if not has_right(user, "query", cluster, name):
            raise forbidden(name)


def _own(sql: str) -> list[str]:
    # heavy: DuckDB and the SQL parser, which only a process that answers queries needs
    from segments.dataplane.query import QueryRejected
    from segments.dataplane.query.multistage import tables_read

    try:
        return tables_read(sql)
    except QueryRejected:
        return []


def _foreign(cluster: str, sql: str, options: Mapping[str, str]) -> list[str]:
    # heavy: DuckDB and the SQL parser, which only a process that answers queries needs
    from segments.dataplane.query import QueryRejected
    from segments.dataplane.query.sql.named_tables import named_tables

    try:
        found = named_tables(sql)
    except QueryRejected as error:
        raise Forbidden(
            str(error), remedy="Ask for tables you may read with plain SELECTs, or ask for a grant of all tables."
        ) from error
    databases = [v for k, v in {**found.options, **options}.items() if k.strip().lower() == "database"]
    if any(database.strip("'\" ").lower() not in ("", _DEFAULT) for database in databases):
        raise Forbidden(
            "The option 'database' takes the right to read the whole cluster.",
            remedy="Write the database before the table's name.",
        )
    known = Table.objects.filter(cluster__name=cluster).values_list("raw_name", flat=True) if found.tables else ()
    by_fold: dict[str, set[str]] = {}
    for raw in known:
        by_fold.setdefault(raw.lower(), set()).add(raw)
    aliases = {alias.lower() for alias in found.aliases}
    asked: list[str] = []
    for name in sorted(found.tables):
        # Pinot may take names in any case: every table that may be meant counts. A name of WITH is a table only where
        # there is one.
        meant = by_fold.get(name.lower(), set())
        asked += sorted({*meant, *(() if name.lower() in aliases else (name,))})
    return asked
