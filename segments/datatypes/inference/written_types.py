"""Finds the data type of a column of text: the narrowest that all its values fit, and the one that nearly all fit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from segments.datatypes.inference.written_times import time_of_numbers, time_of_texts

#: Without leading zeros: 007 is a code, not a number.
_WHOLE: Final = re.compile(r"(?:0|-?[1-9][0-9]{0,37})\Z")
_REAL: Final = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]{0,300})(?:\.[0-9]{0,300})?|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,3})?\Z"
)
_INT: Final = 2**31 - 1
_LONG: Final = 2**63 - 1
#: Of the values: the share from which a type is named although some do not fit it.
_NEARLY: Final = 0.8
_EXAMPLES: Final = 3
_LONGEST_EXAMPLE: Final = 40


@dataclass(frozen=True)
class WrittenType:
    """``data_type`` and, of a time, ``format``. ``misfits`` values do not fit ``nearly``; ``examples`` are some."""

    data_type: str
    format: str = ""
    nearly: str = ""
    misfits: int = 0
    examples: tuple[str, ...] = ()


def type_of_texts(name: str, counts: Mapping[str, int], *, only_times: bool = False) -> WrittenType:
    """The type of a column's distinct values, with how often each is there. ``only_times``: other text stays text, as
    in formats that have numbers of their own.
    """
    texts = list(counts)
    if not texts:
        return WrittenType("STRING")
    if not only_times:
        found = _plain_type(name, texts)
        if found is not None:
            return found
    time = time_of_texts(texts)
    if time is not None:
        return WrittenType(time.data_type, time.format)
    if all(map(_is_json, texts)):
        return WrittenType("JSON")
    return WrittenType("STRING") if only_times else _nearly(counts)


def whole_type(low: int, high: int) -> str:
    """INT with room to grow, LONG, or BIG_DECIMAL beyond it."""
    if low * 2 >= -_INT and high * 2 <= _INT:
        return "INT"
    return "LONG" if low >= -_LONG - 1 and high <= _LONG else "BIG_DECIMAL"


def _plain_type(name: str, texts: Sequence[str]) -> WrittenType | None:
    """BOOLEAN or a number."""
    if all(t.lower() in ("true", "false") for t in texts):
        return WrittenType("BOOLEAN")
    if all(map(_WHOLE.match, texts)):
        numbers = [int(t) for t in texts]
        low, high = min(numbers), max(numbers)
        data_type = whole_type(low, high)
        time = time_of_numbers(name, low, high, data_type, texts)
        return WrittenType(data_type) if time is None else WrittenType(time.data_type, time.format)
    return WrittenType("DOUBLE") if all(map(_is_real, texts)) else None


def _nearly(counts: Mapping[str, int]) -> WrittenType:
    """STRING, and the type that most values fit."""
    total = sum(counts.values())
    fits: tuple[tuple[str, Callable[[str], bool]], ...] = (
        ("LONG", lambda t: bool(_WHOLE.match(t)) and abs(int(t)) <= _LONG),
        ("DOUBLE", _is_real),
        ("BOOLEAN", lambda t: t.lower() in ("true", "false")),
    )
    for data_type, fit in fits:
        wrong = [t for t in counts if not fit(t)]
        misfits = sum(counts[t] for t in wrong)
        if misfits <= total * (1 - _NEARLY):
            examples = tuple(t[:_LONGEST_EXAMPLE] for t in wrong[:_EXAMPLES])
            return WrittenType("STRING", nearly=data_type, misfits=misfits, examples=examples)
    return WrittenType("STRING")


def _is_real(text: str) -> bool:
    return bool(_REAL.match(text)) and math.isfinite(float(text))


def _is_json(text: str) -> bool:
    if not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
