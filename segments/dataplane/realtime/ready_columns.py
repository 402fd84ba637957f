"""Recognises raw columns that already are what is stored: most of a stream's are, and small batches must be cheap."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from segments.datatypes.convert import ARROW
from segments.domain.tables.schema import FieldSpec
from segments.segmentfile.format.buffers import parts

_WHOLE: Final = ("INT", "LONG")
_REAL: Final = ("FLOAT", "DOUBLE")


def ready_column(column: Any, field: FieldSpec) -> Any:
    """The stored array when the conversion would change nothing in this raw column (chunked, one chunk); None when it
    has to run.

    The rules are those of :mod:`segments.segmentfile.columns.transform`: no nulls, no NaN, no negative zero, no text
    beyond ``maxLength``, no NUL.
    """
    kind = field.data_type
    if not field.single_value or column.num_chunks != 1 or column.null_count or column.type != ARROW.get(kind):
        return None
    values = column.chunk(0)
    if kind in _WHOLE:
        return values
    if not len(values):
        return None
    if kind in _REAL:
        return values if _are_plain_numbers(values.to_numpy()) else None
    return values if kind == "STRING" and _are_plain_texts(values, field.max_length) else None


def _are_plain_numbers(numbers: NDArray[np.floating[Any]]) -> bool:
    """No NaN and no negative zero; where all are above zero one look shows it."""
    return bool(numbers.min() > 0) or not (np.isnan(numbers) | (np.signbit(numbers) & (numbers == 0))).any()


def _are_plain_texts(values: Any, max_length: int) -> bool:
    """None too long and none with a NUL. No text is longer than all of them together."""
    offsets, data = parts(values)
    return (len(data) <= max_length or int(np.diff(offsets).max()) <= max_length) and bool(data.all())
