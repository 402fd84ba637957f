"""What a new table should be, judged by its columns: kinds, time column, primary key, indexes. Only suggestions:
people change them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from segments.domain.tables.design.found_column import NUMBERS, FoundColumn
from segments.domain.tables.schema import FieldKind

#: Part of a column's name that says it is not a measure although it is a number.
_KEY_LIKE: Final = re.compile(
    r"(?:^|_)(?:id|key|code|zip|plz|year|month|day|week|hour|minute|quarter|number|num|no|nr|flag|type|status|version)"
    r"(?:$|_)|(?:Id|ID|Code|Key|Num|Number|Year|Month|Day)$",
)
_TIME_LIKE: Final = re.compile(r"(?:^|_)(?:time|timestamp|ts|created|event|at|date|day)(?:$|_)|(?:Time|Date|At)$", re.I)
#: Distinct values up to which a column is one to group and filter by.
_FEW: Final = 1_000
#: A value stands in at least so many rows on average before an inverted index pays.
_REPEATED: Final = 4
#: First and last moment that segments may have (1971, 2071), epoch milliseconds.
_TIMES: Final = (31_536_000_000, 3_187_296_000_000)


def suggested_kind(column: FoundColumn) -> FieldKind:
    """DATE_TIME for times, METRIC for what is added up, else DIMENSION."""
    if column.is_time:
        return "DATE_TIME"
    if column.data_type not in NUMBERS or column.multi_value or _KEY_LIKE.search(column.name):
        return "DIMENSION"
    if column.data_type in ("FLOAT", "DOUBLE", "BIG_DECIMAL"):
        return "METRIC"
    is_repeated = column.distinct * _REPEATED <= column.rows and column.distinct <= _FEW
    return "DIMENSION" if column.is_unique or is_repeated else "METRIC"


def suggested_time_column(columns: Sequence[FoundColumn]) -> str | None:
    """The time column: without nulls, within 1971 to 2071, named like one, of many moments. None: there is none."""
    fit = [c for c in columns if c.is_time and not c.nulls and not c.multi_value and c.times and _is_usual(c.times)]
    best = max(fit, key=lambda c: (bool(_TIME_LIKE.search(c.name)), c.distinct), default=None)
    return best.name if best is not None else None


def key_candidates(columns: Sequence[FoundColumn]) -> list[str]:
    """Columns that could be the primary key alone: no nulls, no value twice, and no measure."""
    return [c.name for c in columns if c.is_unique and c.data_type not in ("FLOAT", "DOUBLE", "JSON", "BYTES")]


def suggested_index(column: FoundColumn, kind: FieldKind) -> str:
    """``inverted`` for what is filtered by and repeats, ``range`` for times and spread numbers, ``bloom`` for keys,
    ``json`` for JSON, else "".
    """
    if column.data_type == "JSON":
        return "json"
    if kind == "DATE_TIME":
        return "range" if column.distinct > _FEW and column.data_type != "STRING" else ""
    if kind != "DIMENSION" or column.distinct <= 1:
        return ""
    if column.distinct * _REPEATED <= column.rows and column.distinct <= _FEW:
        return "inverted"
    if column.is_unique and column.data_type in ("STRING", "INT", "LONG"):
        return "bloom"
    return ""


def _is_usual(times: tuple[int, int]) -> bool:
    return _TIMES[0] <= times[0] and times[1] <= _TIMES[1]
