"""JSON text as Pinot stores it: without blanks, key order kept, numbers as Java prints them."""

from __future__ import annotations

import json
from typing import Any

from segments.datatypes.javatext import java_double


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


def _refuse(text: str) -> Any:
    raise ValueError(text)
