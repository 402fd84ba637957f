"""Raw columns in the layouts of older Pinot versions are read."""

import struct

import numpy as np
import pyarrow as pa
import pytest

from segments.segmentfile.format.codecs import LZ4, PASS_THROUGH, SNAPPY, compress
from segments.segmentfile.format.rawread import read_fixed, read_lists, read_rows

TEXTS = [f"text {i} " + "x" * (i % 11) for i in range(2500)]
PER_CHUNK = 1000


def _file(version: int, codec: int, chunks: list[bytes], docs: int, entry: int) -> np.ndarray:
    packed = [compress(codec, chunk, little_endian=False) for chunk in chunks]
    head = struct.pack(">4i", version, len(chunks), PER_CHUNK, entry)
    if version > 1:
        head += struct.pack(">3i", docs, codec, 28)
    width = "q" if version > 2 else "i"
    place = len(head) + len(chunks) * struct.calcsize(">" + width)
    for chunk in packed:
        head += struct.pack(">" + width, place)
        place += len(chunk)
    return np.frombuffer(head + b"".join(packed), np.uint8)


def _row_chunks(rows: list[bytes]) -> list[bytes]:
    chunks = []
    for start in range(0, len(rows), PER_CHUNK):
        part = rows[start : start + PER_CHUNK]
        offsets = np.zeros(PER_CHUNK, ">i4")  # unused slots of the last chunk stay 0
        offsets[: len(part)] = 4 * PER_CHUNK + np.concatenate([[0], np.cumsum([len(r) for r in part])[:-1]])
        chunks.append(offsets.tobytes() + b"".join(part))
    return chunks


@pytest.mark.parametrize(("version", "codec"), [(1, SNAPPY), (2, SNAPPY), (2, PASS_THROUGH), (3, LZ4)])
def test_numbers(version, codec):
    numbers = (np.arange(2500) * 1.5).astype(">f8")
    chunks = [numbers[i : i + PER_CHUNK].tobytes() for i in range(0, 2500, PER_CHUNK)]
    assert read_fixed(_file(version, codec, chunks, 2500, 8), 2500, "DOUBLE").tolist() == numbers.tolist()


@pytest.mark.parametrize(("version", "codec"), [(1, SNAPPY), (2, SNAPPY), (2, PASS_THROUGH), (3, LZ4)])
def test_texts(version, codec):
    rows = [t.encode() for t in TEXTS]
    offsets, data, _ = read_rows(_file(version, codec, _row_chunks(rows), len(rows), max(map(len, rows))), len(rows))
    body = data.tobytes()
    assert [body[a:b] for a, b in zip(offsets.tolist()[:-1], offsets.tolist()[1:], strict=True)] == rows


def test_multi_value_numbers():
    values = [[i] * (1 + i % 3) for i in range(1500)]
    rows = [struct.pack(f">i{len(v)}q", len(v), *v) for v in values]
    offsets, data, version = read_rows(_file(3, LZ4, _row_chunks(rows), len(rows), 28), len(rows))
    starts, flat = read_lists(offsets, data, version, "LONG")
    lists = pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), pa.array(flat.astype(np.int64)))
    assert lists.to_pylist() == values


@pytest.mark.parametrize("at", [0, 4, 12, 16, 20, 24])
def test_every_header_field_is_checked(at):
    data = _file(2, PASS_THROUGH, [struct.pack(">5i", *range(5))], 5, 4).copy()
    assert read_fixed(data, 5, "INT").tolist() == list(range(5))
    data[at : at + 4] = 0x7F
    with pytest.raises(ValueError):
        read_fixed(data, 5, "INT")
