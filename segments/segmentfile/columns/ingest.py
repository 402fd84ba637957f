"""Applies ``ingestionConfig`` before the types are converted: expression transforms, then the filter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from segments.datatypes.compute import pc
from segments.datatypes.convert import BadValue, RefusedRows, convert, plain
from segments.datatypes.shown_value import quoted_text
from segments.domain.tables.schema import DEFAULT_MAX_LENGTH, FieldSpec, Schema
from segments.domain.tables.table_config import TableConfig
from segments.errors import InvalidInput
from segments.expressions.arrow.evaluate import check, evaluate
from segments.expressions.arrow.logic import as_boolean
from segments.expressions.ingestion import Expression, Literal, columns_of, parse_expression


@dataclass(frozen=True)
class Ingestion:
    """A table's transforms, in an order in which each finds the columns it reads, and its filter.

    ``row_time_check`` refuses rows whose time is outside 1971..2071; ``continue_on_error`` stores null where a value
    does not convert.
    """

    transforms: tuple[tuple[str, Expression], ...] = ()
    keeps_unless: Expression | None = None
    row_time_check: bool = False
    continue_on_error: bool = False

    @property
    def source_columns(self) -> frozenset[str]:
        """Columns that expressions read and no transform makes: they must be read from the input, whether in the schema
        or not.
        """
        read = frozenset().union(
            *(columns_of(e) for _, e in self.transforms), columns_of(self.keeps_unless or Literal(None))
        )
        return read - {name for name, _ in self.transforms}

    @property
    def made_columns(self) -> frozenset[str]:
        """Columns that transforms make."""
        return frozenset(name for name, _ in self.transforms)


def read_ingestion(schema: Schema, config: TableConfig) -> Ingestion:
    """``ingestionConfig`` and the schema's ``transformFunction`` of a table.

    Raises InvalidInput naming an expression that does not parse, a function that is not supported, a column that is
    transformed twice, reads itself, or is in a circle of transforms.
    """
    asked = config.ingestion
    given: dict[str, str] = {}
    for item in asked.transform_configs or ():
        name, text = (item.column_name, item.transform_function) if item is not None else (None, None)
        if not name or not text:
            raise InvalidInput(
                "Every item of 'ingestionConfig.transformConfigs' needs 'columnName' and 'transformFunction'."
            )
        if name in given:
            raise InvalidInput(
                f"Column '{name}' has two transforms in 'ingestionConfig.transformConfigs'.", remedy="Keep one."
            )
        given[str(name)] = str(text)
    for field in schema.fields:
        if field.transform:
            given.setdefault(field.name, field.transform)
    trees = {name: _tree(text, f"the transform of column '{name}'") for name, text in given.items()}
    where = asked.filter_config.filter_function if asked.filter_config is not None else None
    return Ingestion(
        tuple((name, trees[name]) for name in _ordered(trees)),
        _tree(str(where), "'filterConfig.filterFunction'") if where else None,
        bool(asked.row_time_value_check),
        bool(asked.continue_on_error),
    )


def reading_schema(schema: Schema, plan: Ingestion) -> Schema:
    """The schema to read input with: the columns that expressions read besides are there, as text; nested values as
    JSON text.
    """
    extra = [
        FieldSpec(
            name, "JSON", "DIMENSION", True, "null", None, None, DEFAULT_MAX_LENGTH, None, False, None, {"name": name}
        )
        for name in sorted(plan.source_columns - schema.by_name.keys())
    ]
    return replace(schema, fields=(*schema.fields, *extra)) if extra else schema


def apply_ingestion(table: pa.Table, plan: Ingestion, schema: Schema) -> tuple[pa.Table, Any]:
    """(rows that stay, with the columns that transforms make; their positions in ``table``, or None when all stay).

    A value that is there already is kept; a row goes when the filter is true. Raises InvalidInput naming column, row
    and value.
    """
    for name, tree in plan.transforms:
        table = _with_column(table, name, tree, plan, schema)
    if plan.keeps_unless is None or not table.num_rows:
        return table, None
    tree = plan.keeps_unless
    passes = _guarded(
        lambda part: as_boolean(evaluate(tree, part)), table, plan, "'filterConfig.filterFunction'", pa.bool_()
    )
    stays = pc.invert(pc.fill_null(passes, False))
    if pc.all(stays).as_py():
        return table, None
    kept = np.flatnonzero(stays.to_numpy(zero_copy_only=False))
    return table.filter(stays), kept


def lenient(run: Callable[[int, int], Any], start: int, stop: int, nothing: Callable[[int], Any]) -> list[Any]:
    """Results of ``run`` over ranges that together are ``start`` to ``stop``; a row on which it fails gives
    ``nothing(1)``.

    Halves what fails, so that the work grows with the number of bad rows, not with the number of rows.
    """
    try:
        return [run(start, stop)]
    except BadValue:
        if stop - start == 1:
            return [nothing(1)]
        middle = (start + stop) // 2
        return lenient(run, start, middle, nothing) + lenient(run, middle, stop, nothing)


def _tree(text: str, what: str) -> Expression:
    try:
        tree = parse_expression(text)
        check(tree)
    except InvalidInput as error:
        raise InvalidInput(f"{what[0].upper()}{what[1:]}: {error.message}", remedy=error.remedy) from error
    return tree


def _ordered(trees: dict[str, Expression]) -> list[str]:
    """Names so that each comes after those it reads."""
    done: list[str] = []
    open_names: list[str] = []

    def visit(name: str) -> None:
        if name in done:
            return
        if name in open_names:
            circle = " -> ".join([*open_names[open_names.index(name) :], name])
            raise InvalidInput(
                f"The transforms of ingestionConfig go in a circle: {circle}.", remedy="Read from another column."
            )
        open_names.append(name)
        for other in sorted(columns_of(trees[name])):
            if other in trees:
                visit(other)
        open_names.pop()
        done.append(name)

    for name in trees:
        visit(name)
    return done


def _with_column(table: pa.Table, name: str, tree: Expression, plan: Ingestion, schema: Schema) -> pa.Table:
    given = plain(table.column(name)) if name in table.column_names else None
    if given is not None and not given.null_count:
        return table
    if not table.num_rows:
        return table
    made = _guarded(lambda part: evaluate(tree, part), table, plan, f"column '{name}'", None)
    if given is not None and given.null_count < len(given):
        given, made = _alike(given, made, schema.by_name[name].data_type if name in schema.by_name else "STRING")
        made = pc.coalesce(given, made)
    column: Any = made
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def _alike(a: Any, b: Any, data_type: str) -> tuple[Any, Any]:
    """Both columns in one type; values of different types meet in the column's own."""
    return (a, b) if a.type == b.type else (convert(a, data_type), convert(b, data_type))


def _guarded(run: Callable[[pa.Table], Any], table: pa.Table, plan: Ingestion, what: str, kind: Any) -> Any:
    """``run`` over the table; a value that does not fit becomes null, or InvalidInput with its row."""
    if plan.continue_on_error:
        parts = lenient(lambda a, b: run(table.slice(a, b - a)), 0, table.num_rows, lambda n: pa.nulls(n, kind))
        return _joined(parts)
    try:
        return run(table)
    except BadValue as bad:
        name = f"{what[0].upper()}{what[1:]}"
        raise InvalidInput(
            f"{name}, row {bad.position}: {_not_taken(bad.value)}",
            remedy="Correct the input or the expression, or set ingestionConfig.continueOnError.",
            row=bad.position,
        ) from RefusedRows(
            [(row, f"{name}: {_not_taken(value)}") for row, value in bad.every],
            [v for _, v in bad.every],
            f"{name}: the expression does not take the value",
        )


def _not_taken(value: Any) -> str:
    return f"the expression does not take the value {quoted_text(value, 120)}."


def _joined(parts: Iterable[Any]) -> Any:
    listed = [plain(p) for p in parts]
    kind = next((p.type for p in listed if not pa.types.is_null(p.type)), pa.null())
    return pa.concat_arrays([p.cast(kind) for p in listed])
