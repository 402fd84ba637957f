"""Insert or update many rows of one model by few statements: as ``bulk_create`` does it, without its tenth of a
millisecond for each of 100,000 rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from django.db import connection
from django.db.models import JSONField, Model

_BATCH: Final = 500
#: Values that one statement takes where the database names no bound of its own.
_MOST_VALUES: Final = 65_000


def write_rows(model: type[Model], key: Sequence[str], columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Each row has its values in the order of ``key`` and ``columns`` (database columns); ``key`` is a unique one. All
    but JSON is for the database what it is here: text, numbers, flags, None.
    """
    names = (*key, *columns)
    fields = [next(f for f in model._meta.concrete_fields if f.column == name) for name in names]
    json_fields = {i: field for i, field in enumerate(fields) if isinstance(field, JSONField)}
    # SQLite takes 999 values at least.
    size = min(_BATCH, (connection.features.max_query_params or _MOST_VALUES) // len(names))
    with connection.cursor() as cursor:
        for i in range(0, len(rows), size):
            batch = rows[i : i + size]
            statement = _upsert(model, tuple(key), tuple(columns), len(batch))
            cursor.execute(statement, [value for row in batch for value in _prepared(row, json_fields)])


def _prepared(row: Sequence[Any], json_fields: Mapping[int, JSONField]) -> list[Any]:
    return [
        json_fields[i].get_db_prep_save(value, connection) if i in json_fields else value for i, value in enumerate(row)
    ]


@cache
def _upsert(model: type[Model], key: tuple[str, ...], columns: tuple[str, ...], rows: int) -> str:
    """The statement for so many rows."""
    quoted = [connection.ops.quote_name(column) for column in (*key, *columns)]
    table, unique, listed = (
        connection.ops.quote_name(model._meta.db_table),
        ", ".join(quoted[: len(key)]),
        ", ".join(quoted),
    )
    values = ", ".join([f"({', '.join(['%s'] * len(quoted))})"] * rows)
    updates = ", ".join(f"{column} = EXCLUDED.{column}" for column in quoted[len(key) :])
    return f"INSERT INTO {table} ({listed}) VALUES {values} ON CONFLICT ({unique}) DO UPDATE SET {updates}"  # noqa: S608  # our own columns
