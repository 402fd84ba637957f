"""Group and sort small results with Arrow alone: no DuckDB call, which would cost more than the work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from segments.dataplane.query.plan import Ordering

_WHOLE: Final[dict[str, Any]] = {"sum": pc.sum, "min": pc.min, "max": pc.max}


def group(table: pa.Table, keys: Sequence[str], parts: Sequence[tuple[str, str]]) -> pa.Table:
    """Group by columns; ``parts`` are (aggregation, column): count, sum, min, max. Result columns are
    ``k0..., p0...``.
    """
    if not keys:
        values = [
            pa.scalar(table.num_rows, pa.int64()) if f == "count" else _WHOLE[f](table.column(c)) for f, c in parts
        ]
        return pa.table({f"p{i}": pa.array([v.as_py()], v.type) for i, v in enumerate(values)})
    wanted: list[Any] = [([], "count_all") if f == "count" else (c, f) for f, c in parts]
    found = table.group_by(list(keys), use_threads=False).aggregate(wanted)
    columns = {f"k{i}": found.column(key) for i, key in enumerate(keys)}
    for i, (function, column) in enumerate(parts):
        columns[f"p{i}"] = found.column("count_all" if function == "count" else f"{column}_{function}")
    return pa.table(columns)


def ordered(table: pa.Table, order: Sequence[tuple[Any, Ordering]], limit: int, offset: int) -> pa.Table:
    """Sort by arrays, then the page that LIMIT and OFFSET ask for."""
    if order and table.num_rows > 1:
        by = pa.table({f"o{i}": column for i, (column, _) in enumerate(order)})
        ways: Any = [(f"o{i}", "descending" if item.descending else "ascending") for i, (_, item) in enumerate(order)]
        places = pc.sort_indices(by, sort_keys=ways).slice(offset, limit)
        return table.take(places)
    return table.slice(offset, limit)
