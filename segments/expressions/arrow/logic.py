"""Comparisons, conditions and casts over Arrow columns; null is neither true nor false."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from segments.datatypes.compute import pc
from segments.datatypes.convert import convert
from segments.errors import InvalidInput
from segments.expressions.arrow.constants import constant
from segments.expressions.arrow.numbers import number, pair
from segments.expressions.casts import CASTS, REMEDY

Values = Any


def as_boolean(values: Values) -> Values:
    """Any column as bool."""
    return values if pt.is_boolean(values.type) else pc.not_equal(convert(values, "BOOLEAN"), 0)


def comparison(operation: Callable[[Values, Values], Values]) -> Callable[..., Values]:
    """Texts are compared as texts, everything else as numbers."""

    def run(a: Values, b: Values) -> Values:
        if pt.is_string(a.type) and pt.is_string(b.type):
            return operation(a, b)
        if pt.is_boolean(a.type) or pt.is_boolean(b.type):
            return operation(convert(a, "BOOLEAN"), convert(b, "BOOLEAN"))
        return operation(*pair(a, b))

    return run


def folded(operation: Callable[[Values, Values], Values]) -> Callable[..., Values]:
    """AND or OR of any number of conditions."""

    def run(*a: Values) -> Values:
        found = as_boolean(a[0])
        for other in a[1:]:
            found = operation(found, as_boolean(other))
        return found

    return run


def is_in(value: Values, *others: Values) -> Values:
    """Whether a value equals one of the others."""
    found = comparison(pc.equal)(value, others[0])
    for other in others[1:]:
        found = pc.or_kleene(found, comparison(pc.equal)(value, other))
    return found


def between(value: Values, low: Values, high: Values) -> Values:
    """Whether a value lies between two, ends included."""
    return pc.and_kleene(comparison(pc.greater_equal)(value, low), comparison(pc.less_equal)(value, high))


def _same_type(*a: Values) -> list[Values]:
    kinds = {v.type for v in a if not pt.is_null(v.type)}
    if len(kinds) <= 1:
        kind = kinds.pop() if kinds else pa.string()
        return [v.cast(kind) for v in a]
    if all(pt.is_integer(k) or pt.is_floating(k) for k in kinds):
        return [convert(number(v), "DOUBLE") for v in a]
    return [convert(v, "STRING") for v in a]


def case_when(*a: Values) -> Values:
    """``caseWhen(condition, value, condition, value, ..., otherwise)``."""
    values = _same_type(*a[1::2], a[-1]) if len(a) % 2 else _same_type(*a[1::2], pa.nulls(len(a[0])))
    found = values[-1]
    for condition, value in reversed(list(zip(a[0 : len(a) // 2 * 2 : 2], values[:-1], strict=True))):
        found = pc.if_else(pc.fill_null(as_boolean(condition), False), value, found)
    return found


def coalesce(*a: Values) -> Values:
    """The first value that is not null."""
    return pc.coalesce(*_same_type(*a))


def cast(value: Values, kind: Values) -> Values:
    """``CAST(value AS kind)``. Raises InvalidInput for a type that is not known."""
    wanted = CASTS.get(str(constant(kind, "type")).upper())
    if wanted is None:
        raise InvalidInput(f"CAST to '{constant(kind, 'type')}' is not supported.", remedy=REMEDY)
    found = convert(value, wanted)
    return pc.not_equal(found, 0) if wanted == "BOOLEAN" else found
