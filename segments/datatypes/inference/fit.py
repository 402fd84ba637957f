"""How many values of a sample do not fit a type that somebody chose."""

from __future__ import annotations

from typing import Any, Final

import pyarrow.types as pt

from segments.datatypes.compute import pc
from segments.datatypes.convert import BadValue, convert, is_list, plain
from segments.datatypes.inference.written_times import TIMESTAMP, millis_of
from segments.datatypes.shown_value import plain_text

_EXAMPLES: Final = 3
_LONGEST: Final = 40


def misfits(given: Any, data_type: str, *, text_format: str, delimiter: str | None) -> tuple[int, tuple[str, ...]]:
    """(how many, some of them). ``text_format``: of a date or time, else ""; ``delimiter``: between the values of one
    cell of a multi-value column, None: each cell is a value.
    """
    values = plain(given)
    if delimiter is not None and pt.is_string(values.type):
        values = pc.split_pattern(values, delimiter)
    if delimiter is not None and is_list(values.type):
        values = plain(pc.list_flatten(values))
    try:
        convert(values, data_type)
    except BadValue as bad:
        return len(bad.every), _shown([value for _, value in bad.every])
    if text_format in ("", TIMESTAMP):
        return 0, ()
    wrong = [v for v in values.drop_null().to_pylist() if millis_of(v, text_format) is None]
    return len(wrong), _shown(wrong)


def _shown(values: list[Any]) -> tuple[str, ...]:
    return tuple(v[:_LONGEST] for v in list(dict.fromkeys(map(plain_text, values)))[:_EXAMPLES])
