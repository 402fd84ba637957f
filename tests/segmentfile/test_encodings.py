"""Dictionaries, forward, raw, null and inverted indexes have Pinot's bytes."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from segments.datatypes.javatext import (
    decimal_bytes,
    decimal_from_bytes,
    java_double,
    java_float,
    parse_decimal,
)
from segments.segmentfile import SegmentReader
from segments.segmentfile.format.bits import bits_for, pack, unpack
from segments.segmentfile.format.dictionary import distinct, payload
from segments.segmentfile.format.forward import docs_per_chunk, roaring, sorted_pairs
from segments.segmentfile.format.raw import target_size
from segments.segmentfile.format.rawread import read_fixed, read_lists, read_rows
from tests.segmentfile.samples import build, config_of, hexes, payloads, schema_of

I = [5, -1, 7, 7, 2]  # noqa: E741  the name of the golden case
M = [[1, 2], [3], [2], [1, 2], [9, 9, 9]]


def _dictionary(kind, values, **options):
    stored = {"BOOLEAN": "INT", "TIMESTAMP": "LONG", "JSON": "STRING", "UUID": "BYTES"}.get(kind, kind)
    return payload(distinct(values, kind, stored), **options)[0].hex()


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("INT", pa.array([5, -3, -(2**31)], pa.int32()), "80000000 fffffffd 00000005"),
        ("DOUBLE", pa.array([2.25, -7.75, float("-inf")]), "fff0000000000000 c01f000000000000 4002000000000000"),
        ("FLOAT", pa.array([1.5, -2.5, float("-inf")], pa.float32()), "ff800000 c0200000 3fc00000"),
        ("STRING", pa.array([" lead", "café", "hello, world", "null"]),
         "206c65616400000000000000 636166c3a900000000000000 68656c6c6f2c20776f726c64 6e756c6c0000000000000000"),
        ("BYTES", pa.array([b"\0\xff\x11", b"", b"\0\xff\x10"]),
         "2e766c3b 00000001 00000003 00000010 00000020 00000020 00000023 00000026 00ff10 00ff11"),
        ("BIG_DECIMAL", pa.array(["0", "123.45", "-0.001"]),
         "2e766c3b 00000001 00000003 00000010 00000020 00000023 00000026 0000002a 0003ff 000000 00023039"),
        ("BIG_DECIMAL", pa.array(["1.5", "0", "-2"]), "0000fe 000000 00010f"),
    ],
)  # fmt: skip
def test_a_dictionary_is_sorted_and_has_pinots_bytes(kind, values, expected):
    assert _dictionary(kind, values) == hexes(expected)


def test_strings_of_a_dictionary_are_padded_or_have_offsets_as_the_column_asks():
    values = pa.array(["bb", "a", "", "ccc", "bb"])
    assert _dictionary("STRING", values) == hexes("000000 610000 626200 636363")
    expected = "2e766c3b 00000001 00000004 00000010 00000024 00000024 00000025 00000027 0000002a 61 6262 636363"
    assert _dictionary("STRING", values, var_length=True) == hexes(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", "000000"),
        ("1", "000001"),
        ("-1", "0000ff"),
        ("127", "00007f"),
        ("128", "00000080"),
        ("-128", "000080"),
        ("-129", "0000ff7f"),
        ("255", "000000ff"),
        ("256", "00000100"),
        ("1.5", "00010f"),
        ("-0.001", "0003ff"),
        ("99999999999999999999.5", "00013635c9adc5de9ffffb"),
        ("100", "fffe01"),
        ("1E-300", "012c01"),
    ],
)
def test_a_decimal_is_its_scale_and_its_unscaled_bytes(text, expected):
    value = parse_decimal(text)
    assert decimal_bytes(value).hex() == expected
    assert decimal_from_bytes(bytes.fromhex(expected)) == value


def test_bytes_are_sorted_as_unsigned():
    values = [b"\x80" + bytes(15), b"\xff" * 16, bytes(16), bytes(15) + b"\xff"]
    found = distinct(pa.array(values), "UUID", "BYTES")
    assert found.binary().to_pylist() == [bytes(16), bytes(15) + b"\xff", b"\x80" + bytes(15), b"\xff" * 16]


@pytest.mark.parametrize("copies", [1, 5_000])
def test_strings_are_in_the_order_of_java(copies):
    texts = ["😀a", "\ue000b", "\uff5ec", "a", "z", "😀b"]
    expected = ["a", "z", "😀a", "😀b", "\ue000b", "\uff5ec"]
    if copies > 1:
        texts = [t + f"{i:05d}" for t in texts for i in range(copies)]
        expected = [t + f"{i:05d}" for t in expected for i in range(copies)]
    found = distinct(pa.array(texts), "STRING", "STRING")
    assert [v.decode() for v in found.binary().to_pylist()] == expected


@pytest.mark.parametrize("kind", ["STRING", "BYTES"])
def test_the_fast_sort_agrees_with_the_plain_one(kind):
    random = np.random.default_rng(3)
    texts = {"prefix-long-" * int(random.integers(0, 3)) + str(int(random.integers(0, 10**6))) for _ in range(30_000)}
    values = [t.encode() + b"\0" * (len(t) % 3) for t in texts] if kind == "BYTES" else list(texts)
    found = distinct(pa.array(values), kind, kind).binary().to_pylist()
    assert found == sorted(v if isinstance(v, bytes) else v.encode() for v in values)


@pytest.mark.parametrize(
    ("ids", "bits", "expected"),
    [
        ([0, 1, 1, 0, 1], 1, "68"),
        ([0, 1, 2, 3, 3], 2, "1bc0"),
        ([0, 1, 2, 3, 4, 5], 3, "053940"),
        ([5, 0, 31, 16], 5, "283f00"),
        ([0, 255, 128], 8, "00ff80"),
        ([8000, 1, 4095], 13, "fa00005ffe"),
        ([70000, 5], 17, "88b8000140"),
        ([4, 2, 3, 0, 1], 3, "8982"),
    ],
)
def test_dictionary_ids_are_packed_into_as_many_bits_as_they_need(ids, bits, expected):
    packed = pack(np.array(ids, np.uint32), bits)
    assert packed.hex() == expected
    assert unpack(np.frombuffer(packed, np.uint8), len(ids), bits).tolist() == ids


@pytest.mark.parametrize("bits", range(1, 32))
def test_packing_equals_the_bit_by_bit_form(bits):
    ids = np.random.default_rng(bits).integers(0, 2**bits, 61, dtype=np.uint32)
    number = 0
    for value in ids.tolist():
        number = number << bits | value
    size = (61 * bits + 7) // 8
    packed = pack(ids, bits)
    assert packed == (number << (size * 8 - 61 * bits)).to_bytes(size, "big")
    assert unpack(np.frombuffer(packed, np.uint8), 61, bits).tolist() == ids.tolist()


def test_the_bits_of_an_id_follow_the_cardinality():
    assert [bits_for(n) for n in (1, 2, 3, 4, 5, 256, 257, 65536, 65537)] == [1, 1, 2, 2, 3, 8, 9, 16, 17]


def test_a_sorted_column_is_its_ranges_of_rows():
    assert sorted_pairs(np.array([0, 0, 1, 2], np.uint32), 3).hex() == hexes(
        "00000000 00000001 00000002 00000002 00000003 00000003"
    )
    assert sorted_pairs(np.zeros(4, np.uint32), 1).hex() == hexes("00000000 00000003")


def test_a_multi_value_dictionary_column_has_pinots_bytes(tmp_path):
    build({"m": M}, schema_of(("m", "INT[]")), config_of(), tmp_path)
    assert payloads(tmp_path / "t_0")["m.forward_index"] == hexes("00000000 ba00 191fc0")
    build({"m": [[1, 2, 3], [2], [None], []]}, schema_of(("m", "INT[]")), config_of(nullHandlingEnabled=True), tmp_path)
    found = payloads(tmp_path / "t_0")
    assert found["m.forward_index"] == hexes("00000000 9c 6e00")
    assert found["m.nullvalue_vector"] == hexes("3a300000 01000000 0000 0100 10000000 0200 0300")


@pytest.mark.parametrize(
    ("docs", "values", "expected"),
    [(5, 9, 2048), (1000, 1000, 2048), (1000, 1999, 2048), (1000, 2000, 1024), (5000, 14000, 1024), (100, 500000, 1)],
)
def test_the_rows_of_a_multi_value_chunk_follow_the_values_per_row(docs, values, expected):
    assert docs_per_chunk(docs, values) == expected


def _raw(tmp_path, kind, values, codec, **more):
    fields = [{"name": "x", "encodingType": "RAW", "compressionCodec": codec}]
    build({"x": values}, schema_of(("x", kind)), config_of(fields=fields), tmp_path, **more)
    return payloads(tmp_path / "t_0")["x.forward_index"]


def test_a_raw_int_column_has_pinots_bytes(tmp_path):
    expected = (
        "00000004 00000001 00000400 00000004 00000005 00000000 0000001c 0000000000000024 00000005 ffffffff 00000007 "
        "00000007 00000002"
    )
    assert _raw(tmp_path, "INT", I, "PASS_THROUGH") == hexes(expected)


def test_a_raw_string_column_has_pinots_bytes(tmp_path):
    expected = (
        "00000004 00001000 00000000 00000018 00000000 00000000 05000000 18000000 1a000000 1b000000 1b000000 1e000000 "
        "6262 61 636363 6262"
    )
    assert _raw(tmp_path, "STRING", ["bb", "a", "", "ccc", "bb"], "PASS_THROUGH") == hexes(expected)


def test_a_raw_multi_value_int_column_has_pinots_bytes(tmp_path):
    expected = (
        "00000004 00003e80 00000000 00000018 00000000 00000000 05000000 18000000 24000000 2c000000 34000000 40000000"
    )
    assert _raw(tmp_path, "INT[]", M, "PASS_THROUGH").startswith(
        hexes(expected + "00000002 00000001 00000002 00000001 00000003")
    )


def test_a_raw_multi_value_string_column_has_pinots_bytes(tmp_path):
    expected = (
        "00000004 00003a98 00000000 00000018 00000000 00000000 05000000 18000000 27000000 2f000000 3a000000 43000000"
    )
    rows = "00000002 00000001 00000002 78 7979 00000001 00000000"
    values = [["x", "yy"], [""], ["zzz"], ["x"], ["q", "r"]]
    assert _raw(tmp_path, "STRING[]", values, "PASS_THROUGH").startswith(hexes(expected + rows))


def test_a_raw_long_column_with_lz4_has_pinots_bytes(tmp_path):
    expected = (
        "00000004 00000001 00000400 00000008 00000005 00000003 0000001c 0000000000000024 "
        "120001002305ff0100020f002700070800500000000002"
    )
    assert _raw(tmp_path, "LONG", I, "LZ4") == hexes(expected)


def test_a_raw_decimal_column_has_pinots_bytes(tmp_path):
    expected = (
        "00000004 00002af8 00000004 00000018 00000000 00000000 28000000 f019 04000000 14000000 17000000 22000000 "
        "25000000 000285"
        "00013635c9adc5de9ffffb 000000 000000"
    )
    assert _raw(tmp_path, "BIG_DECIMAL", ["-1.23", "99999999999999999999.5", "0", None], "LZ4") == hexes(expected)


def test_the_size_of_a_chunk_follows_its_values():
    assert [target_size(n) for n in (2, 11, 2000, 20, 15)] == [4096, 11000, 1048576, 20000, 15000]
    assert target_size(2_000_000) == 2_000_008  # never a huge chunk: Pinot misreads them


@pytest.mark.parametrize("codec", ["PASS_THROUGH", "SNAPPY", "ZSTANDARD", "LZ4", "GZIP"])
@pytest.mark.parametrize("kind", ["INT", "STRING", "LONG[]", "STRING[]", "BYTES"])
def test_every_codec_round_trips_over_several_chunks(tmp_path, codec, kind):
    rows = 3000
    values = {
        "INT": list(range(rows)),
        "STRING": ["x" * (i % 90) for i in range(rows)],
        "LONG[]": [[i] * (1 + i % 3) for i in range(rows)],
        "STRING[]": [["v" * (i % 7), str(i)] for i in range(rows)],
        "BYTES": [bytes([i % 256]) * (i % 5) for i in range(rows)],
    }[kind]
    _raw(tmp_path, kind, values, codec)
    assert SegmentReader(tmp_path / "t_0").column("x").to_pylist() == values


def _bytes(text):
    return np.frombuffer(bytes.fromhex(hexes(text)), np.uint8)


@pytest.mark.parametrize(
    "text",
    [
        "00000002 00000001 000003e8 00000004 00000005 00000000 0000001c 00000020 00000005 ffffffff 00000007 "
        "00000007 00000002",
        "00000003 00000001 000003e8 00000004 00000005 00000000 0000001c 0000000000000024 00000005 ffffffff "
        "00000007 00000007 00000002",
        "00000004 00000001 00000400 00000004 00000005 00000001 0000001c 0000000000000024 "
        "144c00000005ffffffff000000070000000700000002",
        "00000004 00000001 00000400 00000004 00000005 00000005 0000001c 0000000000000024"
        "789c63606060fd0f040c0c0cec50cc04003a930412 00000014",
        "00000004 00000001 00000400 00000004 00000005 00000007 0000001c 0000000000000024"
        "00 00000005 00000005 00000012 f001 fffffffa 0000000e fffffff8 fffffffb",
    ],
)
def test_raw_ints_of_other_versions_and_codecs_read(text):
    assert read_fixed(_bytes(text), 5, "INT").tolist() == I


def test_longs_stored_as_deltas_read():
    text = (
        "00000004 00000001 00000400 00000008 00000005 00000006 0000001c 0000000000000024"
        "01 00000005 00000000000003e8 00000011 12000100120a070009080050000000000a"
    )
    assert read_fixed(_bytes(text), 5, "LONG").tolist() == [1000, 1010, 1020, 1030, 1040]


@pytest.mark.parametrize(
    "text",
    [
        "00000004 00001000 00000005 00000018 00000000 00000000 "
        "789c63656060900062292096866239204e4a4a4c4e4e4e4a020018d2039e 20000000",
        "00000006 00001000 00000004 00000018 00000000 00000000 20000000 a2 05000000020000000100 0100 13 03 1000 "
        "80 6262616363636262",
        "00000006 00001000 00000000 00000018 00000000 00000000 05000000 18000000 1a000000 1b000000 1b000000 "
        "1e000000 626261636363 6262",
    ],
)
def test_raw_strings_of_other_versions_and_codecs_read(text):
    offsets, data, _ = read_rows(_bytes(text), 5)
    body = data.tobytes()
    assert [body[a:b].decode() for a, b in pairwise(offsets)] == ["bb", "a", "", "ccc", "bb"]


@pytest.mark.parametrize("version", [5, 6])
def test_multi_value_rows_without_counts_read(version):
    head = (
        f"{version:08x} 00002ee0 00000000 00000018 00000000 00000000 05000000 18000000 20000000 24000000 28000000 "
        "30000000"
    )
    body = "".join(f"{v:08x}" for row in M for v in row)
    offsets, data, found = read_rows(_bytes(head + body), 5)
    rows, values = read_lists(offsets, data, found, "INT")
    assert found == version
    assert [values[a:b].tolist() for a, b in pairwise(rows)] == M


def test_a_multi_value_column_with_an_entry_dictionary_reads(tmp_path):
    build({"m": M}, schema_of(("m", "INT[]")), config_of(), tmp_path)
    from segments.segmentfile.format.decode import multi_ids

    column = SegmentReader(tmp_path / "t_0").info.columns["m"]
    offsets, ids = multi_ids(
        column, _bytes("ffabcdef 0001 02 02 00000004 00000007 0000001a 0000001c 18c0 09ce 19fc"), 5, 0, 5
    )
    assert offsets.tolist() == [0, 2, 3, 4, 6, 9]
    assert ids.tolist() == [0, 1, 2, 1, 0, 1, 3, 3, 3]
    offsets, ids = multi_ids(
        column, _bytes("ffabcdef 0001 02 02 00000004 00000007 0000001a 0000001c 18c0 09ce 19fc"), 5, 2, 4
    )
    assert (offsets.tolist(), ids.tolist()) == ([0, 1, 3], [1, 0, 1])


def test_a_huge_chunk_reads():
    value = b"v" * 6000
    text = "00000004 00001000 00000000 00000020 00000000 00000000 80000001 00000000".replace(
        "80000001 00000000", "01000080 09000000"
    )
    small = "01000000 08000000 61"
    offsets, data, _ = read_rows(_bytes(text + small + value.hex()), 2)
    assert (np.diff(offsets).tolist(), data.tobytes()) == ([1, 6000], b"a" + value)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([2], "3a300000 01000000 0000 0000 10000000 0200"), ([2, 3], "3a300000 01000000 0000 0100 10000000 0200 0300"),
        (range(4), "3b300000 01 0000 0300 0100 0000 0300"), (range(3000), "3b300000 01 0000 b70b 0100 0000 b70b"),
    ],
)  # fmt: skip
def test_a_null_vector_has_pinots_bytes(rows, expected):
    assert roaring(np.array(rows)).hex() == hexes(expected)


def test_an_inverted_index_has_pinots_bytes(tmp_path):
    config = config_of(invertedIndexColumns=["k", "m", "r"])
    build({"k": ["k1", "k2", "k1", "k3"]}, schema_of(("k", "STRING")), config, tmp_path)
    assert payloads(tmp_path / "t_0")["k.inverted_index"].startswith(hexes("00000010 00000024 00000036 00000048"))
    build({"m": [["p", "q"], ["q"], ["p"], ["r"], ["q", "r"]]}, schema_of(("m", "STRING[]")), config, tmp_path)
    assert payloads(tmp_path / "t_0")["m.inverted_index"].startswith(hexes("00000010 00000024 0000003a 0000004e"))
    build({"r": [1] * 2000 + [0] * 2000 + [1] * 1000}, schema_of(("r", "INT")), config, tmp_path)
    assert len(payloads(tmp_path / "t_0")["r.inverted_index"]) // 2 == 46


def test_non_null_columns_say_so_only_when_null_handling_is_on(tmp_path):
    schema = schema_of(("i", "INT"))
    build({"i": [1, 2]}, schema, config_of(nullHandlingEnabled=True), tmp_path)
    assert SegmentReader(tmp_path / "t_0").info.columns["i"].is_non_null
    build({"i": [1, None]}, schema, config_of(), tmp_path)
    reader = SegmentReader(tmp_path / "t_0")
    assert not reader.info.columns["i"].is_non_null
    assert reader.null_mask("i") is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e10, "1.0E10"),
        (0.001, "0.001"),
        (0.00012, "1.2E-4"),
        (1234567.0, "1234567.0"),
        (12345678.0, "1.2345678E7"),
        (-2.5, "-2.5"),
        (0.0, "0.0"),
        (float("-inf"), "-Infinity"),
        (123.456, "123.456"),
        (1e-300, "1.0E-300"),
        (100.0, "100.0"),
    ],
)
def test_doubles_print_as_in_java(value, text):
    assert java_double(value) == text


def test_floats_print_their_shortest_digits():
    assert [java_float(np.float32(v)) for v in (0.1, 1.5, 1e10, 16777216.0)] == ["0.1", "1.5", "1.0E10", "1.6777216E7"]
