"""What a command says of a database that it cannot use."""

from __future__ import annotations

from django.db import DatabaseError

#: How SQLite and PostgreSQL say that a table is not there.
_LACKING = ("no such table", "does not exist")


def database_problem(error: DatabaseError) -> str:
    """One sentence, or two where the tables are not there: mostly it is not the database that the installation has."""
    text = str(error).strip().partition("\n")[0].rstrip(".")
    said = f"DATABASE_URL cannot be used: {text}."
    if not any(words in text for words in _LACKING):
        return said
    return f"{said} Set it as the installation has it; 'pinotadmin setup_database' makes the tables of a new one."
