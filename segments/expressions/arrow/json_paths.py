"""Pinot's JSON functions for ingestion: a nested value as text, and values taken out by a path
(``$.a.b[0]['c d']``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as pt

from segments.datatypes.compute import pc
from segments.datatypes.convert import convert, map_distinct
from segments.datatypes.jsontext import compact_json, json_of
from segments.errors import InvalidInput
from segments.expressions.arrow.constants import constant

Values = Any
_STEP = re.compile(r"\.([\w$-]+)|\[([0-9]{1,9})\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")
_NO_LONG: Final = -(2**63)


def _json_format(values: Values) -> Values:
    if pt.is_nested(values.type):
        return pa.array([None if v is None else json_of(v) for v in values.to_pylist()], pa.string())
    return map_distinct(values, _formatted, pa.string())


def _formatted(value: Any) -> str | None:
    """Objects and arrays that come as text are JSON already; other text becomes a JSON string."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        return compact_json(value)
    return None if value is None else json_of(value)


def _path(convert_to: Callable[[Any], Any], kind: Any, missing: Any) -> Callable[..., Values]:
    def run(values: Values, path: Values, default: Values | None = None) -> Values:
        steps = _steps(path)
        other = missing if default is None else constant(default, "default")

        def pick(document: Any) -> Any:
            if document is None:
                return None
            found = _walk(json.loads(document), steps)
            return other if found is None else convert_to(found)

        if pt.is_nested(values.type):
            values = _json_format(values)
        found = map_distinct(convert(values, "STRING"), pick, kind)
        return found if default is None or other is None else pc.fill_null(found, pa.scalar(convert_to(other), kind))

    return run


def _steps(path: Values) -> list[str | int]:
    text = str(constant(path, "path"))
    found = list(_STEP.finditer(text, 1))
    if not text.startswith("$") or sum(len(m[0]) for m in found) != len(text) - 1:
        raise InvalidInput(
            f"JSON path '{text}' is not supported.", remedy="Use steps such as $.name, $['a name'] and $.list[0]."
        )
    return [int(m[2]) if m[2] is not None else next(g for g in (m[1], m[3], m[4]) if g is not None) for m in found]


def _walk(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json_of(value)


def _as_long(value: Any) -> int:
    return int(value) if not isinstance(value, str) else int(value.strip())


def _as_double(value: Any) -> float:
    return float(value)


#: Name -> (function, fewest, most arguments). What is missing is null as text, Long.MIN_VALUE, NaN (which is stored as
#: null), as in Pinot.
JSON_FUNCTIONS: Final[dict[str, tuple[Callable[..., Values], int, int]]] = {
    "jsonformat": (_json_format, 1, 1),
    "jsonpathstring": (_path(_as_text, pa.string(), None), 2, 3),
    "jsonpathlong": (_path(_as_long, pa.int64(), _NO_LONG), 2, 3),
    "jsonpathdouble": (_path(_as_double, pa.float64(), float("nan")), 2, 3),
}
