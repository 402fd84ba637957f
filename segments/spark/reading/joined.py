"""Puts tables of pieces together; what one gave as text and another as numbers is text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """One table with the columns of all; a column that a table has not is null there."""
    if len(tables) == 1:
        return tables[0]
    kinds: dict[str, set[Any]] = {}
    for table in tables:
        for column in table.schema:
            kinds.setdefault(column.name, set()).add(column.type)
    mixed = {n for n, seen in kinds.items() if len(seen - {pa.null()}) > 1}
    same = [t.cast(pa.schema([(f.name, _common(f, f.name in mixed)) for f in t.schema])) for t in tables]
    return pa.concat_tables(same, promote_options="default")


def _common(field: Any, is_mixed: bool) -> Any:
    if not is_mixed:
        return field.type
    if not pa.types.is_nested(field.type):
        return pa.string()
    return pa.list_(pa.string()) if pa.types.is_list(field.type) else field.type
