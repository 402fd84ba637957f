"""Damage is found: by verify, which says what is wrong, and by reading, which never fails in another way than
SegmentCorrupt.
"""

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from segments.errors import SegmentCorrupt
from segments.segmentfile import SegmentReader, verify, write_tar
from tests.segmentfile.samples import FIXTURES, build, config_of, schema_of


@pytest.fixture
def segment(tmp_path) -> Path:
    """A writable copy of all_0."""
    shutil.copytree(FIXTURES / "all_0", tmp_path / "all_0")
    return tmp_path / "all_0"


def _edit(segment: Path, file: str, old: bytes, new: bytes) -> None:
    path = segment / "v3" / file
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


@pytest.mark.parametrize("name", ["all_0", "tiny_0_v1", "tiny_0_v3", "empty_0"])
def test_pinots_own_segments_have_no_fault(name, tmp_path):
    assert verify(FIXTURES / name) == []
    write_tar(FIXTURES / name, tmp_path / "s.tar.gz")
    assert verify(tmp_path / "s.tar.gz") == []


def test_one_flipped_bit_is_a_crc_mismatch(segment):
    path = segment / "v3" / "columns.psf"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert any("CRC of the files is" in fault for fault in verify(segment))


@pytest.mark.parametrize(
    ("file", "old", "new", "fault"),
    [
        ("columns.psf", bytes.fromhex("deadbeefdeafbead"), b"\0" * 8, "marker"),
        ("index_map", b"i.dictionary.size = 20", b"i.dictionary.size = 19", "dictionary has 11 bytes"),
        ("index_map", b"i.dictionary.startOffset", b"i.dictionary.endOffset", "neither a startOffset nor a size"),
        (
            "index_map",
            b"d.forward_index.size = 9",
            b"d.forward_index.size = 12",
            "overlaps forward_index of column 'bd'",
        ),
        (
            "index_map",
            b"uuid.nullvalue_vector.size = 26",
            b"uuid.nullvalue_vector.size = 99",
            "does not fit into columns.psf of 2874",
        ),
        ("metadata.properties", b"column.i.cardinality = 3", b"column.i.cardinality = 4", "4 x 4 are needed"),
        ("metadata.properties", b"column.i.bitsPerElement = 2", b"column.i.bitsPerElement = 9", "too few"),
        ("metadata.properties", b"column.i.maxValue = 5", b"column.i.maxValue = 7", "maxValue is 7, the data say 5"),
        (
            "metadata.properties",
            b"column.imv.maxNumberOfMultiValues = 3",
            b"column.imv.maxNumberOfMultiValues = 2",
            "is 2",
        ),
        (
            "metadata.properties",
            b"column.imv.totalNumberOfEntries = 6",
            b"column.imv.totalNumberOfEntries = 60",
            "few for 60 values",
        ),
        ("metadata.properties", b"segment.total.docs = 4", b"segment.total.docs = 5", "rows"),
        (
            "columns.psf",
            bytes.fromhex("80000000fffffffd00000005"),
            bytes.fromhex("8000000000000005fffffffd"),
            "not in ascending order",
        ),
    ],
)
def test_each_fault_is_reported_with_its_place(segment, file, old, new, fault):
    _edit(segment, file, old, new)
    assert any(fault in line for line in verify(segment)), verify(segment)


def test_an_unknown_index_is_ignored_and_a_missing_map_is_named(segment):
    with (segment / "v3" / "index_map").open("a") as file:
        file.write("i.some_future_index.startOffset = 0\ni.some_future_index.size = 8\n")
    assert SegmentReader(segment).column("i").to_pylist() == [5, -3, -(2**31), 5]
    (segment / "v3" / "index_map").unlink()
    with pytest.raises(SegmentCorrupt, match="index_map is missing"):
        SegmentReader(segment)


def test_a_corrupt_column_is_named_with_file_and_offset_and_the_others_read(segment):
    _edit(segment, "metadata.properties", b"column.i.bitsPerElement = 2", b"column.i.bitsPerElement = 31")
    reader = SegmentReader(segment)
    with pytest.raises(SegmentCorrupt, match=r"columns\.psf: column 'i' of segment 'all_0', index at offset 776"):
        reader.column("i")
    assert reader.column("s").to_pylist()[0] == "hello, world"


def test_claims_of_huge_sizes_allocate_nothing(tmp_path):
    fields = [{"name": "s", "encodingType": "RAW", "compressionCodec": "LZ4"}]
    build({"s": ["abc", "de"]}, schema_of(("s", "STRING")), config_of(fields=fields), tmp_path)
    path = tmp_path / "t_0" / "v3" / "columns.psf"
    data = bytearray(path.read_bytes())
    data[8 + 4 : 8 + 8] = b"\x7f\xff\xff\xff"  # target chunk size
    data[8 + 24 : 8 + 28] = b"\xf0\xff\xff\x7f"  # decompressed length, little-endian
    path.write_bytes(data)
    with pytest.raises(SegmentCorrupt, match="claims 2147483632 bytes"):
        SegmentReader(tmp_path / "t_0").column("s")


def _read_all(segment: Path) -> None:
    reader = SegmentReader(segment)
    for name in reader.info.columns:
        try:
            reader.column(name)
            reader.null_mask(name)
        except SegmentCorrupt:
            continue  # this column is damaged; the others are still read


@pytest.mark.parametrize("file", ["columns.psf", "index_map", "metadata.properties"])
def test_random_damage_never_fails_otherwise(segment, file):
    source = random.Random(file)
    path = segment / "v3" / file
    whole = path.read_bytes()
    for _ in range(120):
        data = bytearray(whole)
        for _ in range(source.randint(1, 4)):
            at = source.randrange(len(data))
            match source.randrange(3):
                case 0:
                    data[at] = source.randrange(256)
                case 1:
                    data[at] ^= 1 << source.randrange(8)
                case 2:
                    del data[at : at + source.randint(1, 9)]
        path.write_bytes(data)
        try:
            _read_all(segment)
            verify(segment)
        except SegmentCorrupt:
            continue


@pytest.mark.parametrize("codec", ["LZ4", "SNAPPY", "ZSTANDARD", "GZIP"])
def test_random_damage_to_compressed_columns_never_fails_otherwise(tmp_path, codec):
    fields = [{"name": n, "encodingType": "RAW", "compressionCodec": codec} for n in ("s", "n", "m", "t")]
    rows = {
        "s": [f"value {i % 13}" for i in range(200)], "n": list(range(200)), "m": [[i, i + 1] for i in range(200)],
        "t": [["a" * (i % 5), "b"] for i in range(200)],
    }  # fmt: skip
    schema = schema_of(("s", "STRING"), ("n", "LONG"), ("m", "INT[]"), ("t", "STRING[]"))
    build(rows, schema, config_of(fields=fields), tmp_path)
    path = tmp_path / "t_0" / "v3" / "columns.psf"
    whole, source = path.read_bytes(), np.random.default_rng(5)
    for _ in range(60):
        data = bytearray(whole)
        for at in source.integers(0, len(data), 3).tolist():
            data[at] = int(source.integers(0, 256))
        path.write_bytes(data)
        _read_all(tmp_path / "t_0")


def test_rows_that_a_constant_column_claims_are_bound_by_the_size_of_the_file(tmp_path):
    """The index of a constant column is one pair of rows, whatever their number."""
    build({"b": [7]}, schema_of(("b", "LONG")), config_of(), tmp_path)
    files = tmp_path / "t_0" / "v3"
    last = 2**31 - 2
    data = (files / "columns.psf").read_bytes()
    (files / "columns.psf").write_bytes(data[:-4] + last.to_bytes(4, "big"))
    path = files / "metadata.properties"
    path.write_text(path.read_text().replace("total.docs = 1\n", f"total.docs = {last + 1}\n"))
    with pytest.raises(SegmentCorrupt, match="claims 2147483647 rows from 32 bytes"):
        SegmentReader(tmp_path / "t_0")
    assert "claims 2147483647 rows" in verify(tmp_path / "t_0")[0]
