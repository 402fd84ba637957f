"""Values of any kind as text, for columns of raw values: text as it is, all else as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa


def value_text(value: Any) -> str | None:
    """One value; None stays None."""
    return (
        value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=leaf_text)
    )


def value_texts(values: Sequence[Any]) -> Any:
    """Many, as an Arrow array of text."""
    texts = [value_text(v) for v in values]
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:  # half a surrogate pair, which UTF-8 cannot hold: Java writes a question mark
        return pa.array([None if t is None else t.encode("utf-8", "replace").decode() for t in texts], pa.string())


def leaf_text(value: Any) -> str:
    """What JSON has no form for: bytes in hexadecimal digits, everything else as Python writes it."""
    return value.hex() if isinstance(value, bytes) else str(value)
