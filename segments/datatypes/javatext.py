"""Numbers as Java prints and stores them: Double.toString, BigDecimal text and bytes."""

from __future__ import annotations

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, InvalidOperation
from typing import Any, Final

import numpy as np

_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_MAX_DIGITS: Final = 10_000
_MAX_SCALE: Final = 32_767


def java_double(value: float) -> str:
    """Java's ``Double.toString``: ``1.0E10``, ``-Infinity``, ``0.001``."""
    return _java_float(value, repr(float(value)))


def java_float(value: float) -> str:
    """Java's ``Float.toString``: the shortest digits that give the same 32-bit float."""
    return _java_float(value, np.format_float_scientific(np.float32(value), trim="0"))


def java_number(value: Any, stored_type: str) -> str:
    """A stored INT, LONG, FLOAT or DOUBLE as Java's toString."""
    if stored_type == "FLOAT":
        return java_float(value)
    return java_double(value) if stored_type == "DOUBLE" else str(int(value))


def parse_decimal(text: str) -> Decimal:
    """Text -> decimal without trailing zeros, as Pinot stores BIG_DECIMAL. Raises ValueError for text that is no
    number.
    """
    try:
        value = Decimal(text.strip())
    except InvalidOperation as error:
        raise ValueError(text) from error
    if not value.is_finite() or "_" in text or len(value.as_tuple().digits) > _MAX_DIGITS:
        raise ValueError(text)
    value = value.normalize(_EXACT) if value else Decimal(0)
    exponent = _exponent(value)
    if abs(exponent) > _MAX_SCALE or len(value.as_tuple().digits) + max(exponent, 0) > _MAX_DIGITS:
        raise ValueError(text)  # written without an exponent it could not be read again
    return value


def plain_decimal(value: Decimal) -> str:
    """BigDecimal.toPlainString: no exponent."""
    return format(value, "f")


def java_decimal(value: Decimal) -> str:
    """BigDecimal.toString: ``1E+2``, ``123.45``; the same rule as Python's."""
    return str(value)


def decimal_bytes(value: Decimal) -> bytes:
    """int16 scale, then the unscaled number as minimal two's complement."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    length = ((unscaled if unscaled >= 0 else ~unscaled).bit_length()) // 8 + 1
    return (-exponent).to_bytes(2, "big", signed=True) + unscaled.to_bytes(length, "big", signed=True)


def decimal_from_bytes(data: bytes) -> Decimal:
    """Undo :func:`decimal_bytes`. Raises ValueError for fewer than 3 bytes."""
    if len(data) < 3:
        raise ValueError("a BIG_DECIMAL has at least 3 bytes")
    scale = int.from_bytes(data[:2], "big", signed=True)
    unscaled = int.from_bytes(data[2:], "big", signed=True)
    return Decimal(unscaled).scaleb(-scale, _EXACT) if len(data) <= _MAX_DIGITS // 2 else _refuse(data)


def _refuse(data: bytes) -> Decimal:
    raise ValueError(f"a BIG_DECIMAL of {len(data)} bytes is too long")


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent


def _java_float(value: float, shortest: str) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(shortest).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    point = len(text) + exponent
    minus = "-" if sign else ""
    if text.strip("0") == "":
        return minus + "0.0"
    stripped = text.rstrip("0") or "0"
    if -3 < point <= 7:
        whole = (text[:point].ljust(point, "0") or "0") if point > 0 else "0"
        fraction = ("0" * -point + text if point <= 0 else text[point:]).rstrip("0") or "0"
        return f"{minus}{whole}.{fraction}"
    return f"{minus}{stripped[0]}.{stripped[1:] or '0'}E{point - 1}"
