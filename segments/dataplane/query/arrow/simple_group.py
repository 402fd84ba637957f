"""Groups and aggregates of plain columns without WHERE, as Arrow computes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from segments.dataplane.query.arrow import groups
from segments.dataplane.query.arrow.row_mask import ManyMasks
from segments.dataplane.query.arrow.totals import Key, Totals, Value
from segments.dataplane.query.plan import QueryPlan
from segments.dataplane.query.scan import SegmentRows, is_masked, scan_table

COLUMN: Final = re.compile(r"c\d+\Z")


def simple_group(plan: QueryPlan, segments: Sequence[SegmentRows]) -> pa.Table | None:
    """count, sum, min and max of columns by columns without WHERE: Arrow does it in a tenth of DuckDB's start. None for
    other plans.
    """
    if plan.where is not None or any(p.plain is None for p in plan.parts) or not (plan.parts or plan.keys):
        return None
    if plan.kind == "distinct" and any(o.sql not in plan.simple for o in plan.order):
        return None
    if any(k.mv or k.type in ("FLOAT", "DOUBLE") or not COLUMN.match(k.sql) for k in plan.keys):
        return None
    plain = [p.plain for p in plan.parts if p.plain is not None]
    inputs = [(function, expr.sql if expr is not None else "") for function, expr in plain]
    keys = [k.sql for k in plan.keys]
    if len(set(keys)) < len(keys) or any(sql and (not COLUMN.match(sql) or sql in keys) for _, sql in inputs):
        return None
    if not keys and not any(sql for _, sql in inputs):
        count = sum(s.valid_docs for s in segments)
        return pa.table({f"p{i}": pa.array([count], pa.int64()) for i in range(len(inputs))})
    return _over_segments(plan, segments, keys, inputs)


def _over_segments(
    plan: QueryPlan, segments: Sequence[SegmentRows], keys: Sequence[str], inputs: Sequence[tuple[str, str]]
) -> pa.Table:
    """Of what is kept of segments, only what is not known yet."""
    kept, rest = list[SegmentRows](), list[SegmentRows]()
    for segment in segments:
        (kept if segment.totals is not None and segment.totals.are_kept(segment.valid) else rest).append(segment)
    if keys or not kept:
        return _over_rows(plan, segments, keys, inputs)
    names = {sql: plan.reads[int(sql[1:])] for _, sql in inputs if sql}
    wanted = list(dict.fromkeys((f, sql) for f, sql in inputs if sql))
    found = [_values(_over_rows(plan, rest, (), wanted), wanted)] if rest else []
    found += [_of_segment(plan, segment, wanted, names) for segment in kept]
    count = pa.array([sum(s.valid_docs for s in segments)], pa.int64())
    merged = {key: groups.whole(key[0], pa.array([values[key] for values in found], pa.float64())) for key in wanted}
    return pa.table(
        {f"p{i}": pa.array([merged[f, sql]], pa.float64()) if sql else count for i, (f, sql) in enumerate(inputs)}
    )


def _of_segment(
    plan: QueryPlan, segment: SegmentRows, wanted: Sequence[Key], names: Mapping[str, str]
) -> dict[Key, Value]:
    """{(aggregation, place of the column): value}; kept under the names of columns that the segment itself has."""
    has = segment.rows.column_names
    own = {(f, sql): (f, names[sql]) for f, sql in wanted if names[sql] in has}
    assert segment.totals is not None  # the caller chose it
    known = segment.totals.get(list(own.values()), segment.valid)
    found = {key: known[named] for key, named in own.items() if named in known}
    fresh = _by_blocks(segment, segment.totals, {k: named for k, named in own.items() if k not in found})
    missing = [key for key in wanted if key not in found and key not in fresh]
    if missing:
        fresh |= _values(_over_rows(plan, [segment], (), missing), missing)
    segment.totals.put({own[key]: value for key, value in fresh.items() if key in own}, segment.valid)
    return found | fresh


def _by_blocks(segment: SegmentRows, totals: Totals, wanted: Mapping[Key, Key]) -> dict[Key, Value]:
    """Of a segment whose rows partly count, what need not be computed over all of its rows."""
    valid, found = segment.valid, dict[Key, Value]()
    if valid is None or not valid.count:
        return found
    for key, (function, name) in wanted.items():
        value = totals.blocks.whole(function, name, segment.rows.column(name), valid)
        if value is not None:
            found[key] = value
    return found


def _values(rows: pa.Table, wanted: Sequence[Key]) -> dict[Key, Value]:
    return {key: rows.column(f"p{i}")[0].as_py() for i, key in enumerate(wanted)}


def _over_rows(
    plan: QueryPlan, segments: Sequence[SegmentRows], keys: Sequence[str], inputs: Sequence[tuple[str, str]]
) -> pa.Table:
    table = scan_table(plan, segments)
    masks = ManyMasks([s.valid for s in segments], [s.num_docs for s in segments]) if is_masked(segments) else None
    if masks is not None and keys and masks.are_few:
        # Texts are still numbers of their dictionary here, which copies fast.
        table, masks = table.filter(pa.array(masks.flags)), None
    columns = {k: decoded(table.column(k)) for k in keys}
    columns |= {sql: table.column(sql).cast(pa.float64(), safe=False) for _, sql in inputs if sql}
    if masks is None:
        return groups.group(pa.table(columns), keys, inputs)
    return groups.group_counting(columns, masks, keys, inputs)


def decoded(column: Any) -> Any:
    """The column without a dictionary."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
