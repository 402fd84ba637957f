"""Rows as Python values -> a table with a column for each key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from segments.datatypes.jsontext import json_of
from segments.domain.formats.plural import counted
from segments.errors import InvalidInput

#: Rows of a sample.
MOST_ROWS: Final = 10_000
#: Columns that a file may have to be a table.
_MOST_COLUMNS: Final = 2_000
_SHOWN: Final = 8


def objects_table(rows: Sequence[Mapping[str, Any]], what: str) -> pa.Table:
    """A column for each key of the rows. Raises InvalidInput naming ``what`` they are of when no table can be made."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    check_columns(what, names)
    return pa.table({name: _array([row.get(name) for row in rows]) for name in names})


def _array(values: list[Any]) -> Any:
    """Of one type, or else as text."""
    if any(isinstance(v, dict) or (isinstance(v, list) and any(isinstance(i, dict | list) for i in v)) for v in values):
        return pa.array(values_as_json(values), pa.string())
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        pass
    numbers = [v for v in values if v is not None]
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in numbers):
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    return pa.array(values_as_json(values), pa.string())


def values_as_json(values: list[Any]) -> list[str | None]:
    """Text stays as it is, everything else becomes JSON text."""
    return [v if v is None or isinstance(v, str) else json_of(v) for v in values]


def check_columns(what: str, names: Sequence[str]) -> None:
    """Raises InvalidInput naming ``what`` has no columns, or too many to be a table."""
    if not names:
        raise InvalidInput(f"{what} has no column.", remedy="Choose one with rows.")
    if len(names) > _MOST_COLUMNS:
        raise InvalidInput(
            f"{what} has {counted(len(names), 'column')} ({', '.join(names[:_SHOWN])}, ...).",
            remedy=f"At most {_MOST_COLUMNS} are read here: create the schema with POST /schemas.",
        )
