"""Converts the rows of a table that fit, and says which do not: each fault of a column is found for all of its rows at
once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from segments.datatypes.convert import RefusedRows
from segments.domain.tables.schema import Schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.segmentfile.columns.transform import Mask, transform_table

#: Faults that are searched for one after the other; each takes another conversion of the rows that are left.
MOST_FAULTS: Final = 1000


@dataclass(frozen=True)
class BadCell:
    """One value that does not convert: row of the table (from 0), column ("": what an expression makes of the row),
    value, why.
    """

    row: int
    column: str
    value: Any
    why: str


@dataclass(frozen=True)
class BadRows:
    """``rows``: positions, ascending, each once. ``cells``: the first bad values by row."""

    rows: NDArray[np.int64]
    cells: list[BadCell]


def transform_fitting(
    table: pa.Table, schema: Schema, config: TableConfig, *, now_ms: int, most: int
) -> tuple[pa.Table, dict[str, Mask], BadRows]:
    """As ``transform_table``, of the rows that fit; and those that do not, of whose values at most ``most`` are listed.

    A row that has several bad values is listed with the first that was found. Raises InvalidInput for what is not a
    single row's fault.
    """
    bad, cells = np.zeros(table.num_rows, bool), list[BadCell]()
    for _ in range(MOST_FAULTS):
        good = np.flatnonzero(~bad)
        try:
            stored, masks = transform_table(
                table if len(good) == len(bad) else table.take(good), schema, config, now_ms=now_ms
            )
        except InvalidInput as error:
            refused = error.__cause__
            if not isinstance(refused, RefusedRows):
                raise
            rows = good[[row for row, _ in refused.rows]]
            bad[rows] = True
            column = str(error.data.get("column") or "")
            some = sorted(zip(rows.tolist(), refused.values, strict=True), key=lambda pair: pair[0])[:most]
            cells += [BadCell(row, column, value, refused.fault) for row, value in some]
            continue
        return stored, masks, BadRows(np.flatnonzero(bad), sorted(cells, key=lambda c: (c.row, c.column))[:most])
    raise InvalidInput(
        f"More than {MOST_FAULTS:,} different faults.", remedy="Check the columns' data types and the files."
    )
