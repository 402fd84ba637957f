"""The broker's part of a query: merge what the servers found, then HAVING, ORDER BY, LIMIT and the final values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from segments.dataplane.query import engine
from segments.dataplane.query.arrow import groups
from segments.dataplane.query.partial import PartialResult, execute_partial
from segments.dataplane.query.plan import QueryPlan, Simple
from segments.dataplane.query.rows import as_rows
from segments.dataplane.query.time_limit import time_limit


@dataclass(frozen=True)
class ResultTable:
    """Pinot's result table; ``rows`` hold JSON-ready values, those of a large answer are made while they are read."""

    column_names: list[str]
    column_types: list[str]
    rows: Sequence[list[Any]]


def merge(plan: QueryPlan, partials: Sequence[PartialResult]) -> ResultTable:
    """The answer from the servers' parts; from none of them Pinot's answer for an empty table. Raises QueryRejected
    (200).
    """
    parts = (
        pa.concat_tables([p.rows for p in partials], promote_options="permissive")
        if partials
        else execute_partial(plan, []).rows
    )
    if plan.kind == "selection":
        found = groups.ordered(
            parts, [(parts.column(f"o{i}"), o) for i, o in enumerate(plan.order)], plan.limit, plan.offset
        )
    elif _is_simple(plan, parts):
        found = _merge_simple(plan, parts)
    else:
        with time_limit(plan.timeout_s):
            found = engine.run(_merge_text(plan, parts), "parts", parts)
    return ResultTable(list(plan.names), [e.result_type for e in plan.select], as_rows(found, plan.select))


def _is_simple(plan: QueryPlan, parts: pa.Table) -> bool:
    if plan.having is not None or any(p.merge not in ("sum", "min", "max") for p in plan.parts):
        return False
    if any(key.type in ("FLOAT", "DOUBLE") for key in plan.keys) or not parts.num_columns:
        return False
    return all(e.sql in plan.simple for e in plan.select) and all(o.sql in plan.simple for o in plan.order)


def _merge_simple(plan: QueryPlan, parts: pa.Table) -> pa.Table:
    keys = [f"k{i}" for i in range(len(plan.keys))]
    merged = groups.group(parts, keys, [(p.merge, f"p{i}") for i, p in enumerate(plan.parts)])
    columns = {f"s{i}": _simple_column(merged, plan.simple[e.sql]) for i, e in enumerate(plan.select)}
    order = [(_simple_column(merged, plan.simple[o.sql]), o) for o in plan.order]
    return groups.ordered(pa.table(columns), order, plan.limit, plan.offset)


def _simple_column(merged: pa.Table, simple: Simple) -> Any:
    if simple[0] == "key":
        return merged.column(f"k{simple[1]}")
    first: Any = merged.column(f"p{simple[1]}")
    if simple[0] == "part":
        default: Any = simple[2]
        return pc.fill_null(first, default)
    counted: Any = merged.column(f"p{simple[2]}")
    counts: Any = pc.fill_null(counted, 0)
    average: Any = pc.divide(first, pc.cast(counts, pa.float64()))
    return pc.if_else(pc.greater(counts, pa.scalar(0)), average, pa.scalar(float("-inf")))


def _merge_text(plan: QueryPlan, parts: pa.Table) -> str:
    keys = [f"k{i}" for i in range(len(plan.keys))]
    merged = [f"{_merged(p.merge, i, parts)} AS p{i}" for i, p in enumerate(plan.parts)]
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    text = f"SELECT {', '.join(f'{e.sql} AS s{i}' for i, e in enumerate(plan.select))}"
    inner = ", ".join(keys + merged) or "count(*) AS nothing"
    text += f" FROM (SELECT {inner} FROM parts{grouped})"  # noqa: S608  # our own templates only
    if plan.having is not None:
        text += f" WHERE {plan.having}"
    if plan.order:
        text += " ORDER BY " + ", ".join(o.text() for o in plan.order)
    return f"{text} LIMIT {plan.limit} OFFSET {plan.offset}"


def _merged(how: str, position: int, parts: pa.Table) -> str:
    name = f"p{position}"
    match how:
        case "sum" if pa.types.is_integer(parts.schema.field(name).type):
            return f"CAST(sum({name}) AS BIGINT)"
        case "distinct":
            return f"list_distinct(flatten(list({name}) FILTER (WHERE {name} IS NOT NULL)))"
        case "values":
            return f"flatten(list({name}) FILTER (WHERE {name} IS NOT NULL))"
    return f"{how}({name})"
