"""A compiled expression: DuckDB text made only from our own templates, with Pinot's type and Pinot's name of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from segments.expressions.query_errors import SQL_PARSING, QueryRejected

NUMERIC: Final = frozenset({"INT", "LONG", "FLOAT", "DOUBLE"})
#: Logical type -> type in which DuckDB holds it here (BOOLEAN columns are stored as INT and read as BOOLEAN).
DUCK_TYPES: Final[dict[str, str]] = {
    "INT": "INTEGER",
    "LONG": "BIGINT",
    "FLOAT": "FLOAT",
    "DOUBLE": "DOUBLE",
    "BIG_DECIMAL": "VARCHAR",
    "BOOLEAN": "BOOLEAN",
    "TIMESTAMP": "BIGINT",
    "STRING": "VARCHAR",
    "JSON": "VARCHAR",
    "BYTES": "BLOB",
    "UUID": "BLOB",
    "MAP": "VARCHAR",
}
_TIMESTAMP = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)(?:[ T](\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(Z)?\Z")


@dataclass(frozen=True, slots=True)
class Expr:
    """``sql`` for DuckDB, Pinot's ``type`` (``mv``: a list of it) and column ``name``.

    ``constant`` expressions carry their Python ``value``.
    """

    sql: str
    type: str
    name: str
    mv: bool = False
    constant: bool = False
    value: Any = None

    @property
    def result_type(self) -> str:
        """The type as the response names it: ``STRING``, ``INT_ARRAY``."""
        return f"{self.type}_ARRAY" if self.mv else self.type

    def named(self, name: str) -> Expr:
        """The same expression under another name."""
        return replace(self, name=name)


def literal(value: Any, kind: str | None = None) -> Expr:
    """A constant; its type from the Python value unless given. Names quote every literal, as Pinot does."""
    kind = kind or _type_of(value)
    text = {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    return Expr(literal_sql(value, kind), kind, f"'{text}'", constant=True, value=value)


def literal_sql(value: Any, kind: str) -> str:
    """A Python value as DuckDB text of a Pinot type."""
    if value is None:
        return f"CAST(NULL AS {DUCK_TYPES[kind]})"
    match kind:
        case "INT":
            return str(int(value)) if value >= 0 else f"({int(value)})"
        case "LONG" | "TIMESTAMP":
            return f"CAST({int(value)} AS {DUCK_TYPES[kind]})"
        case "FLOAT" | "DOUBLE":
            return f"CAST('{float(value)!r}' AS {DUCK_TYPES[kind]})"
        case "BOOLEAN":
            return "TRUE" if value else "FALSE"
        case "BYTES" | "UUID":
            return f"unhex('{bytes(value).hex()}')"
    return quote(str(value))


def quote(text: str) -> str:
    """A string literal for DuckDB. Refuses characters that no query text needs."""
    if "\x00" in text:
        raise QueryRejected("A string literal holds a NUL character.", error_code=SQL_PARSING)
    return "'" + text.replace("'", "''") + "'"


def parse_number(text: str) -> int | float:
    """``12`` -> int, ``1.5`` and ``1e5`` -> float. Raises QueryRejected for what does not fit 64 bits or
    is not a number.
    """
    try:
        value: int | float = int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError as error:
            raise QueryRejected(f"'{text}' is not a number.", error_code=SQL_PARSING) from error
    return value if -(2**63) <= value < 2**63 else float(value)


def parse_timestamp(text: str) -> int:
    """``2020-01-02 03:04:05.6`` (UTC) or a number of milliseconds -> milliseconds. Raises QueryRejected."""
    if re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    found = _TIMESTAMP.match(text.strip())
    try:
        if found is None:
            raise ValueError(text)
        parts = [int(p or 0) for p in found.groups()[:6]]
        moment = datetime(*parts[:3], *parts[3:], tzinfo=UTC)  # type: ignore[misc,arg-type]  # six ints, which mypy cannot count
    except ValueError as error:
        raise QueryRejected(f"'{text}' is not a timestamp.", remedy="Write 'yyyy-MM-dd HH:mm:ss.SSS'.") from error
    return int(moment.timestamp()) * 1000 + int((found[7] or "0").ljust(3, "0")[:3])


def coerce(constant: Expr, kind: str) -> Expr:
    """A constant in the type of what it is compared with; raises QueryRejected when it has no such value."""
    if kind == constant.type or constant.value is None:
        return constant
    try:
        value = _converted(constant.value, kind)
    except (ValueError, OverflowError) as error:
        raise QueryRejected(
            f"{constant.name} cannot be read as {kind}.", remedy=f"Compare with a value of type {kind}."
        ) from error
    if kind in ("INT", "LONG") and isinstance(value, float):
        return literal(value).named(constant.name)
    wider = "LONG" if kind == "INT" and not -(2**31) <= value < 2**31 else kind
    return literal(value, wider).named(constant.name)


def as_double(expr: Expr) -> str:
    """The expression as DuckDB DOUBLE; raises QueryRejected for types without numbers."""
    if expr.mv:
        raise QueryRejected(f"Multi-value column '{expr.name}' cannot be used as one number.")
    if expr.type == "DOUBLE":
        return expr.sql
    if expr.constant and isinstance(expr.value, str):
        return coerce(expr, "DOUBLE").sql
    if expr.type in NUMERIC or expr.type in ("BIG_DECIMAL", "TIMESTAMP"):
        return f"CAST({expr.sql} AS DOUBLE)"
    if expr.type == "BOOLEAN":
        return f"CAST(CAST({expr.sql} AS INTEGER) AS DOUBLE)"
    if expr.type == "STRING":
        return f"CAST({expr.sql} AS DOUBLE)"
    raise QueryRejected(f"'{expr.name}' of type {expr.type} is not a number.")


def as_long(expr: Expr) -> str:
    """The expression as DuckDB BIGINT, fractions cut off."""
    if not expr.mv and expr.type in ("INT", "LONG", "TIMESTAMP"):
        return expr.sql if expr.type != "INT" else f"CAST({expr.sql} AS BIGINT)"
    return f"CAST(trunc({as_double(expr)}) AS BIGINT)"


def as_text(expr: Expr) -> str:
    """The expression as DuckDB VARCHAR, written as Pinot writes it."""
    if expr.mv:
        raise QueryRejected(f"Multi-value column '{expr.name}' cannot be used as one text.")
    if expr.type == "TIMESTAMP":
        return (
            rf"regexp_replace(strftime(epoch_ms({expr.sql}), '%Y-%m-%d %H:%M:%S.%g'), '(\.\d(?:\d?[1-9])?)0*$', '\1')"
        )
    if expr.type in ("BYTES", "UUID"):
        return f"lower(hex({expr.sql}))"
    return expr.sql if DUCK_TYPES[expr.type] == "VARCHAR" else f"CAST({expr.sql} AS VARCHAR)"


def constant_text(args: Sequence[Expr], position: int, default: str, what: str) -> str:
    """The constant string at a position, or the default when it is left out. Raises QueryRejected when it is no
    constant.
    """
    if position >= len(args):
        return default
    if not args[position].constant:
        raise QueryRejected(f"{what} must be a constant, not '{args[position].name}'.")
    return str(args[position].value)


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, int):
        return "INT" if -(2**31) <= value < 2**31 else "LONG"
    if isinstance(value, bytes):
        return "BYTES"
    return "DOUBLE" if isinstance(value, float) else "STRING"


def _converted(value: Any, kind: str) -> Any:
    match kind:
        case "INT" | "LONG":
            number = parse_number(value) if isinstance(value, str) else value
            return int(number) if isinstance(number, bool) or number == int(number) else float(number)
        case "FLOAT" | "DOUBLE" | "BIG_DECIMAL":
            return float(value)
        case "BOOLEAN":
            return str(value).lower() in ("true", "1")
        case "TIMESTAMP":
            return parse_timestamp(value) if isinstance(value, str) else int(value)
        case "BYTES":
            return bytes.fromhex(str(value))
        case "UUID":
            return bytes.fromhex(str(value).replace("-", ""))
    return str(value)
