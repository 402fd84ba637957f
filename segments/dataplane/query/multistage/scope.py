"""What names of columns mean in one SELECT: those of its tables and subqueries, and of the queries around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from sqlglot import exp

from segments.dataplane.query.nulls import RECORDED_PREFIX, null_of, prefix_of
from segments.dataplane.query.sql.compiler import VIRTUAL
from segments.dataplane.query.sql.text_growth import COLUMN_TEXT
from segments.domain.formats.sql_name import quoted
from segments.domain.tables.schema import Schema
from segments.expressions.duckdb.compiled import Expr
from segments.expressions.query_errors import UNKNOWN_COLUMN, QueryRejected

#: Read of a table of which no column is used: rows are what counts.
_ANY: Final = "$docId"
#: Characters of the names of columns in a refusal, shared by the tables of the query.
_LONGEST_KNOWN: Final = 600


@dataclass(frozen=True)
class Field:
    """A column of a relation: its DuckDB text, its Pinot type, and the longest text that it can hold."""

    name: str
    sql: str
    type: str
    mv: bool = False
    longest: int = COLUMN_TEXT


class Relation(Protocol):
    """One item of FROM."""

    @property
    def alias(self) -> str:
        """Its name in the query."""
        ...

    @property
    def names(self) -> list[str]:
        """Of its columns, for whoever wrote another one."""
        ...

    def all(self) -> list[Field]:
        """What ``*`` stands for."""
        ...

    def find(self, name: str) -> list[Field]:
        """Columns of this name: the one that is written alike, else all that differ in case only."""
        ...

    def recorded_null(self, found: Field) -> Field | None:
        """Whether the value of one of its columns was null where segments record that; None: nothing records it."""
        ...


@dataclass
class Scan:
    """What is read of one table: ``columns`` in the order of ``c0, c1 ...``; ``filters`` in Pinot's SQL, all of which
    hold for every row that the query needs.
    """

    table: str
    schema: Schema
    columns: list[str] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)

    def use(self, name: str) -> str:
        """The column's name in the scanned rows."""
        if name not in self.columns:
            self.columns.append(name)
        return f"c{self.columns.index(name)}"

    @property
    def sql(self) -> str:
        """As one query of this table alone."""
        wanted = ", ".join(quoted(c) for c in self.columns or [_ANY])
        where = " AND ".join(f"({f})" for f in dict.fromkeys(self.filters))
        return f"SELECT {wanted} FROM {quoted(self.table)}" + (f" WHERE {where}" if where else "")  # noqa: S608  # quoted


@dataclass
class TableRelation:
    """One mention of a table; columns are read once they are used. ``short`` is its name in the DuckDB text."""

    alias: str
    short: str
    scan: Scan

    @property
    def names(self) -> list[str]:
        """Sorted, without virtual columns."""
        return sorted(self.scan.schema.by_name)

    def all(self) -> list[Field]:
        """As in a query of one table: by name."""
        return [self._field(name) for name in self.names]

    def find(self, name: str) -> list[Field]:
        """Virtual columns, too."""
        column = null_of(name)
        if column is not None:
            return [self._field(prefix_of(name) + found) for found in self._names(column) if found not in VIRTUAL]
        return [self._field(found) for found in self._names(name)]

    def recorded_null(self, found: Field) -> Field | None:
        """Whether the field's column was null, where segments record that; None for virtual columns."""
        column = self.column_of(found)
        is_virtual = column is None or column in VIRTUAL or null_of(column) is not None
        return None if is_virtual else self._field(f"{RECORDED_PREFIX}{column}")

    def column_of(self, found: Field) -> str | None:
        """The table's column behind a field of this relation; None for another's."""
        prefix = f"{self.short}.c"
        return self.scan.columns[int(found.sql[len(prefix) :])] if found.sql.startswith(prefix) else None

    def _names(self, name: str) -> list[str]:
        known = (*self.scan.schema.by_name, *VIRTUAL)
        return [name] if name in known else [n for n in known if n.lower() == name.lower()]

    def _field(self, name: str) -> Field:
        sql = f"{self.short}.{self.scan.use(name)}"
        if name in VIRTUAL or null_of(name) is not None:
            return Field(name, sql, VIRTUAL.get(name, "BOOLEAN"))
        spec = self.scan.schema.by_name[name]
        return Field(name, sql, spec.data_type, not spec.single_value)


@dataclass(frozen=True)
class DerivedRelation:
    """A subquery, or a part of WITH."""

    alias: str
    fields: tuple[Field, ...]

    @property
    def names(self) -> list[str]:
        """In the order of its SELECT."""
        return [f.name for f in self.fields]

    def all(self) -> list[Field]:
        """In the order of its SELECT."""
        return list(self.fields)

    def find(self, name: str) -> list[Field]:
        """A name may stand for several: then it cannot be used."""
        alike = [f for f in self.fields if f.name == name]
        return alike or [f for f in self.fields if f.name.lower() == name.lower()]

    def recorded_null(self, found: Field) -> None:
        """Its nulls are those of DuckDB."""


@dataclass(frozen=True)
class Scope:
    """The relations of one SELECT. ``merged``: columns that USING made one, in lower case; they are those of the left
    side. ``outer``: the SELECT around it.
    """

    relations: Sequence[Relation]
    merged: frozenset[str] = frozenset()
    outer: Scope | None = None

    def find(self, node: exp.Column) -> tuple[Relation, Field]:
        """Raises QueryRejected (710) for a column that is unknown or could be several."""
        name, table = node.name, node.table
        if node.args.get("db") or node.args.get("catalog"):
            raise QueryRejected(f"'{node.sql()[:80]}' has too many parts.", error_code=UNKNOWN_COLUMN)
        at: Scope | None = self
        while at is not None:
            found = [(r, f) for r in at.named(table) for f in r.find(name)] if not table or at.named(table) else []
            if len(found) > 1 and not table and name.lower() in at.merged:
                found = found[:1]
            if len(found) == 1:
                return found[0]
            if found:
                raise QueryRejected(
                    f"Column '{name[:80]}' could be of several tables.",
                    error_code=UNKNOWN_COLUMN,
                    remedy="Write the table's alias before it.",
                )
            at = at.outer
        whole = f"{table}.{name}" if table else name
        raise QueryRejected(f"Unknown column '{whole[:120]}'.", error_code=UNKNOWN_COLUMN, remedy=self._known())

    def resolve(self, node: exp.Column) -> Expr:
        """The column as an expression, under a name that only it has."""
        relation, found = self.find(node)
        return Expr(found.sql, found.type, f"{relation.alias}.{found.name}", found.mv)

    def named(self, alias: str) -> list[Relation]:
        """Those of this alias; all without one."""
        if not alias:
            return list(self.relations)
        alike = [r for r in self.relations if r.alias == alias]
        return alike or [r for r in self.relations if r.alias.lower() == alias.lower()]

    def _known(self) -> str:
        """The columns of each relation, shortened where there are many."""
        if not self.relations:
            return "There is no table in FROM."
        shares = _LONGEST_KNOWN // max(1, len(self.relations))
        return "; ".join(f"Columns of {r.alias[:80]}: {_listed(r.names, shares)}" for r in self.relations) + "."


def _listed(names: Sequence[str], longest: int) -> str:
    """As many of them as fit, and how many more there are."""
    shown = ", ".join(names)
    if len(shown) <= longest:
        return shown
    fitting = shown[:longest].rpartition(", ")[0] or names[0][:longest]
    return f"{fitting} and {len(names) - fitting.count(', ') - 1} more"
