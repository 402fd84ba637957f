"""Arithmetic over Arrow columns: whole numbers stay whole and wrap at 64 bits, everything else is a DOUBLE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from segments.datatypes.compute import pc
from segments.datatypes.convert import BadValue, convert, plain

Values = Any


def number(values: Values) -> Values:
    """Whole numbers and booleans as int64, all else as float64; text is parsed."""
    values = plain(values)
    whole = pt.is_integer(values.type) or pt.is_boolean(values.type)
    return convert(values, "LONG") if whole else convert(values, "DOUBLE")


def pair(a: Values, b: Values) -> tuple[Values, Values]:
    """Both as ``number``, in one type."""
    a, b = number(a), number(b)
    if a.type != b.type:
        a, b = a.cast(pa.float64(), safe=False), b.cast(pa.float64(), safe=False)
    return a, b


def binary(operation: Callable[[Values, Values], Values]) -> Callable[..., Values]:
    """A function of two numbers."""
    return lambda a, b: operation(*pair(a, b))


def extreme(better: Callable[[Values, Values], Values]) -> Callable[..., Values]:
    """The second of two numbers where it is better than the first, else the first."""
    return binary(lambda a, b: pc.if_else(better(b, a), b, a))


def divide(a: Values, b: Values) -> Values:
    """The quotient as DOUBLE, also of whole numbers."""
    return pc.divide(convert(number(a), "DOUBLE"), convert(number(b), "DOUBLE"))


def modulo(a: Values, b: Values) -> Values:
    """The remainder with the sign of ``a``, as in Java. Raises BadValue for a whole number by zero."""
    a, b = pair(a, b)
    missing = (pc.is_null(a)).to_numpy(zero_copy_only=False) | pc.is_null(b).to_numpy(zero_copy_only=False)
    top, bottom = (x.fill_null(1).to_numpy(zero_copy_only=False) for x in (a, b))
    zero = np.flatnonzero((bottom == 0) & ~missing)
    if len(zero) and pt.is_integer(b.type):
        raise BadValue(int(zero[0]), 0)
    with np.errstate(all="ignore"):
        return pa.array(np.fmod(top, bottom), mask=missing)


def real(operation: Callable[[Values], Values]) -> Callable[..., Values]:
    """A function of one DOUBLE."""
    return lambda a: operation(convert(number(a), "DOUBLE"))
