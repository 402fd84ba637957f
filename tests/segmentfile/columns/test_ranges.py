"""Ranges of rows are read without the rest, and give exactly what the whole column gives there."""

import random

import pytest

from segments.errors import NotFound
from segments.segmentfile import SegmentReader
from tests.segmentfile.samples import FIXTURES, build, config_of, schema_of

ROWS = 5_300
SOURCE = random.Random(3)
VALUES = {
    "n": [SOURCE.randrange(1000) for _ in range(ROWS)], "up": sorted(SOURCE.randrange(700) for _ in range(ROWS)),
    "s": [f"value {SOURCE.randrange(900)}" for _ in range(ROWS)],
    "m": [[SOURCE.randrange(50) for _ in range(SOURCE.randrange(1, 5))] for _ in range(ROWS)],
    "t": [["x" * SOURCE.randrange(9) for _ in range(SOURCE.randrange(1, 4))] for _ in range(ROWS)],
}  # fmt: skip
SCHEMA = schema_of(("n", "LONG"), ("up", "INT"), ("s", "STRING"), ("m", "INT[]"), ("t", "STRING[]"))
RANGES = [
    (0, 0),
    (0, 1),
    (7, 8),
    (8, 17),
    (1023, 1025),
    (0, ROWS),
    (ROWS - 1, ROWS),
    (ROWS, ROWS + 5),
    (4096, None),
    (2000, 4100),
]


@pytest.mark.parametrize("codec", [None, "PASS_THROUGH", "LZ4", "ZSTANDARD"])
def test_a_range_is_a_slice_of_the_whole(tmp_path, codec):
    fields = [{"name": n, "encodingType": "RAW", "compressionCodec": codec} for n in VALUES] if codec else []
    build(VALUES, SCHEMA, config_of(fields=fields), tmp_path)
    reader = SegmentReader(tmp_path / "t_0")
    for start, stop in RANGES:
        assert reader.table(list(VALUES), start, stop).to_pydict() == {n: v[start:stop] for n, v in VALUES.items()}, (
            start,
            stop,
        )


def test_a_range_of_every_type_of_pinots_own_segment():
    reader = SegmentReader(FIXTURES / "all_0")
    names = list(reader.info.columns)
    whole = reader.table(names).to_pylist()
    for start in range(4):
        for stop in range(start, 5):
            assert reader.table(names, start, stop).to_pylist() == whole[start:stop]


def test_chunks_outside_the_range_are_not_touched(tmp_path):
    fields = [{"name": "s", "encodingType": "RAW", "compressionCodec": "LZ4"}]
    build({"s": [f"{i:050}" for i in range(3_000)]}, schema_of(("s", "STRING")), config_of(fields=fields), tmp_path)
    path = tmp_path / "t_0" / "v3" / "columns.psf"
    data = bytearray(path.read_bytes())
    data[-40:] = bytes(40)  # inside the last chunk
    path.write_bytes(data)
    assert SegmentReader(tmp_path / "t_0").column("s", 5, 7).to_pylist() == [f"{i:050}" for i in (5, 6)]


def test_an_unknown_column_is_not_found_in_a_range():
    with pytest.raises(NotFound):
        SegmentReader(FIXTURES / "all_0").column("zz", 0, 1)
