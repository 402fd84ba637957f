"""The servers' part of a query: scan the segments at hand and reduce them as far as one server can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from segments.dataplane.query import engine
from segments.dataplane.query.arrow import groups
from segments.dataplane.query.arrow.simple_group import COLUMN, decoded, simple_group
from segments.dataplane.query.plan import QueryPlan
from segments.dataplane.query.scan import SEGMENT, VALID, SegmentRows, is_masked, scan_table
from segments.dataplane.query.time_limit import time_limit

#: DuckDB has 64 bits for marking the segments that matched; with more segments they are counted by a query of their
#: own.
_MARKED_SEGMENTS: Final = 64


@dataclass(frozen=True)
class PartialResult:
    """What one server found: ``rows`` for the merge, and the statistics of Pinot's response.

    ``segments`` were read, ``segments_matched`` of them have a row that matches; ``docs_scanned`` are the rows that
    matched. ``growing``: rows of each segment that was still consuming when it was read; ``tails``: rows read behind
    segments (rule `one-snapshot-per-query`).
    """

    rows: pa.Table
    docs_scanned: int
    total_docs: int
    segments: int
    segments_matched: int
    growing: Mapping[str, int] = field(default_factory=dict)
    tails: Mapping[str, int] = field(default_factory=dict)


def execute_partial(plan: QueryPlan, segments: Sequence[SegmentRows]) -> PartialResult:
    """Run the servers' part over these segments (none: an empty result of the right columns). Raises QueryRejected
    (200).
    """
    total = sum(s.num_docs for s in segments)
    read = [s for s in segments if s.valid is None or s.valid_docs]
    if plan.kind == "selection" and plan.where is None and not plan.order:
        read = _first_rows(plan, read)
    with time_limit(plan.timeout_s):
        rows, docs, matched = _select(plan, read) if plan.kind == "selection" else _group(plan, read)
    growing = {s.name: s.num_docs for s in segments if s.is_growing and not s.is_tail}
    tails = dict.fromkeys((s.name for s in segments if s.is_tail), 0)
    for piece in (s for s in segments if s.is_tail):
        tails[piece.name] += piece.num_docs
    count = sum(not s.is_tail for s in segments)
    return PartialResult(rows, docs, total, count, min(matched, count), growing, tails)


def _first_rows(plan: QueryPlan, segments: Sequence[SegmentRows]) -> list[SegmentRows]:
    """As many rows as LIMIT needs: without WHERE and ORDER BY any rows will do."""
    left, found = plan.fetch, []
    for segment in segments:
        found.append(segment.first(left))
        left -= found[-1].valid_docs
        if left <= 0:
            break
    return found


def _select(plan: QueryPlan, segments: Sequence[SegmentRows]) -> tuple[pa.Table, int, int]:
    mark = plan.where is not None and not plan.order
    table = scan_table(plan, segments, number_segments=plan.where is not None)
    items = [f"{e.sql} AS s{i}" for i, e in enumerate(plan.select)] + [
        f"{o.sql} AS o{i}" for i, o in enumerate(plan.order)
    ]
    if plan.where is None and not plan.order and all(COLUMN.match(e.sql) for e in plan.select):
        table = _unmasked(table)
        return _plain(table, [(e.sql, f"s{i}") for i, e in enumerate(plan.select)]), table.num_rows, _filled(segments)
    text = f"SELECT {', '.join(items + [SEGMENT] * mark)} FROM rows{_where(plan, segments)}"  # noqa: S608  # our own templates only
    if plan.order:
        text += " ORDER BY " + ", ".join(o.text(f"o{i}") for i, o in enumerate(plan.order))
    rows = engine.run(f"{text} LIMIT {plan.fetch}", "rows", table)
    if mark:
        return rows.drop_columns([SEGMENT]), rows.num_rows, len(pc.unique(rows.column(SEGMENT)))
    return (rows, *_matched(plan, table, segments))


def _plain(table: pa.Table, columns: Sequence[tuple[str, str]]) -> pa.Table:
    found, size = {}, 0
    for old, new in columns:
        found[new] = decoded(table.column(old))
        size += found[new].nbytes
        engine.check_bytes(size)
    return pa.table(found)


def _group(plan: QueryPlan, segments: Sequence[SegmentRows]) -> tuple[pa.Table, int, int]:
    simple = simple_group(plan, segments)
    if simple is not None:
        if plan.kind == "distinct":
            simple = groups.ordered(simple, [(simple.column(o.sql), o) for o in plan.order], plan.fetch, 0)
        return simple, sum(s.valid_docs for s in segments), _filled(segments)
    table = scan_table(plan, segments, number_segments=plan.where is not None)
    exploded = any(key.mv for key in plan.keys)
    mark = plan.kind == "group" and plan.where is not None and not exploded and len(segments) <= _MARKED_SEGMENTS
    items = [f"{'u' + str(i) if key.mv else key.sql} AS k{i}" for i, key in enumerate(plan.keys)]
    items += [f"{part.sql} AS p{i}" for i, part in enumerate(plan.parts)]
    if mark:
        items += ["count(*) AS docs", f"bit_or(CAST(1 AS UBIGINT) << CAST({SEGMENT} AS UBIGINT)) AS marks"]
    distinct = "DISTINCT " if plan.kind == "distinct" else ""
    source = _exploded(plan, segments) if exploded else "rows" + _where(plan, segments)
    text = f"SELECT {distinct}{', '.join(items) or '1 AS nothing'} FROM {source}"  # noqa: S608  # our own templates only
    if plan.kind == "group" and plan.keys:
        text += f" GROUP BY {', '.join(str(i + 1) for i in range(len(plan.keys)))}"
    rows = engine.run(text + _distinct_page(plan), "rows", table)
    if mark:
        return (rows.drop_columns(["docs", "marks"]), *_marks(rows))
    return (rows, *_matched(plan, table, segments))


def _unmasked(table: pa.Table) -> pa.Table:
    """The rows that count, of a scan."""
    if VALID not in table.column_names:
        return table
    kept: Any = table.column(VALID).cast(pa.bool_())
    return table.filter(kept).drop_columns([VALID])


def _exploded(plan: QueryPlan, segments: Sequence[SegmentRows]) -> str:
    """Rows that satisfy WHERE, once for every combination of values of the multi-value keys."""
    source = f"(SELECT * FROM rows{_where(plan, segments)}) AS r"  # noqa: S608  # our own templates only
    return source + "".join(f", unnest({key.sql}) AS t{i}(u{i})" for i, key in enumerate(plan.keys) if key.mv)


def _where(plan: QueryPlan, segments: Sequence[SegmentRows]) -> str:
    conditions = [f"{VALID} = 1"] * is_masked(segments) + [f"({plan.where})"] * (plan.where is not None)
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _distinct_page(plan: QueryPlan) -> str:
    """DISTINCT rows are whole on every server, so each sends only the first that LIMIT needs."""
    if plan.kind != "distinct":
        return ""
    order = " ORDER BY " + ", ".join(o.text() for o in plan.order) if plan.order else ""
    return f"{order} LIMIT {plan.fetch}"


def _marks(rows: pa.Table) -> tuple[int, int]:
    docs = pc.sum(rows.column("docs")).as_py() or 0
    bits = 0
    for mark in rows.column("marks").to_numpy(zero_copy_only=False) if docs else ():
        bits |= int(mark or 0)
    return int(docs), bits.bit_count()


def _matched(plan: QueryPlan, table: pa.Table, segments: Sequence[SegmentRows]) -> tuple[int, int]:
    if plan.where is None:
        return sum(s.valid_docs for s in segments), _filled(segments)
    text = f"SELECT count(*) AS docs, count(DISTINCT {SEGMENT}) AS segs FROM rows{_where(plan, segments)}"  # noqa: S608  # our own templates only
    found = engine.run(text, "rows", table)
    return int(found.column("docs")[0].as_py()), int(found.column("segs")[0].as_py())


def _filled(segments: Sequence[SegmentRows]) -> int:
    return sum(s.valid_docs > 0 for s in segments)
