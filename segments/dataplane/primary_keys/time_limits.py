"""Comparison values so much smaller than others: what a metadata TTL forgets."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_ALL: int = 2**63 - 1


def lowered(values: NDArray[np.int64], ttl: float, *, is_real: bool) -> NDArray[np.int64]:
    """Sortable values (``key_rows.sortable``) lowered by so much: what is below is forgotten."""
    if not is_real:
        by = math.floor(ttl)
        return np.where(values < by - _ALL, np.int64(-_ALL), values - by)
    bits = values ^ ((values >> 63) & np.int64(_ALL))
    lower = (bits.view(np.float64) - ttl).view(np.int64)
    found: NDArray[np.int64] = lower ^ ((lower >> 63) & np.int64(_ALL))
    return found
