"""The order of comparison values: numbers, or rows of numbers of which the first that differs decides, then what of a
value is not in them (``wide_values``).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from segments.dataplane.primary_keys.wide_values import Wholes, ranks_of

Flags = NDArray[np.bool_]

#: In one of several comparison columns: the row says nothing there. Every number is greater.
NOTHING: Final = -(2**63)


def are_greater(values: NDArray[np.int64], others: NDArray[np.int64]) -> Flags:
    """Is each greater than the other one?"""
    found: Flags = values > others
    if values.ndim == 1:
        return found
    differs = values != others
    first = differs.argmax(axis=1)
    decided: Flags = found[np.arange(len(values)), first]
    return decided


def are_equal(values: NDArray[np.int64], others: NDArray[np.int64]) -> Flags:
    """Are they the same?"""
    found: Any = values == others
    same: Flags = found if values.ndim == 1 else found.all(axis=1)
    return same


def sort_keys(values: NDArray[np.int64], wholes: Wholes | None = None) -> tuple[NDArray[np.int64], ...]:
    """For ``numpy.lexsort``: what decides last comes first."""
    if values.ndim == 1:
        return (values,)
    last = () if wholes is None else (ranks_of(wholes),)
    return (*last, *(values[:, at] for at in reversed(range(values.shape[1]))))


def ranks(values: NDArray[np.int64], wholes: Wholes | None = None) -> NDArray[np.int64]:
    """How many different values are less than each."""
    if values.ndim == 1:
        return np.unique(values, return_inverse=True)[1]
    keys = sort_keys(values, wholes)
    order = np.lexsort(keys)
    differs = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    found = np.empty(len(values), np.int64)
    found[order] = np.concatenate([[0], np.cumsum(differs)])
    return found
