"""Packs dictionary ids into b bits each, most significant bit first, and back, eight ids at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.uint32]


def bits_for(cardinality: int) -> int:
    """Bits per id for that many ids: at least 1."""
    return max(1, (cardinality - 1).bit_length())


def packed_size(count: int, bits: int) -> int:
    """Bytes of ``count`` packed ids."""
    return (count * bits + 7) // 8


def pack(ids: NDArray[Any], bits: int) -> bytes:
    """``count`` ids below 2**bits -> ceil(count*bits/8) bytes; unused last bits are 0."""
    count = len(ids)
    if bits in (8, 16, 32):
        return ids.astype(f">u{bits // 8}").tobytes()
    groups = (count + 7) // 8
    lanes = np.zeros((8, groups), np.uint32)
    padded = np.zeros(groups * 8, np.uint32)
    padded[:count] = ids
    lanes[:] = padded.reshape(groups, 8).T
    out = np.zeros((groups, bits), np.uint8)
    for byte in range(bits):
        column = np.zeros(groups, np.uint32)
        for lane in range(byte * 8 // bits, (byte * 8 + 7) // bits + 1):
            shift = (lane + 1) * bits - (byte + 1) * 8
            column |= lanes[lane] >> shift if shift >= 0 else lanes[lane] << -shift
        out[:, byte] = column.astype(np.uint8)
    return out.tobytes()[: packed_size(count, bits)]


def unpack(data: NDArray[np.uint8], count: int, bits: int) -> Ids:
    """The first ``count`` ids of packed bytes; the caller checks that there are enough bytes. ``bits`` is 1..32."""
    if bits in (8, 16, 32):
        return data[: count * bits // 8].view(f">u{bits // 8}").astype(np.uint32)
    groups = (count + 7) // 8
    padded = np.zeros(groups * bits, np.uint8)
    used = min(len(padded), packed_size(count, bits))
    padded[:used] = data[:used]
    lanes = padded.reshape(groups, bits).T.astype(np.uint64 if bits > 25 else np.uint32)
    out = np.empty((groups, 8), np.uint32)
    mask = (1 << bits) - 1
    for lane in range(8):
        first, last = lane * bits // 8, ((lane + 1) * bits - 1) // 8
        value = lanes[first].copy()
        for byte in range(first + 1, last + 1):
            value <<= value.dtype.type(8)
            value |= lanes[byte]
        value >>= value.dtype.type((last + 1) * 8 - (lane + 1) * bits)
        out[:, lane] = (value & value.dtype.type(mask)).astype(np.uint32)
    return out.reshape(-1)[:count]
