"""Schemas of Avro: which of their logical types are applied, which schemas are read at all, how long decimals may be.

What reads values is compiled code that trusts its schema and the data: a type that holds itself uses up the stack,
which ends the process, and a list of values that take no bytes may be as long as a few bytes say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from fastavro.read import LOGICAL_READERS

#: Types within one another.
_DEEPEST: Final = 100
#: Values that take no bytes, in a row, and in each item of a list or map.
_MOST_EMPTY: Final = 2_000
_MOST_EMPTY_IN_ITEM: Final = 16
#: Bytes and digits of a decimal. The time to decode one grows with the square of its length.
_MOST_OF_DECIMAL: Final = 512
_MOST_DIGITS: Final = 1_233


def numbers_as_stored(schema: Any, kept: Collection[str]) -> Any:
    """A schema (its parsed JSON) in which times and dates are the numbers they are stored as: no logical type is left
    but those ``kept``.
    """
    if isinstance(schema, list):
        return [numbers_as_stored(node, kept) for node in schema]
    if not isinstance(schema, dict):
        return schema
    return {k: numbers_as_stored(v, kept) for k, v in schema.items() if k != "logicalType" or v in kept}


def check_bounded(schema: Any) -> None:
    """Can what is read by this schema (its parsed JSON) be no larger than its data allow? ValueError names the type at
    fault; KeyError, TypeError and AttributeError for what is no schema.
    """
    takes_bytes, _ = _Measure().of(schema, "", 0)
    if not takes_bytes:
        raise ValueError("a row of its schema takes no bytes")


class _Measure:
    """Goes through a schema once. Of each type: does a value take bytes, and how many values in it take none."""

    def __init__(self) -> None:
        #: By full name; None: a record that it is within.
        self._named: dict[str, tuple[bool, int] | None] = {}

    def of(self, node: Any, namespace: str, depth: int) -> tuple[bool, int]:
        if depth > _DEEPEST:
            raise ValueError(f"its schema is nested more than {_DEEPEST} types deep")
        if isinstance(node, list):
            return True, max((self.of(n, namespace, depth + 1)[1] for n in node if n != "null"), default=0)
        if isinstance(node, str):
            return self._of_name(node, namespace)
        if any(int(node.get(key) or 0) > _MOST_DIGITS for key in ("precision", "scale")):
            raise ValueError(f"it has decimals of more than {_MOST_DIGITS} digits")
        match node["type"]:
            case "record" | "error":
                return self._of_record(node, namespace, depth)
            case "array" | "map" as kind:
                return self._of_items(node["items" if kind == "array" else "values"], kind, namespace, depth)
            case "enum":
                self._named[_full_name(node, namespace)] = True, 0
                return True, 0
            case "fixed":
                found = node["size"] > 0, int(node["size"] <= 0)
                self._named[_full_name(node, namespace)] = found
                return found
            case other:
                return self.of(other, namespace, depth + 1)

    def _of_name(self, name: str, namespace: str) -> tuple[bool, int]:
        if name in _PRIMITIVE:
            return name != "null", int(name == "null")
        found = self._named[name if "." in name or not namespace else f"{namespace}.{name}"]
        if found is None:
            raise ValueError(f"its type '{name[:100]}' holds itself")
        return found

    def _of_record(self, node: Any, namespace: str, depth: int) -> tuple[bool, int]:
        name = _full_name(node, namespace)
        inner = name.rpartition(".")[0]
        self._named[name] = None
        fields = [self.of(field["type"], inner, depth + 1) for field in node.get("fields", ())]
        takes_bytes = any(takes for takes, _ in fields)
        empty = sum(count for _, count in fields) + (not takes_bytes)
        if empty > _MOST_EMPTY:
            raise ValueError(f"its type '{name[:100]}' has more than {_MOST_EMPTY} values that take no bytes")
        self._named[name] = takes_bytes, empty
        return takes_bytes, empty

    def _of_items(self, item: Any, kind: str, namespace: str, depth: int) -> tuple[bool, int]:
        takes_bytes, empty = self.of(item, namespace, depth + 1)
        if (kind == "array" and not takes_bytes) or empty > _MOST_EMPTY_IN_ITEM:
            raise ValueError(f"its schema has a list or map of values that take no bytes ({kind})")
        return True, 0


def _bounded(read: Callable[..., Any]) -> Callable[..., Any]:
    def decimal(data: bytes, writer: Any = None, reader: Any = None) -> Any:
        if len(data) > _MOST_OF_DECIMAL:
            raise ValueError(f"A decimal has {len(data)} bytes; at most {_MOST_OF_DECIMAL} are read.")
        return read(data, writer, reader)

    return decimal


def _bound_decimals_of_this_process() -> None:
    """fastavro has one table of readers for the whole process, and no argument that takes others: from the import of
    this module on, everything that reads Avro in it refuses longer decimals.
    """
    for kind in ("bytes-decimal", "fixed-decimal"):
        LOGICAL_READERS[kind] = _bounded(LOGICAL_READERS[kind])


_bound_decimals_of_this_process()

_PRIMITIVE: Final = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))


def _full_name(node: Any, namespace: str) -> str:
    name, given = str(node["name"]), node.get("namespace", namespace)
    return name if "." in name or not given else f"{given}.{name}"
