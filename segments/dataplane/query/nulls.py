"""Virtual columns ``$isNull.<column>``: which rows were null, from the null vector of a segment or else from the
default null value.

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
RECORDED_OPTION: Final = "nullsAreRecorded"


def null_of(name: str) -> str | None:
    """``$isNull.city`` -> ``city``; None for every other name."""
    return name[len(PREFIX) :] if name.startswith(PREFIX) else None


def are_recorded(options: Mapping[str, str]) -> bool:
    """Whether the query says that segments record their nulls."""
    return options.get(RECORDED_OPTION, "").lower() == "true"


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
