"""Pinot's JSON functions over Arrow columns: a nested value as text, and values that a path such as
``$.a.b[0]['c d']`` leads to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from segments.datatypes.compute import pc
from segments.datatypes.convert import convert, map_distinct
from segments.datatypes.jsontext import compact_json, json_of
from segments.errors import InvalidInput
from segments.expressions.arrow.constants import constant
from segments.expressions.arrow.texts import check_grown

Values = Any
_STEP = re.compile(r"\.([\w$-]+)|\[([0-9]{1,9})\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")


def json_format(values: Values) -> Values:
    """Nested values and JSON text as compact JSON, other values as JSON constants. Raises BadValue for a row whose text
    would become too long: every level of quotes doubles those within.
    """
    if pt.is_nested(values.type):
        return pa.array([None if v is None else json_of(v) for v in values.to_pylist()], pa.string())
    found = map_distinct(values, _formatted, pa.string())
    if pt.is_string(values.type):
        before, after = (pc.fill_null(pc.binary_length(v), 0).to_numpy(zero_copy_only=False) for v in (values, found))
        check_grown(values, np.where(after > before, after, 0))
    return found


def _formatted(value: Any) -> str | None:
    """Objects and arrays that come as text are JSON already; other text becomes a JSON string."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        return compact_json(value)
    return None if value is None else json_of(value)


def _by_path(convert_to: Callable[[Any], Any], kind: Any, missing: Any) -> Callable[..., Values]:
    """``jsonPathX(document, path[, default])``: what is missing is ``missing``. The function raises InvalidInput for a
    path of another form, BadValue for a value that does not convert.
    """

    def run(values: Values, path: Values, default: Values | None = None) -> Values:
        steps = _steps(path)
        other = missing if default is None else constant(default, "default")

        def pick(document: Any) -> Any:
            if document is None:
                return None
            found = _walk(json.loads(document), steps)
            return other if found is None else convert_to(found)

        if pt.is_nested(values.type):
            values = json_format(values)
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


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_of(value)


def _long(value: Any) -> int:
    return int(value) if not isinstance(value, str) else int(value.strip())


#: What is missing is null as text, Long.MIN_VALUE, NaN (which is stored as null), as in Pinot.
json_path_string = _by_path(_text, pa.string(), None)
json_path_long = _by_path(_long, pa.int64(), -(2**63))
json_path_double = _by_path(float, pa.float64(), float("nan"))
