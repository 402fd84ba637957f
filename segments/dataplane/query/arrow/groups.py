"""Group and sort small results with Arrow alone: no DuckDB call, which would cost more than the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from segments.dataplane.query.arrow.few_rows import group_few
from segments.dataplane.query.arrow.row_mask import ManyMasks
from segments.dataplane.query.plan import Ordering

#: Rows that are worked on at once: they stay in the processor's nearest cache.
_BLOCK: Final = 8_192
#: Rows of which NumPy adds up products without starting threads, and such pieces that go into one call.
_ALONE: Final = 10_000
_ROWS: Final = 12
_DOCS: Final = "docs"
_WHOLE: Final[dict[str, Any]] = {"sum": pc.sum, "min": pc.min, "max": pc.max}
#: What passes over NaN, and what every number is better than.
_EXTREMES: Final[dict[str, tuple[Any, float]]] = {
    "min": (np.fmin.reduce, float("inf")),
    "max": (np.fmax.reduce, float("-inf")),
}


def group(table: pa.Table, keys: Sequence[str], parts: Sequence[tuple[str, str]]) -> pa.Table:
    """Group by columns; ``parts`` are (aggregation, column): count, sum, min, max. Result columns are
    ``k0..., p0...``.
    """
    if not keys:
        values = [
            pa.scalar(table.num_rows, pa.int64()) if f == "count" else _WHOLE[f](table.column(c)) for f, c in parts
        ]
        return pa.table({f"p{i}": pa.array([v.as_py()], v.type) for i, v in enumerate(values)})
    few = group_few(table, keys[0], parts) if len(keys) == 1 else None
    if few is not None:
        return few
    wanted: list[Any] = [([], "count_all") if f == "count" else (c, f) for f, c in parts]
    found = table.group_by(list(keys), use_threads=False).aggregate(wanted)
    columns = {f"k{i}": found.column(key) for i, key in enumerate(keys)}
    for i, (function, column) in enumerate(parts):
        columns[f"p{i}"] = found.column("count_all" if function == "count" else f"{column}_{function}")
    return pa.table(columns)


def whole(function: str, values: Any) -> Any:
    """sum, min or max of values that may be null; None when all are."""
    return _WHOLE[function](values).as_py()


def group_counting(
    columns: Mapping[str, Any], masks: ManyMasks, keys: Sequence[str], parts: Sequence[tuple[str, str]]
) -> pa.Table:
    """The same over the rows that count only. ``columns`` but the keys are of DOUBLE and without nulls; nothing is
    copied but a lone column of which few rows count.
    """
    if not keys:
        count = pa.scalar(masks.count, pa.int64())
        found = [count if function == "count" else _over(function, columns[c], masks) for function, c in parts]
        return pa.table({f"p{i}": pa.array([v.as_py()], v.type) for i, v in enumerate(found)})
    values = {c: v if c in keys else masks.nulled(v) for c, v in columns.items()}
    ones = pa.chunked_array([pa.array(np.zeros(len(masks.flags), np.uint8))])
    wanted: list[Any] = list(dict.fromkeys([(_DOCS, "count"), *((c, f) for f, c in parts if f != "count")]))
    grouped = pa.table({**values, _DOCS: masks.nulled(ones)}).group_by(list(keys), use_threads=False)
    rows = grouped.aggregate(wanted)
    rows = rows.filter(pc.greater(rows.column(f"{_DOCS}_count"), pa.scalar(0)))
    named = {f"k{i}": rows.column(key) for i, key in enumerate(keys)}
    for i, (function, column) in enumerate(parts):
        named[f"p{i}"] = rows.column(f"{_DOCS}_count" if function == "count" else f"{column}_{function}")
    return pa.table(named)


def _over(function: str, column: Any, masks: ManyMasks) -> Any:
    """One value; null when no row counts."""
    if function == "sum" and masks.count and not masks.lies_together:
        total = _weighed(column, masks)
        if np.isfinite(total):
            return pa.scalar(total, pa.float64())
    if masks.count and function in _EXTREMES:
        extreme = _extreme(function, column, masks)
        if np.isfinite(extreme):
            return pa.scalar(extreme, pa.float64())
    few = masks.are_few and not masks.lies_together
    return _WHOLE[function](column.filter(pa.array(masks.flags)) if few else masks.nulled(column))


def _weighed(column: Any, masks: ManyMasks) -> float:
    """The sum of the rows that count, as those times one plus the others times zero; not finite when one of either is
    not.
    """
    total, start, ones, weights = 0.0, 0, masks.flags.view(np.uint8), np.empty(_ROWS * _ALONE)
    with np.errstate(invalid="ignore", over="ignore"):
        for chunk in column.chunks:
            values = chunk.to_numpy()
            for at in range(0, len(values), len(weights)):
                own = values[at : at + len(weights)]
                weighed = weights[: len(own)]
                weighed[:] = ones[start + at : start + at + len(own)]
                total += float(own.dot(weighed)) if len(own) <= _ALONE else _dot(own, weighed)
            start += len(values)
    return total


def _dot(one: Any, other: Any) -> float:
    """The sum of the products, in one call for many blocks: as many calls would cost more than the sum."""
    split = len(one) - len(one) % _ALONE
    blocks = np.vecdot(one[:split].reshape(-1, _ALONE), other[:split].reshape(-1, _ALONE))
    return float(blocks.sum() + one[split:].dot(other[split:]))


def _extreme(function: str, column: Any, masks: ManyMasks) -> float:
    """min or max of the rows that count, the bits of the others replaced by those of an infinity: that does not depend
    on guesses of the processor. Not finite when no row that counts holds a finite number.
    """
    reduce, worst = _EXTREMES[function]
    bits, start, best = np.array([worst]).view(np.int64)[0], 0, worst
    picks, block = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    for chunk in column.chunks:
        values = chunk.to_numpy().view(np.int64)
        for at in range(0, len(values), _BLOCK):
            own = values[at : at + _BLOCK]
            pick, found = picks[: len(own)], block[: len(own)]
            np.negative(masks.flags[start + at : start + at + len(own)].view(np.int8), out=pick, dtype=np.int64)
            np.bitwise_and(np.bitwise_xor(own, bits, out=found), pick, out=found)
            np.bitwise_xor(found, bits, out=found)
            best = float(reduce(found.view(np.float64), initial=best))
        start += len(values)
    return best


def ordered(table: pa.Table, order: Sequence[tuple[Any, Ordering]], limit: int, offset: int) -> pa.Table:
    """Sort by arrays, then the page that LIMIT and OFFSET ask for."""
    if order and table.num_rows > 1:
        by = pa.table({f"o{i}": column for i, (column, _) in enumerate(order)})
        ways: Any = [(f"o{i}", "descending" if item.descending else "ascending") for i, (_, item) in enumerate(order)]
        places = pc.sort_indices(by, sort_keys=ways).slice(offset, limit)
        return table.take(places)
    return table.slice(offset, limit)
