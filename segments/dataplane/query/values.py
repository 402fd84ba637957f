"""Values as they stand in Pinot's JSON response: timestamps as text, bytes as hex, infinities as strings."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def json_values(column: Any, kind: str, *, mv: bool) -> list[Any]:
    """An Arrow column as JSON-ready values of a Pinot type."""
    values = column.to_pylist()
    convert = _CONVERT.get(kind)
    if convert is None:
        return list(values)
    if mv:
        return [None if v is None else [convert(x) for x in v] for v in values]
    return [None if v is None else convert(v) for v in values]


def timestamp_text(millis: int) -> str:
    """Milliseconds as ``yyyy-MM-dd HH:mm:ss.S`` in UTC; out of the range of dates the number itself."""
    try:
        moment = _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        return str(millis)
    fraction = f"{moment.microsecond // 1000:03d}".rstrip("0") or "0"
    return (
        f"{moment:%Y-%m-%d %H:%M:%S}.{fraction}"
        if moment.year >= 1000
        else f"{moment.year:04d}-{moment:%m-%d %H:%M:%S}.{fraction}"
    )


def _double(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _float(value: float) -> float | str:
    """The shortest decimal that is this 32-bit number."""
    return float(str(np.float32(value))) if math.isfinite(value) else _double(value)


_CONVERT: Final[dict[str, Callable[[Any], Any]]] = {
    "DOUBLE": _double, "FLOAT": _float, "TIMESTAMP": timestamp_text, "BOOLEAN": bool, "BYTES": lambda v: v.hex(),
    "UUID": lambda v: str(uuid.UUID(bytes=v)) if len(v) == 16 else v.hex(),
}  # fmt: skip
