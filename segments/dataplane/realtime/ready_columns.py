"""Recognises raw columns that already are what is stored: most of a stream's are, and small batches must be cheap."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

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
    if kind in _REAL:
        numbers = values.to_numpy()
        return None if np.isnan(numbers).any() or (np.signbit(numbers) & (numbers == 0)).any() else values
    if kind != "STRING" or not len(values):
        return None
    offsets, data = parts(values)
    return None if int(np.diff(offsets).max()) > field.max_length or not data.all() else values
