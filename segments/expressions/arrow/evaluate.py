"""Runs a parsed expression over all rows of an Arrow table."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import pyarrow as pa

from segments.datatypes.convert import plain
from segments.errors import InvalidInput
from segments.expressions.function import Function, canonical, takes
from segments.expressions.functions import FUNCTIONS
from segments.expressions.ingestion import Call, Column, Expression, Literal


def check(tree: Expression) -> None:
    """Raises InvalidInput with the name of a function that is not supported, or takes another number of arguments."""
    if not isinstance(tree, Call):
        return
    function, given = _function(tree.function), len(tree.arguments)
    if wanted := takes(function.arrow_takes or function.takes, given):
        raise InvalidInput(f"Function '{tree.function}' takes {wanted} arguments, not {given}.")
    for argument in tree.arguments:
        check(argument)


def evaluate(tree: Expression, table: pa.Table) -> Any:
    """An expression over all rows of a table -> one plain array. A column that is missing is null. Raises BadValue."""
    if isinstance(tree, Column):
        return plain(table.column(tree.name)) if tree.name in table.column_names else pa.nulls(table.num_rows)
    if isinstance(tree, Literal):
        return pa.nulls(table.num_rows) if tree.value is None else pa.repeat(pa.scalar(tree.value), table.num_rows)
    run = _function(tree.function).arrow
    return run(*map(evaluate, tree.arguments, repeat(table))) if run else None


def _function(name: str) -> Function:
    found = FUNCTIONS.get(canonical(name))
    if found is None or found.arrow is None:
        raise InvalidInput(
            f"Function '{name}' is not supported while building segments.",
            remedy="Compute the column before the push, or use one of the functions in docs/segment-files.md.",
        )
    return found
