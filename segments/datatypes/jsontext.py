"""JSON text as Pinot stores it: without blanks, key order kept, numbers as Java prints them."""

from __future__ import annotations

import json
from typing import Any, Final

from segments.datatypes.javatext import java_double

#: Objects and lists within one another that can be written as text again; what parses them takes twice as many.
_DEEPEST: Final = 500


def compact_json(text: str) -> str:
    """Re-serialise JSON text without blanks; text that is not JSON becomes a JSON string; empty text stays empty."""
    if not text.strip():
        return ""
    try:
        return _write(json.loads(text, parse_constant=_refuse), sort=False)
    except (ValueError, RecursionError):
        return json.dumps(text, ensure_ascii=False)


def json_of(value: Any) -> str:
    """A nested value -> JSON text; keys of maps sorted."""
    return _write(value, sort=True)


def _write(value: Any, *, sort: bool) -> str:
    match value:
        case dict():
            items = sorted(value.items()) if sort else value.items()
            return (
                "{"
                + ",".join(f"{json.dumps(str(k), ensure_ascii=False)}:{_write(v, sort=sort)}" for k, v in items)
                + "}"
            )
        case list() | tuple():
            return "[" + ",".join(_write(v, sort=sort) for v in value) + "]"
        case float():
            return java_double(value)
        case bytes():
            return json.dumps(value.hex())
        case None | bool() | int() | str():
            return json.dumps(value, ensure_ascii=False)
    return json.dumps(str(value), ensure_ascii=False)


def check_depth(text: bytes, value: Any) -> None:
    """Raises ValueError where the value that a JSON text spells cannot be written as text again: it is too deep."""
    if text.count(b"{") + text.count(b"[") <= _DEEPEST:
        return
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise ValueError(f"it is nested more than {_DEEPEST} deep")


def _refuse(text: str) -> Any:
    raise ValueError(text)
