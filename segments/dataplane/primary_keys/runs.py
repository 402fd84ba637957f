"""Running values within groups of sorted rows, without a loop over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segments.dataplane.primary_keys.key_hashes import Hashes

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def by_key(keys: Hashes) -> tuple[Ints, Ints]:
    """(positions of the rows, those of one key together and in order; number of each one's group)."""
    order = np.lexsort((keys.low, keys.high))
    low, high = keys.low[order], keys.high[order]
    starts = np.ones(len(order), np.bool_)
    starts[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return order, numbered(starts)


def numbered(starts: Flags) -> Ints:
    """The number of each row's group, where groups begin at ``starts``."""
    found: Ints = np.cumsum(starts) - 1
    return found


def starts_of(groups: Ints) -> Flags:
    """Is the row the first of its group?"""
    starts = np.ones(len(groups), np.bool_)
    starts[1:] = groups[1:] != groups[:-1]
    return starts


def running_max(ranks: Ints, groups: Ints) -> Ints:
    """The greatest rank (none below -1) of each row's group up to the row; ``groups`` do not fall."""
    width = int(ranks.max(initial=0)) + 2
    found: Ints = np.maximum.accumulate(ranks + 1 + groups * width) - groups * width - 1
    return found


def running_sum(values: NDArray[Any], groups: Ints) -> NDArray[Any]:
    """The sum of each row's group up to the row: whole numbers wrap around, real ones are added one after the other."""
    if not len(values):
        return values
    first = np.flatnonzero(starts_of(groups))
    if values.dtype.kind != "f":
        total = np.cumsum(values, dtype=values.dtype)
        before = np.concatenate([np.zeros(1, values.dtype), total[:-1]])[first]
        whole: NDArray[Any] = total - before[groups]
        return whole
    found = values.copy()
    sizes = np.diff(np.append(first, len(values)))
    for start, size in zip(first[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
        found[start : start + size] = np.add.accumulate(values[start : start + size])
    return found
