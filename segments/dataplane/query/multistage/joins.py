"""FROM and JOIN: which relations a SELECT reads, and how they are joined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from sqlglot import exp

from segments.dataplane.query.multistage.expressions import RowCompiler
from segments.dataplane.query.multistage.scope import Relation, Scope, TableRelation
from segments.dataplane.query.multistage.statement import name_of
from segments.dataplane.query.sql.compiler import compare
from segments.expressions.query_errors import SQL_PARSING, QueryRejected

_JOIN: Final = frozenset({"this", "side", "kind", "on", "using"})
_WITHOUT_CONDITION: Final = ("", "CROSS")


class Parts(Protocol):
    """What of a statement counts here."""

    @property
    def parts(self) -> frozenset[str]:
        """The names that WITH gives, in lower case."""
        ...


class Surroundings(Protocol):
    """What a SELECT sees: the whole query's state, parts of WITH, the columns of the query around it."""

    session: Any
    parts: Mapping[str, Any]
    outer: Scope | None

    def derived(self, node: exp.Expression) -> Any:
        """A query that sees nothing of the columns around it."""
        ...


class From:
    """``text`` is what stands after FROM; ``merged``: columns that USING made one."""

    def __init__(self, around: Surroundings, node: exp.Select) -> None:
        self._around = around
        self.relations: list[Relation] = []
        self.merged: frozenset[str] = frozenset()
        first = node.args.get("from_")
        if first is None:
            raise QueryRejected("Every SELECT names a table.", error_code=SQL_PARSING)
        if any(value for part, value in first.args.items() if part != "this"):
            raise QueryRejected("FROM takes tables and subqueries.", error_code=SQL_PARSING)
        self.text = self._item(first.this)
        for join in node.args.get("joins") or ():
            self._join(join)

    def _join(self, join: exp.Expression) -> None:
        if not isinstance(join, exp.Join) or any(v for part, v in join.args.items() if part not in _JOIN):
            raise QueryRejected(f"'{join.sql()[:80]}' is not supported.", error_code=SQL_PARSING)
        side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
        if side not in ("", "LEFT", "RIGHT", "FULL") or kind not in ("", "INNER", "OUTER", "CROSS"):
            raise QueryRejected(
                f"{side} {kind} JOIN is not supported.".strip(),
                error_code=SQL_PARSING,
                remedy="Use INNER, LEFT, RIGHT, FULL or CROSS JOIN; for others IN or EXISTS.",
            )
        text = self._item(join.this)
        on, using = join.args.get("on"), join.args.get("using")
        if on is None and not using:
            if side or kind not in _WITHOUT_CONDITION:
                raise QueryRejected("JOIN takes a condition: ON ... or USING (...).", error_code=SQL_PARSING)
            self.text += f" CROSS JOIN {text}"
            return
        condition = self._using(using, side) if using else self._on(on)
        self.text += f" {side or 'INNER'} JOIN {text} ON {condition}"

    def _on(self, on: exp.Expression | None) -> str:
        scope = Scope(self.relations, self.merged, self._around.outer)
        self._around.session.note_parts(scope, self._around.parts)
        assert on is not None
        return RowCompiler(scope, self._around.session).condition(on).sql

    def _using(self, columns: list[exp.Expression], side: str) -> str:
        if side in ("RIGHT", "FULL"):
            raise QueryRejected(f"{side} JOIN takes ON, not USING.", error_code=SQL_PARSING)
        texts = []
        for column in columns:
            name = str(column.name)
            left, right = Scope(self.relations[:-1], self.merged), Scope(self.relations[-1:])
            node = exp.Column(this=exp.Identifier(this=name, quoted=True))
            texts.append(compare("=", left.resolve(node), right.resolve(node)).sql)
            self.merged |= {name.lower()}
        return f"({' AND '.join(texts)})"

    def _item(self, node: exp.Expression) -> str:
        """The text of a table, a part of WITH or a subquery; its columns are known from here on."""
        given = node.args.get("alias")
        columns = tuple(str(c.this) for c in (given.args.get("columns") or ())) if given is not None else ()
        short = self._around.session.name()
        if isinstance(node, exp.Table):
            return self._table(node, short, columns)
        if not isinstance(node, exp.Subquery) or not isinstance(node.this, exp.Query):
            raise QueryRejected("FROM takes tables and subqueries.", error_code=SQL_PARSING)
        made = self._around.derived(node)
        self._add(made.relation(node.alias or short, short, columns))
        return f"({made.sql}) AS {short}"

    def _table(self, node: exp.Table, short: str, columns: tuple[str, ...]) -> str:
        if any(v for part, v in node.args.items() if part not in ("this", "db", "alias")):
            raise QueryRejected(f"'{node.sql()[:80]}' is not supported in FROM.", error_code=SQL_PARSING)
        name, session = name_of(node), self._around.session
        if name.lower() in session.statement.parts:
            made = self._around.parts.get(name.lower())
            if made is None or node.args.get("db"):
                raise QueryRejected(
                    f"'{name[:80]}' is a name of WITH, which is not known here.",
                    error_code=SQL_PARSING,
                    remedy="Give the part of WITH a name that no table has; a part cannot name itself.",
                )
            self._add(made.relation(node.alias or name, short, columns))
            return f"({made.sql}) AS {short}"
        if columns:
            raise QueryRejected("Only subqueries can rename their columns.", error_code=SQL_PARSING)
        self._add(TableRelation(str(node.alias or name), short, session.scans[name]))
        return f"{session.source(name)} AS {short}"

    def _add(self, relation: Relation) -> None:
        if any(r.alias.lower() == relation.alias.lower() for r in self.relations):
            raise QueryRejected(
                f"Two tables of a FROM are called '{relation.alias[:80]}'.",
                error_code=SQL_PARSING,
                remedy="Give each an alias.",
            )
        self.relations.append(relation)
