"""Has SQLite refuse what PostgreSQL would: texts longer than their column, and the character U+0000, in every table
that tests use.
"""

from __future__ import annotations

from typing import Final

from django.db.backends.sqlite3.base import DatabaseWrapper

_NO_NUL: Final = 'instr("%(column)s", char(0)) = 0'
_LENGTH: Final = f'(length("%(column)s") <= %(max_length)s AND {_NO_NUL})'
#: In JSON it is escaped, and refused by PostgreSQL's jsonb; after an escaped backslash it is none.
_JSON: Final = (
    '((JSON_VALID("%(column)s") OR "%(column)s" IS NULL) AND ifnull(instr(replace("%(column)s", \'\\\\\', '
    "''), '\\u0000'), 0) = 0)"
)


def install() -> None:
    """For databases that are made from now on."""
    checks = {"CharField": _LENGTH, "SlugField": _LENGTH, "TextField": _NO_NUL, "JSONField": _JSON}
    DatabaseWrapper.data_type_check_constraints = {**DatabaseWrapper.data_type_check_constraints, **checks}
