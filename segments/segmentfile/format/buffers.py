"""Moves variable-width values between Arrow arrays and plain NumPy buffers without a loop per value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]


def parts(array: Any) -> tuple[Offsets, Bytes]:
    """A string or binary array without nulls -> (offsets from 0, one more than values; the bytes)."""
    count = len(array)
    if count == 0:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    buffers = array.buffers()
    raw = np.frombuffer(buffers[1], np.int64 if wide else np.int32)[array.offset : array.offset + count + 1]
    offsets = raw.astype(np.int64)
    data = np.frombuffer(buffers[2], np.uint8) if buffers[2] is not None else np.zeros(0, np.uint8)
    return offsets - offsets[0], data[offsets[0] : offsets[-1]]


def array_of(offsets: NDArray[Any], data: Bytes, *, text: bool) -> Any:
    """Offsets from 0 and bytes -> string (checked UTF-8) or binary array; large form beyond 2 GiB. Raises
    pa.ArrowInvalid.
    """
    wide = int(offsets[-1]) > 2**31 - 1
    kind = (pa.large_string() if text else pa.large_binary()) if wide else (pa.string() if text else pa.binary())
    array = pa.Array.from_buffers(
        kind,
        len(offsets) - 1,
        [
            None,
            _buffer(np.ascontiguousarray(offsets, np.int64 if wide else np.int32)),
            _buffer(np.ascontiguousarray(data)),
        ],
    )
    if text:
        array.validate(full=True)
    return array


def offsets_of(lengths: NDArray[Any]) -> Offsets:
    """Lengths -> offsets, one more."""
    out = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=out[1:])
    return out


def pad(offsets: Offsets, data: Bytes, width: int) -> Bytes:
    """Values -> matrix (values x width), filled up with 0 on the right."""
    lengths = np.diff(offsets)
    if len(lengths) and lengths.min() == width:
        return data.reshape(len(lengths), width)
    matrix = np.zeros((len(lengths), width), np.uint8)
    matrix[np.arange(width) < lengths[:, None]] = data
    return matrix


def unpad(matrix: Bytes) -> tuple[Offsets, Bytes]:
    """Matrix -> values cut at their first 0 byte."""
    zero = matrix == 0
    if not zero.any():
        return np.arange(len(matrix) + 1, dtype=np.int64) * matrix.shape[1], matrix.reshape(-1)
    lengths = np.where(zero.any(axis=1), zero.argmax(axis=1), matrix.shape[1])
    return offsets_of(lengths), matrix[np.arange(matrix.shape[1]) < lengths[:, None]]


def lists_of(offsets: NDArray[Any], values: Any) -> Any:
    """Row offsets and flat values -> list array."""
    starts: Any = pa.array(offsets.astype(np.int32))
    return pa.ListArray.from_arrays(starts, values)


def row_offsets(array: Any) -> Offsets:
    """Offsets (from 0) of a list array without nulls."""
    if len(array) == 0:
        return np.zeros(1, np.int64)
    offsets: Offsets = array.offsets.to_numpy().astype(np.int64)
    shifted: Offsets = offsets - offsets[0]
    return shifted


def _buffer(array: Any) -> Any:
    return pa.py_buffer(array)
