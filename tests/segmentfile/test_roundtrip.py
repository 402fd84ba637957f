"""Whatever rows go in come out again, in every encoding; servers may read one segment from many threads."""

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segments.errors import InvalidInput, NotFound
from segments.segmentfile import SegmentReader, build_segment, transform_table, verify
from tests.segmentfile.samples import CREATED, build, config_of, schema_of

ARROW = {
    "INT": pa.int32(),
    "LONG": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BYTES": pa.binary(),
    "BOOLEAN": pa.bool_(),
    "BIG_DECIMAL": pa.string(),
    "TIMESTAMP": pa.int64(),
    "UUID": pa.binary(),
    "JSON": pa.string(),
}
#: Either side of the surrogates, beyond them, and what metadata must escape.
EDGES = "\ud7ff\ue000\uffff\U00010000😀\0, "
VALUES = {
    "INT": st.integers(-(2**31), 2**31 - 1),
    "LONG": st.integers(-(2**63), 2**63 - 1),
    "FLOAT": st.floats(width=32),
    "DOUBLE": st.floats() | st.sampled_from([-0.0, float("nan"), float("inf"), 5e-324]),
    "STRING": st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.text(EDGES, max_size=4),
    "BYTES": st.binary(max_size=5),
    "BOOLEAN": st.booleans(),
    "BIG_DECIMAL": st.decimals(
        allow_nan=False, allow_infinity=False, min_value=-(10**25), max_value=10**25, places=3
    ).map(str),
    "TIMESTAMP": st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**31 - 1, 2**31, -(2**31) - 1]),
    "UUID": st.binary(min_size=16, max_size=16),
    "JSON": st.text(max_size=8) | st.sampled_from(['{"a": [1, 2.5, null]}', '"\\ud83d\\ude00"', '"\\ud800"', "[]"]),
}


@st.composite
def _column(draw):
    kind = draw(st.sampled_from(sorted(VALUES)))
    many, raw, codec = (
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from(["PASS_THROUGH", "LZ4", "SNAPPY", "ZSTANDARD", "GZIP"])),
    )
    many = many and kind != "JSON"  # which Pinot's schema forbids
    value = st.none() | VALUES[kind]
    rows = draw(st.lists(st.none() | st.lists(value, max_size=4) if many else value, max_size=30))
    return kind, many, raw, codec, pa.array(rows, pa.list_(ARROW[kind]) if many else ARROW[kind])


@settings(max_examples=120, deadline=None)
@given(_column(), st.booleans(), st.booleans())
def test_what_is_stored_is_what_is_read(column, null_handling, var_length):
    kind, many, raw, codec, values = column
    fields = [{"name": "x", "encodingType": "RAW", "compressionCodec": codec}] if raw else []
    config = config_of(nullHandlingEnabled=null_handling, fields=fields, useVarLengthDictionary=var_length)
    schema = schema_of(("x", kind + "[]" * many))
    expected, masks = transform_table(pa.table({"x": values}), schema, config, now_ms=CREATED)
    with tempfile.TemporaryDirectory() as folder:
        build_segment(pa.table({"x": values}), schema, config, "t_0", Path(folder), creation_time_ms=CREATED)
        reader = SegmentReader(Path(folder) / "t_0")
        found = reader.column("x").to_pylist()
        if kind == "BIG_DECIMAL" and not many:
            assert [Decimal(v) for v in found] == [Decimal(v) for v in expected.column("x").to_pylist()]
        else:
            assert found == expected.column("x").to_pylist()
        mask = reader.null_mask("x")
        assert (mask.any() if mask is not None else False) == (null_handling and bool(masks["x"].any()))
        assert verify(Path(folder) / "t_0") == []


def test_many_threads_read_the_same_columns(tmp_path):
    rows = {"a": [str(i % 97) for i in range(5000)], "b": list(range(5000)), "c": [[i, i + 1] for i in range(5000)]}
    build(
        rows, schema_of(("a", "STRING"), ("b", "LONG"), ("c", "INT[]")), config_of(noDictionaryColumns=["b"]), tmp_path
    )
    reader = SegmentReader(tmp_path / "t_0")
    with ThreadPoolExecutor(8) as pool:
        tables = list(pool.map(lambda _: reader.table(["a", "b", "c"]).to_pydict(), range(24)))
    assert all(t == rows for t in tables)


def test_values_outlive_the_reader(tmp_path):
    build({"b": [3, 1, 2]}, schema_of(("b", "LONG")), config_of(noDictionaryColumns=["b"]), tmp_path)
    with SegmentReader(tmp_path / "t_0") as reader:
        column = reader.column("b")
    assert column.to_pylist() == [3, 1, 2]


def test_an_unknown_column_is_not_found(tmp_path):
    build({"b": [1]}, schema_of(("b", "LONG")), config_of(), tmp_path)
    with pytest.raises(NotFound, match="'z'"):
        SegmentReader(tmp_path / "t_0").column("z")


def test_a_failed_build_leaves_the_segment_that_was_there(tmp_path):
    schema = schema_of(("b", "LONG"))
    before = build({"b": [1]}, schema, config_of(), tmp_path)
    with pytest.raises(InvalidInput):
        build({"b": ["x"]}, schema, config_of(), tmp_path)
    assert SegmentReader(tmp_path / "t_0").info == before
    assert [p.name for p in tmp_path.iterdir()] == ["t_0"]


def test_a_bad_segment_name_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="Segment name"):
        build({"b": [1]}, schema_of(("b", "LONG")), config_of(), tmp_path, "../x")


def test_importing_the_package_loads_no_heavy_parts():
    code = (
        "import sys, segments.segmentfile; print([m for m in ('duckdb', 'pyspark', 'django', 'pandas') if m in "
        "sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", sorted(VALUES))
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("raw", [False, True])
def test_empty_one_row_and_all_null_segments_of_every_type(tmp_path, kind, many, raw):
    if many and kind == "JSON":
        kind = "STRING"
    arrow = pa.list_(ARROW[kind]) if many else ARROW[kind]
    schema, config = (
        schema_of(("x", kind + "[]" * many)),
        config_of(noDictionaryColumns=["x"] if raw else [], nullHandlingEnabled=True),
    )
    for rows in ([], [None], [[]] if many else [None, None]):
        given_rows = pa.table({"x": pa.array(rows, arrow)})
        expected, _ = transform_table(given_rows, schema, config, now_ms=CREATED)
        build_segment(given_rows, schema, config, "t_0", tmp_path, creation_time_ms=CREATED)
        with SegmentReader(tmp_path / "t_0") as reader:
            assert reader.column("x").to_pylist() == expected.column("x").to_pylist()
            mask = reader.null_mask("x")
            assert (mask is None) if not rows else mask.all()
        assert verify(tmp_path / "t_0") == []


def test_half_a_surrogate_pair_becomes_a_question_mark_as_in_java(tmp_path):
    build({"j": ['"\\ud800x"', '"\\ud83d\\ude00"']}, schema_of(("j", "JSON")), config_of(), tmp_path)
    assert SegmentReader(tmp_path / "t_0").column("j").to_pylist() == ['"?x"', '"😀"']


@pytest.mark.parametrize(
    "batches", [list, lambda b: iter(b), lambda b: pa.RecordBatchReader.from_batches(b[0].schema, b)]
)
def test_record_batches_are_built_as_a_table_is(tmp_path, batches):
    table = pa.table({"b": list(range(1000)), "s": [str(i % 7) for i in range(1000)]})
    schema = schema_of(("b", "LONG"), ("s", "STRING"))
    whole = build_segment(table, schema, config_of(), "t_0", tmp_path / "a", creation_time_ms=CREATED)
    pieces = build_segment(
        batches(table.to_batches(max_chunksize=170)),
        schema,
        config_of(),
        "t_0",
        tmp_path / "b",
        creation_time_ms=CREATED,
    )
    assert pieces == whole


def test_virtual_columns_are_left_out(tmp_path):
    schema = schema_of(("b", "LONG"), {"name": "$hostName", "dataType": "STRING", "virtualColumnProvider": "x.Y"})
    info = build({"b": [1]}, schema, config_of(), tmp_path)
    assert list(info.columns) == ["b"]


def test_mostly_unique_columns_are_encoded_as_any_other(tmp_path):
    """They take another way to their dictionary than columns with few values."""
    rows = {
        "s": [f"key-{i * 7919 % 60_013}" for i in range(60_000)] + ["key-5"] * 9,
        "d": [(i * 7919 % 60_013) / 8 for i in range(60_009)],
    }
    rows["b"] = [s.encode() + bytes(i % 2) for i, s in enumerate(rows["s"])]
    build(rows, schema_of(("s", "STRING"), ("d", "DOUBLE"), ("b", "BYTES")), config_of(), tmp_path)
    with SegmentReader(tmp_path / "t_0") as reader:
        assert reader.table(["s", "d", "b"]).to_pydict() == rows
        assert {n: len(reader.dictionary(n)) for n in rows} == {n: len(set(v)) for n, v in rows.items()}
        for name in rows:
            assert (entries := reader.dictionary(name).to_pylist()) == sorted(entries)
    assert verify(tmp_path / "t_0") == []
