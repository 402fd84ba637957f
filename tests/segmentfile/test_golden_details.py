"""Single golden cases: checksums, old dictionaries, default codecs, long values, partition lines."""

import numpy as np
import pytest

from segments.errors import InvalidInput
from segments.segmentfile import ColumnInfo, SegmentReader, read_info
from segments.segmentfile.format.crc import adler32
from segments.segmentfile.format.decode import decode_dictionary
from tests.segmentfile.samples import build, config_of, hexes, payloads, schema_of


def _bytes(text):
    return np.frombuffer(bytes.fromhex(hexes(text)), np.uint8)


def test_the_checksum_is_adler_32():
    assert (adler32([]), adler32([b"abc"]), adler32([b"a", b"", b"bc"])) == (1, 0x024D0127, 0x024D0127)


def test_an_old_fixed_width_dictionary_reads_up_to_its_first_zero():
    column = ColumnInfo("name", "STRING", "DIMENSION", True, True, False, 2, 2, 1, 2, 0, entry_length=9)
    assert decode_dictionary(column, _bytes("6c796e6461 00000000 6c796e646120322e30")).to_pylist() == [
        "lynda",
        "lynda 2.0",
    ]
    assert decode_dictionary(column, _bytes("6c796e6461 25252525 6c796e646120322e30")).to_pylist() == [
        "lynda%%%%",
        "lynda 2.0",
    ]


def test_text_ids_are_packed(tmp_path):
    build({"ds": ["bb", "a", "", "ccc", "bb"]}, schema_of(("ds", "STRING")), config_of(), tmp_path)
    assert payloads(tmp_path / "t_0")["ds.forward_index"] == "9380"


def test_metrics_are_not_compressed_and_dimensions_are_lz4(tmp_path):
    schema = schema_of(("d", "LONG"), ("s", "STRING"), metrics=[("m", "LONG")])
    build({"d": [1], "s": ["x"], "m": [1]}, schema, config_of(noDictionaryColumns=["d", "s", "m"]), tmp_path)
    found = {n: bytes.fromhex(v) for n, v in payloads(tmp_path / "t_0").items()}
    fixed = {n: int.from_bytes(found[f"{n}.forward_index"][20:24], "big") for n in ("d", "m")}
    assert (fixed, int.from_bytes(found["s.forward_index"][8:12], "big")) == ({"d": 3, "m": 0}, 4)


@pytest.mark.parametrize("codec", ["PASS_THROUGH", "LZ4", "ZSTANDARD"])
def test_values_longer_than_a_chunk_get_a_chunk_that_holds_them(tmp_path, codec):
    """So that no huge chunk is written, which Pinot reads wrongly the second time."""
    rows = ["x" * n for n in (10, 2_000_000, 5, 1_500_000, 3)]
    schema = schema_of({"name": "s", "dataType": "STRING", "maxLength": 3_000_000})
    build(
        {"s": rows},
        schema,
        config_of(fields=[{"name": "s", "encodingType": "RAW", "compressionCodec": codec}]),
        tmp_path,
    )
    data = bytes.fromhex(payloads(tmp_path / "t_0")["s.forward_index"])
    target, start = int.from_bytes(data[4:8], "big"), int.from_bytes(data[12:16], "big")
    assert target >= 2_000_008
    assert all(int.from_bytes(data[at : at + 4], "little") < 0x80000000 for at in range(16, start, 8))
    assert SegmentReader(tmp_path / "t_0").column("s").to_pylist() == rows


def test_a_multi_value_json_column_is_refused():
    with pytest.raises(InvalidInput, match="cannot be multi-valued"):
        schema_of(("j", "JSON[]"))


def test_partition_lines_follow_the_maximum_and_ranges_read(tmp_path):
    partition = {"columnPartitionMap": {"s": {"functionName": "Murmur", "numPartitions": 4}}}
    rows = {"s": ["hello, world", " lead", "café", "null"]}
    build(rows, schema_of(("s", "STRING")), config_of(segmentPartitionConfig=partition), tmp_path)
    path = tmp_path / "t_0" / "v3" / "metadata.properties"
    text = path.read_text()
    assert (
        "column.s.maxValue = null\ncolumn.s.partitionFunction = Murmur\ncolumn.s.numPartitions = "
        "4\ncolumn.s.partitionValues = 1,2,3\n" in text
    )
    path.write_text(text.replace("partitionValues = 1,2,3", "partitionValues = [0 2],[5 5]"))
    assert read_info(tmp_path / "t_0").columns["s"].partitions == (0, 1, 2, 5)
