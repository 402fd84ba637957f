"""What Arrow values weigh once they are plain Python values or text: a few bytes of a file can stand for gigabytes of
these.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from segments.datatypes.compute import pc

#: Bytes of a value next to those that Arrow counts; those of lists and of nothing take none there.
_EACH: Final = 8


def weight(array: Any) -> int:
    """Bytes of an array's or chunked array's values, each counted as often as it is there, and nothing shared."""
    if isinstance(array, pa.ChunkedArray):
        return sum(map(weight, array.chunks))
    kind, own = array.type, _EACH * len(array)
    if not own:
        return 0
    if isinstance(array, pa.ExtensionArray):
        return weight(array.storage)
    if pa.types.is_dictionary(kind):
        return own + len(array) * _largest(array.dictionary)
    if pa.types.is_struct(kind):
        return own + sum(map(weight, array.flatten()))
    if pa.types.is_fixed_size_list(kind):
        return own + weight(array.flatten())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return own + weight(array.values.slice(first, last - first))
    if pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind):
        raise pa.ArrowInvalid(f"it has values of type {kind}")
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return own + int(pc.sum(pc.binary_length(array.cast(pa.large_binary()))).as_py() or 0)
    return own + int(array.nbytes)


def light_rows(table: pa.Table, most: int) -> pa.Table:
    """As many of the first rows as weigh ``most`` bytes, but none if the first one alone weighs more."""
    low, high = 0, table.num_rows
    while low < high:
        middle = (low + high + 1) // 2
        if sum(map(weight, table.slice(0, middle).columns)) <= most:
            low = middle
        else:
            high = middle - 1
    return table.slice(0, low)


def _largest(dictionary: Any) -> int:
    """Bytes of the largest value of a dictionary."""
    kind = dictionary.type
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        dictionary = dictionary.cast(pa.large_binary())
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)):
        return int(dictionary.nbytes)
    return int(pc.max(pc.binary_length(dictionary)).as_py() or 0)
