"""Reads raw forward indexes of every version and codec into flat buffers.

Faults are raised as ValueError with the offset inside the index; the caller adds file and column.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segments.segmentfile.format import codecs
from segments.segmentfile.format.buffers import Bytes, Offsets, offsets_of
from segments.segmentfile.format.dictionary import BIG_ENDIAN, WIDTHS

_HUGE = 0x80000000
_MAX_CHUNK = 2**31 - 1


def read_fixed(
    data: Bytes, docs: int, stored_type: str, start_row: int = 0, stop_row: int | None = None
) -> NDArray[Any]:
    """Single-value numbers of rows ``start_row`` to ``stop_row`` (default: all), big-endian type; other chunks stay
    packed.
    """
    stop_row = docs if stop_row is None else stop_row
    width = WIDTHS[stored_type]
    version, chunks, per_chunk, codec, start = _fixed_header(data, docs, width)
    if codec == codecs.PASS_THROUGH:
        _need(start + docs * width <= len(data), f"{docs} values of {width} bytes do not fit behind offset {start}")
        return data[start + start_row * width : start + stop_row * width].view(BIG_ENDIAN[stored_type])
    table = _table(data, version, chunks)
    pieces = []
    first = start_row // per_chunk
    for i in range(first, -(-stop_row // per_chunk)):
        low, high = int(table[i]), int(table[i + 1])
        size = min(per_chunk, docs - i * per_chunk) * width
        piece = _unpack_fixed(codec, data[low:high], size, per_chunk * width, low)
        pieces.append(piece[:size])
    base = first * per_chunk
    return np.frombuffer(b"".join(pieces), BIG_ENDIAN[stored_type])[start_row - base : stop_row - base]


def read_rows(data: Bytes, docs: int, start: int = 0, stop: int | None = None) -> tuple[Offsets, Bytes, int]:
    """Rows ``start`` to ``stop`` (default: all) as bytes, for variable width and all multi-value: (offsets, bytes,
    file's version).
    """
    stop = docs if stop is None else stop
    _need(len(data) >= 16, "the header is cut short")
    version = int.from_bytes(data[:4].tobytes(), "big")
    if version in (4, 5, 6):
        base, lengths, body = _rows_v4(data, docs, version, start, stop)
    else:
        base, lengths, body = _rows_v2(data, docs, start, stop)
    offsets = offsets_of(lengths)[start - base : stop - base + 1]
    return offsets - offsets[0], body[offsets[0] : offsets[-1]], version


def read_lists(
    offsets: Offsets, data: Bytes, version: int, stored_type: str
) -> tuple[Offsets, NDArray[Any] | tuple[Offsets, Bytes]]:
    """Rows of a multi-value column -> (row offsets, numbers) or (row offsets, (value offsets, bytes))."""
    if stored_type in WIDTHS:
        return _fixed_lists(offsets, data, version, stored_type)
    return _variable_lists(offsets, data)


def _fixed_header(data: Bytes, docs: int, width: int) -> tuple[int, int, int, int, int]:
    _need(len(data) >= 16, "the header is cut short")
    version, chunks, per_chunk, entry = struct.unpack(">4i", data[:16].tobytes())
    codec, start = codecs.SNAPPY, 16
    if version >= 2:
        _need(len(data) >= 28, "the header is cut short")
        total, codec, start = struct.unpack(">3i", data[16:28].tobytes())
        _need(total == docs and start == 28, f"the header says {total} rows, the segment has {docs}")
    _need(1 <= version <= 6, f"version {version} is unknown")
    _need(entry == width, f"entries have {entry} bytes where {width} are needed")
    _need(
        per_chunk > 0 and chunks == -(-docs // per_chunk),
        f"{chunks} chunks of {per_chunk} rows do not make {docs} rows",
    )
    return version, chunks, per_chunk, codec, start + chunks * (4 if version < 3 else 8)


def _table(data: Bytes, version: int, chunks: int) -> NDArray[np.int64]:
    """Start of every chunk, and the end of the data."""
    start, width = (16 if version == 1 else 28), (4 if version < 3 else 8)
    end = start + chunks * width
    _need(chunks >= 0 and end <= len(data), f"{chunks} chunk offsets do not fit")
    table = np.append(data[start:end].view(f">i{width}").astype(np.int64), len(data))
    _need(
        bool((table >= end).all() and (np.diff(table) >= 0).all()),
        f"the chunk offsets at offset {start} are not ascending",
    )
    return table


def _unpack_fixed(codec: int, packed: Bytes, size: int, limit: int, at: int) -> bytes:
    if codec in (codecs.DELTA, codecs.DELTADELTA):
        piece = _delta(packed.tobytes(), codec, limit)
    else:
        piece = codecs.decompress(codec, packed, limit)
    _need(len(piece) >= size, f"the chunk at offset {at} has {len(piece)} bytes where {size} are needed")
    return piece


def _delta(packed: bytes, codec: int, limit: int) -> bytes:
    """DELTA and DELTADELTA chunks: first number, then LZ4 of n-1 deltas, or of the first delta and deltas of deltas
    (7.9).
    """
    _need(len(packed) >= 5, "a delta chunk is cut short")
    kind, width = (">i8", 8) if packed[0] == 1 else (">i4", 4)
    count = struct.unpack(">i", packed[1:5])[0]
    _need(1 <= count * width <= limit, f"a delta chunk claims {count} numbers")
    start = 5 + width
    first = np.frombuffer(packed[5:start], kind).astype(kind[1:])
    if count == 1:
        return first.astype(kind).tobytes()
    deltas = np.frombuffer(codecs.lz4_exact(packed[start + 4 :], (count - 1) * width), kind).astype(kind[1:])
    if codec == codecs.DELTADELTA:
        deltas = np.cumsum(deltas, dtype=deltas.dtype)
    return np.cumsum(np.concatenate([first, deltas]), dtype=deltas.dtype).astype(kind).tobytes()


def _rows_v2(data: Bytes, docs: int, start_row: int, stop_row: int) -> tuple[int, NDArray[np.int64], Bytes]:
    """Versions 1 to 3: every chunk begins with int32 offsets of all its slots. (first row, lengths, bytes) of the
    chunks needed.
    """
    version, chunks, per_chunk, entry = struct.unpack(">4i", data[:16].tobytes())
    codec = codecs.SNAPPY
    _need(version in (1, 2, 3), f"version {version} is unknown")
    if version > 1:
        _need(len(data) >= 28, "the header is cut short")
        total, codec, start = struct.unpack(">3i", data[16:28].tobytes())
        _need(total == docs and start == 28, f"the header says {total} rows, the segment has {docs}")
    _need(
        per_chunk > 0 and chunks == -(-docs // per_chunk),
        f"{chunks} chunks of {per_chunk} rows do not make {docs} rows",
    )
    table = _table(data, version, chunks)
    limit = min(_MAX_CHUNK, per_chunk * (4 + max(entry, 0)))
    lengths: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    bodies: list[Bytes] = []
    first = start_row // per_chunk
    for i in range(first, -(-stop_row // per_chunk)):
        low, high = int(table[i]), int(table[i + 1])
        rows = min(per_chunk, docs - i * per_chunk)
        piece = np.frombuffer(codecs.decompress(codec, data[low:high], limit), np.uint8)
        _need(len(piece) >= 4 * rows, f"the chunk at offset {low} is cut short")
        bounds = np.append(piece[: 4 * rows].view(">i4").astype(np.int64), len(piece))
        _take_rows(piece, bounds, min(4 * per_chunk, len(piece)), low, lengths, bodies)
    return first * per_chunk, np.concatenate(lengths), _joined(bodies)


def _rows_v4(
    data: Bytes, docs: int, version: int, start_row: int, stop_row: int
) -> tuple[int, NDArray[np.int64], Bytes]:
    """Versions 4 to 6: little-endian chunk table, chunks that know their number of rows. (first row, lengths, bytes) as
    above.
    """
    target, codec, start = struct.unpack(">3i", data[4:16].tobytes())
    _need(
        target > 0 and 16 <= start <= len(data) and start % 8 == 0,
        f"chunk data at offset {start} with target {target} is impossible",
    )
    table = data[16:start].view("<u4").reshape(-1, 2).astype(np.int64)
    firsts, huge = table[:, 0] & (_HUGE - 1), table[:, 0] >= _HUGE
    ends = np.append(table[1:, 1], len(data) - start)
    counts = np.diff(np.append(firsts, docs))
    _need(len(table) > 0 and firsts[0] == 0 and bool((counts > 0).all()), "the chunk table's rows are not ascending")
    _need(bool((np.diff(np.append(table[:, 1], ends[-1])) >= 0).all()), "the chunk table's offsets are not ascending")
    lengths: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    bodies: list[Bytes] = []
    wanted = slice(int(np.searchsorted(firsts, start_row, "right")) - 1, int(np.searchsorted(firsts, stop_row, "left")))
    chunks = (table[wanted, 1].tolist(), ends[wanted].tolist(), counts[wanted].tolist(), huge[wanted].tolist())
    for place, end, rows, is_huge in zip(*chunks, strict=True):
        packed, at = data[start + place : start + end], start + place
        if is_huge:
            _need(rows == 1, f"the huge chunk at offset {at} has {rows} rows")
            piece = _unpack_rows(codec, packed, _MAX_CHUNK)
            lengths.append(np.array([len(piece)], np.int64))
            bodies.append(piece)
            continue
        piece = _unpack_rows(codec, packed, max(target, 4))
        _need(
            len(piece) >= 4 * (rows + 1) and int.from_bytes(piece[:4].tobytes(), "little") == rows,
            f"the chunk at offset {at} has another number of rows",
        )
        head = piece[4 : 4 * (rows + 1)].view("<u4").astype(np.int64)
        bounds = 4 * (rows + 1) + offsets_of(head) if version == 6 and codec else np.append(head, len(piece))
        _take_rows(piece, bounds, 4 * (rows + 1), at, lengths, bodies)
    return int(firsts[wanted.start]), np.concatenate(lengths), _joined(bodies)


def _unpack_rows(codec: int, packed: Bytes, limit: int) -> Bytes:
    return packed if codec == codecs.PASS_THROUGH else np.frombuffer(codecs.decompress(codec, packed, limit), np.uint8)


def _take_rows(
    piece: Bytes, bounds: NDArray[np.int64], low: int, at: int, lengths: list[NDArray[np.int64]], bodies: list[Bytes]
) -> None:
    sizes = np.diff(bounds)
    fits = not len(bounds) or (bounds[0] >= low and bounds[-1] <= len(piece) and bool((sizes >= 0).all()))
    _need(fits, f"the row offsets of the chunk at offset {at} are not ascending")
    lengths.append(sizes)
    bodies.append(piece[bounds[0] : bounds[-1]])


def _joined(bodies: list[Bytes]) -> Bytes:
    return bodies[0] if len(bodies) == 1 else np.concatenate(bodies) if bodies else np.zeros(0, np.uint8)


def _fixed_lists(offsets: Offsets, data: Bytes, version: int, stored_type: str) -> tuple[Offsets, NDArray[Any]]:
    width, head = WIDTHS[stored_type], 4 if version <= 4 else 0
    sizes = np.diff(offsets) - head
    counts = sizes // width
    _need(bool((sizes >= 0).all() and (sizes % width == 0).all()), f"a row is not a multiple of {width} bytes")
    if not head:
        return offsets_of(counts), data.view(BIG_ENDIAN[stored_type])
    words = np.ascontiguousarray(data).view(">u4")
    is_word = np.ones(len(words), bool)
    is_word[offsets[:-1] // 4] = False
    _need(bool((words[offsets[:-1] // 4] == counts).all()), "a row's number of values does not match its length")
    return offsets_of(counts), words[is_word].view(BIG_ENDIAN[stored_type])


def _variable_lists(offsets: Offsets, data: Bytes) -> tuple[Offsets, tuple[Offsets, Bytes]]:
    sizes = np.diff(offsets)
    _need(bool((sizes >= 4).all()), "a row is shorter than its head")
    counts = _words_at(data, offsets[:-1])
    _need(bool((4 + 4 * counts <= sizes).all()), "a row's number of values does not fit its length")
    rows = offsets_of(counts)
    within = np.arange(rows[-1]) - np.repeat(rows[:-1], counts)
    lengths = _words_at(data, np.repeat(offsets[:-1] + 4, counts) + 4 * within)
    values = offsets_of(lengths)
    _need(
        bool((4 + 4 * counts + values[rows[1:]] - values[rows[:-1]] == sizes).all()),
        "a row's value lengths do not fit its length",
    )
    marks = np.zeros(len(data) + 1, np.int8)
    np.add.at(marks, offsets[:-1], 1)
    np.add.at(marks, offsets[:-1] + 4 + 4 * counts, -1)
    return rows, (values, data[np.cumsum(marks[:-1], dtype=np.int8) == 0])


def _words_at(data: Bytes, places: NDArray[np.int64]) -> NDArray[np.int64]:
    words: NDArray[np.int64] = data[places[:, None] + np.arange(4)].reshape(-1, 4).view(">u4")[:, 0].astype(np.int64)
    return words


def _need(holds: bool, fault: str) -> None:
    if not holds:
        raise ValueError(fault)
