"""Defaults that the database itself gives a column: programs of the last release, which do not know a new column, still
write rows while an installation is upgraded part by part.
"""

from __future__ import annotations

from typing import Final

from django.db.models import JSONField, Value

#: Of a JSON column.
EMPTY_LIST: Final = Value([], output_field=JSONField())
