"""The plan of a query as rows that people read, in the form of Pinot's EXPLAIN PLAN FOR. No server is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sqlglot import exp

from segments.dataplane.broker.asked.question import Question
from segments.dataplane.broker.queried_tables import Side
from segments.dataplane.query import QueryRejected, ResultTable, plan_query
from segments.dataplane.query.multistage import StagesStatement, plan_stages
from segments.dataplane.query.sql.parse import parse_select
from segments.dataplane.query.sql.tokens import read_tokens
from segments.expressions.query_errors import QUERY_EXECUTION
from segments.expressions.sql import PinotSql

COLUMNS: Final = ["Operator", "Operator_Id", "Parent_Id"]
#: Words of a query whose plan is written, and characters of one of its parts.
_MOST_WORDS: Final = 10_000
_MOST_CHARACTERS: Final = 300


class _Plan:
    """The rows while they are written: each is put below one before it."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []

    def add(self, operator: str, parent: int, **details: Any) -> int:
        shown = ", ".join(f"{name}: {value}" for name, value in details.items() if value not in (None, "", []))
        number = len(self.rows) + 1
        self.rows.append([f"{operator}({shown})" if shown else operator, number, parent])
        return number


def explain(question: Question, sides: Mapping[str, Sequence[Side]]) -> ResultTable:
    """Raises QueryRejected as the query itself would, and for a very long one."""
    if len(read_tokens(question.sql).tokens) > _MOST_WORDS:
        raise QueryRejected(f"Only queries of up to {_MOST_WORDS} words are explained.")
    plan = _Plan()
    if question.stages is None:
        _single(plan, question, next(iter(sides.values())))
    else:
        _stages(plan, question, question.stages, sides)
    return ResultTable(COLUMNS, ["STRING", "INT", "INT"], plan.rows)


def _single(plan: _Plan, question: Question, sides: Sequence[Side]) -> None:
    tree = parse_select(question.sql).select
    planned = [
        plan_query(question.sql, side.routing.schema, options=question.options, time_filter=side.time_filter)
        for side in sides
        if side.routing.schema is not None
    ]
    if not planned:
        raise QueryRejected("The table has no schema.", error_code=QUERY_EXECUTION)
    first = planned[0]
    top = plan.add(
        "BROKER_REDUCE",
        0,
        having=_text(tree.args.get("having")),
        sort=_text(tree.args.get("order")),
        limit=first.limit,
        offset=first.offset or None,
    )
    what = {"group": "GROUP_BY" if first.grouped else "AGGREGATE", "distinct": "DISTINCT", "selection": "SELECT"}
    merged = plan.add(f"COMBINE_{what[first.kind]}", top)
    for side, one in zip(sides, planned, strict=False):
        part = _side(plan, merged, side, question)
        done = plan.add(
            what[first.kind],
            part,
            items=_list(tree.expressions),
            by=_list(tree.args["group"].expressions) if tree.args.get("group") else None,
            at_most=one.fetch if one.kind != "group" else None,
        )
        if one.where is not None:
            done = plan.add("FILTER", done, where=_text(tree.args.get("where")), time=_boundary(side))
        plan.add("READ", done, columns=_names(one.reads))


def _stages(plan: _Plan, question: Question, statement: StagesStatement, sides: Mapping[str, Sequence[Side]]) -> None:
    schemas = {name: one[0].routing.schema for name, one in sides.items()}
    if None in schemas.values():
        raise QueryRejected("A table has no schema.", error_code=QUERY_EXECUTION)
    planned = plan_stages(statement, schemas, question.options)  # type: ignore[arg-type]  # none is None
    tree = statement.tree
    at = plan.add("BROKER_STAGES", 0, engine="DuckDB", sort=_text(tree.args.get("order")), limit=_limit(tree))
    for operator, details in _steps(tree):
        at = plan.add(operator, at, **details)
    for scan in planned.scans.values():
        for side in sides[scan.table]:
            part = _side(plan, at, side, question)
            done = part
            if scan.filters:
                done = plan.add("FILTER", part, where=_cut(" AND ".join(dict.fromkeys(scan.filters))))
            plan.add("READ", done, columns=_names(scan.columns))


def _steps(tree: exp.Expression) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the broker does with the rows it gathered, the last step first."""
    if isinstance(tree, exp.SetOperation):
        yield type(tree).__name__.upper(), {"distinct": bool(tree.args.get("distinct"))}
    if windows := [_text(w) or "" for w in tree.find_all(exp.Window)]:
        yield "WINDOW", {"over": _cut("; ".join(windows))}
    for group in tree.find_all(exp.Group):
        yield "AGGREGATE", {"by": _list(group.expressions), "having": _text(_of(group, "having"))}
    for where in tree.find_all(exp.Where):
        yield "FILTER", {"where": _text(where)}
    for join in tree.find_all(exp.Join):
        kind = " ".join(str(w) for w in (join.side, join.kind) if w) or "INNER"
        yield "JOIN", {"kind": kind, "with": _text(join.this), "on": _text(join.args.get("on"))}


def _side(plan: _Plan, parent: int, side: Side, question: Question) -> int:
    routing = side.routing
    read = routing.wanted if question.segments is None else list(question.segments)
    servers = {server.instance for segment in read for server in routing.replicas.get(segment, ())}
    return plan.add(
        "SEGMENTS",
        parent,
        table=routing.table,
        scanned=len(read),
        hidden_by_replacements=len(routing.replicas) - len(routing.visible),
        still_loading=len(routing.first_loads) or None,
        consuming=len(routing.growing & set(read)) or None,
        servers=len(servers),
    )


def _of(node: exp.Expression, part: str) -> Any:
    return node.parent.args.get(part) if node.parent is not None else None


def _boundary(side: Side) -> str | None:
    wanted = side.time_filter
    return None if wanted is None else f"{wanted.column} {wanted.operator} {wanted.value}"


def _limit(tree: exp.Expression) -> str | None:
    found = tree.args.get("limit")
    return _text(found.expression) if isinstance(found, exp.Limit) else None


def _text(node: Any) -> str | None:
    """As it is written, without the word of its clause."""
    if node is None:
        return None
    if isinstance(node, exp.Order):
        return _list(node.expressions)
    inner = node.this if isinstance(node, (exp.Where, exp.Having)) else node
    return _cut(inner.sql(dialect=PinotSql, normalize_functions=False))


def _list(nodes: Sequence[Any]) -> str:
    return _names([_text(node) or "" for node in nodes])


def _names(names: Sequence[str]) -> str:
    return "[" + _cut(", ".join(names)) + "]"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."
