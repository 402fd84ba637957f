"""Raw (dictionary-less) forward indexes as bytes: version 4 files, single and multi-value."""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from segments.segmentfile.format.buffers import Bytes, Offsets, offsets_of
from segments.segmentfile.format.codecs import LZ4, LZ4_LENGTH, PASS_THROUGH, compress
from segments.segmentfile.format.dictionary import BIG_ENDIAN, WIDTHS

VERSION: Final = 4
_DOCS: Final = 1000
_FIXED_DOCS: Final = 1024
_MIN_TARGET: Final = 4096
_MAX_TARGET: Final = 1 << 20


def fixed_width(numbers: NDArray[Any], stored_type: str, codec: int) -> bytes:
    """Single-value INT, LONG, FLOAT, DOUBLE: header, chunk starts, chunks of 1024 values."""
    width, docs = WIDTHS[stored_type], len(numbers)
    data = memoryview(numbers.astype(BIG_ENDIAN[stored_type]).tobytes())
    step = _FIXED_DOCS * width
    count = -(-docs // _FIXED_DOCS)
    chunks = (
        [data]
        if codec == PASS_THROUGH
        else [compress(codec, data[i : i + step], little_endian=False) for i in range(0, len(data), step)]
    )
    sizes = (
        [min(step, len(data) - i) for i in range(0, len(data), step)]
        if codec == PASS_THROUGH
        else [len(c) for c in chunks]
    )
    head = struct.pack(">7i", VERSION, count, _FIXED_DOCS, width, docs, codec, 28)
    starts = offsets_of(np.array(sizes, np.int64))[:-1] + 28 + 8 * count
    return b"".join([head, starts.astype(">i8").tobytes(), *chunks])


def variable_width(offsets: Offsets, data: Bytes, longest: int, codec: int) -> bytes:
    """Rows of bytes: header, a pair of LE numbers per chunk, chunks that carry their row offsets.

    ``longest`` is the longest row in bytes. The chunk is made large enough for it, which avoids Pinot's fault in
    reading a huge chunk twice.
    """
    codec = LZ4_LENGTH if codec == LZ4 else codec
    target = target_size(longest)
    chunks, table, place = [], [], 0
    for first, last in _chunk_rows(offsets, target):
        body = compress(codec, _chunk(offsets[first : last + 1], data), little_endian=True)
        table += [first, place]
        chunks.append(body)
        place += len(body)
    start = 16 + 4 * len(table)
    head = struct.pack(">iiii", VERSION, target, codec, start)
    return b"".join([head, np.array(table, "<u4").tobytes(), *chunks])


def target_size(longest: int) -> int:
    """Chunk size for rows up to ``longest`` bytes."""
    return max(_MIN_TARGET, min(longest * _DOCS, _MAX_TARGET), longest + 8 if longest + 8 > _MAX_TARGET else 0)


def fixed_rows(values: NDArray[Any], offsets: Offsets, stored_type: str) -> tuple[Offsets, Bytes]:
    """Rows of a raw multi-value column of a fixed width: int32 count, then the values, big-endian."""
    width = WIDTHS[stored_type]
    words = values.astype(BIG_ENDIAN[stored_type]).view(">u4")
    out = _with_counts(words, offsets, width // 4)
    starts = offsets * width + 4 * np.arange(len(offsets))
    return starts, out.view(np.uint8)


def variable_rows(value_offsets: Offsets, data: Bytes, offsets: Offsets) -> tuple[Offsets, Bytes]:
    """Rows of a raw multi-value column of variable width: int32 count, int32 lengths, then the bytes."""
    words = _with_counts(np.diff(value_offsets).astype(">i4").view(">u4"), offsets, 1)
    word_starts = offsets + np.arange(len(offsets))
    starts = 4 * word_starts + value_offsets[offsets]
    per_row = np.diff(word_starts)
    places = np.repeat(starts[:-1] - 4 * word_starts[:-1], per_row) + 4 * np.arange(len(words))
    out = np.empty(int(starts[-1]), np.uint8)
    is_data = np.ones(len(out), bool)
    head = places[:, None] + np.arange(4)
    out[head] = words.view(np.uint8).reshape(-1, 4)
    is_data[head] = False
    out[is_data] = data
    return starts, out


def _with_counts(words: NDArray[Any], offsets: Offsets, per_value: int) -> NDArray[Any]:
    """Put each row's number of values before its words."""
    out = np.empty(len(words) + len(offsets) - 1, ">u4")
    counts = offsets[:-1] * per_value + np.arange(len(offsets) - 1)
    is_word = np.ones(len(out), bool)
    is_word[counts] = False
    out[counts] = np.diff(offsets)
    out[is_word] = words
    return out


def _chunk_rows(offsets: Offsets, target: int) -> list[tuple[int, int]]:
    """Row ranges of the chunks: as many rows as fit with 4 bytes each and 4 for their number."""
    docs = len(offsets) - 1
    cost = offsets + 4 * np.arange(docs + 1)
    ranges, first = [], 0
    while first < docs:
        last = max(int(np.searchsorted(cost, cost[first] + target - 4, side="right")) - 1, first + 1)
        ranges.append((first, last))
        first = last
    return ranges


def _chunk(offsets: Offsets, data: Bytes) -> bytes:
    rows = len(offsets) - 1
    starts = (offsets[:-1] - offsets[0] + 4 * (rows + 1)).astype("<u4").tobytes()
    return b"".join([struct.pack("<I", rows), starts, data[offsets[0] : offsets[-1]].tobytes()])
