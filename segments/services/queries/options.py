"""Options of a query that this side of the broker heeds: out of its text (SET, OPTION) or given along with it."""

from __future__ import annotations

from collections.abc import Mapping

#: Which snapshot of the table is read.
SNAPSHOT = "snapshot"
#: Pinot's name for the id that a client gives its query.
CLIENT_ID = "clientQueryId"


def option_of(sql: str, options: Mapping[str, str], name: str) -> str:
    """The value of the option of that name, in any case of letters; empty: it is not given."""
    wanted = name.lower()
    if wanted not in sql.lower() and not any(key.strip().lower() == wanted for key in options):
        return ""
    # heavy: the SQL parser, which only a process that answers queries needs
    from segments.dataplane.query import QueryRejected
    from segments.dataplane.query.sql.tokens import read_tokens

    try:
        found = {**read_tokens(sql).options, **options}
    except QueryRejected:
        return ""  # whoever answers it says what is wrong
    return next((str(v).strip("'\" ") for k, v in found.items() if k.strip().lower() == wanted), "")
