"""Virtual columns ``$isNull.<column>``: which rows were null, from the null vector of a segment or else from the
default null value; and ``$isRecordedNull.<column>``: from the null vector alone, which is what ``IS NULL`` means.

A segment that was built with null handling records its nulls; one built without only holds the default in their place,
so there every default counts as null. The query option ``nullsAreRecorded=true`` says that all segments were built with
null handling: one without a null vector for a column then has no null in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

PREFIX: Final = "$isNull."
RECORDED_PREFIX: Final = "$isRecordedNull."
RECORDED_OPTION: Final = "nullsAreRecorded"


def null_of(name: str) -> str | None:
    """``$isNull.city`` and ``$isRecordedNull.city`` -> ``city``; None for every other name."""
    prefix = prefix_of(name)
    return name[len(prefix) :] if prefix else None


def prefix_of(name: str) -> str:
    """Which of the two prefixes the name has; empty: neither."""
    return next((p for p in (PREFIX, RECORDED_PREFIX) if name.startswith(p)), "")


def are_recorded(name: str, options: Mapping[str, str]) -> bool:
    """Whether the virtual column, or the query, says that only recorded nulls count."""
    return name.startswith(RECORDED_PREFIX) or options.get(RECORDED_OPTION, "").lower() == "true"


def equals_default(values: Any, default: Any) -> Any:
    """Boolean Arrow array: which of a column's values (chunked; dictionaries and lists too) are the ``default`` (a
    scalar).
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        return pc.equal(values.cast(kind.value_type), default)
    if not pa.types.is_list(kind):
        return pc.equal(values, default)
    merged = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    found = np.zeros(len(merged), bool)
    is_default = pc.equal(pc.list_flatten(merged), default[0]).to_numpy(zero_copy_only=False)
    found[pc.list_parent_indices(merged).to_numpy(zero_copy_only=False)[is_default]] = True
    return pa.array(found & (pc.list_value_length(merged).to_numpy(zero_copy_only=False) == 1))
