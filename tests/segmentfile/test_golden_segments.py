"""Whole segments made by real Pinot are reproduced byte for byte and read back."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from segments.domain.tables.table_config import parse_table_config
from segments.errors import SegmentCorrupt
from segments.segmentfile import SegmentReader, build_segment, compute_crc, parse_info, read_info, transform_table
from tests.segmentfile.samples import CREATED, DAY_MS, FIXTURES, all_config, all_rows, all_schema, build, tiny


def _files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in (folder / "v3").iterdir()}


def test_tiny_is_pinots_own_bytes(tmp_path):
    rows, schema, config = tiny()
    info = build(rows, schema, config, tmp_path, "tiny_0")
    assert _files(tmp_path / "tiny_0") == _files(FIXTURES / "tiny_0_v3")
    assert (info.crc, info.data_crc, info.creation_time_ms) == (0x82A821C7, 0x746D0B68, CREATED)


def test_a_segment_of_every_type_is_pinots_own_bytes(tmp_path):
    build_segment(all_rows(), all_schema(), all_config(), "all_0", tmp_path, creation_time_ms=CREATED)
    assert _files(tmp_path / "all_0") == _files(FIXTURES / "all_0")


def test_the_same_rows_without_dictionaries_have_pinots_crcs(tmp_path):
    schema, body = all_schema(), all_config().body
    index = {k: v for k, v in body["tableIndexConfig"].items() if k != "segmentPartitionConfig"}
    config = parse_table_config(
        {**body, "tableIndexConfig": {**index, "noDictionaryColumns": [f.name for f in schema.fields]}}
    )
    info = build_segment(all_rows(), schema, config, "all_0", tmp_path, creation_time_ms=CREATED)
    assert (info.crc, info.data_crc) == (0x54388D5C, 0x9EA2D71B)
    assert info.columns["inv"].has_dictionary  # its inverted index forces one


def test_an_empty_segment_is_pinots_own_bytes(tmp_path):
    info = build_segment(
        pa.table({}), all_schema(), all_config(), "empty_0", tmp_path, creation_time_ms=CREATED, now_ms=20_778 * DAY_MS
    )
    assert _files(tmp_path / "empty_0") == _files(FIXTURES / "empty_0")
    assert (info.total_docs, info.data_crc) == (0, 1)


def test_every_column_of_pinots_segment_reads_as_the_rows_that_made_it():
    expected, masks = transform_table(all_rows(), all_schema(), all_config(), now_ms=0)
    with SegmentReader(FIXTURES / "all_0") as reader:
        table = reader.table(list(reader.info.columns))
        for name in expected.column_names:
            assert table.column(name).to_pylist() == expected.column(name).to_pylist(), name
            found = reader.null_mask(name)
            assert (found.tolist() if found is not None else [False] * 4) == masks[name].tolist(), name


def test_the_v1_layout_reads_the_same():
    one, three = SegmentReader(FIXTURES / "tiny_0_v1"), SegmentReader(FIXTURES / "tiny_0_v3")
    assert one.table(["c", "day", "n"]).to_pydict() == three.table(["c", "day", "n"]).to_pydict()
    assert one.table(["n"]).to_pydict() == {"n": [10, -1, 0]}


@pytest.mark.parametrize("name", ["all_0", "tiny_0_v1", "tiny_0_v3", "empty_0"])
def test_the_crc_on_record_is_the_crc_of_the_files(name):
    assert compute_crc(FIXTURES / name) == read_info(FIXTURES / name).crc


def test_crc_ignores_crc_files_and_creation_time_but_not_the_name(tmp_path):
    rows, schema, config = tiny()
    first = build(rows, schema, config, tmp_path, "tiny_0")
    (tmp_path / "tiny_0" / "x.crc").write_bytes(b"noise")
    assert compute_crc(tmp_path / "tiny_0") == first.crc
    later = build_segment(pa.table(rows), schema, config, "tiny_0", tmp_path, creation_time_ms=CREATED + 5)
    assert later.crc == first.crc
    assert build(rows, schema, config, tmp_path, "tiny_1").crc != first.crc


def test_the_description_says_what_the_metadata_say():
    info = read_info(FIXTURES / "all_0")
    assert (info.name, info.table, info.total_docs, info.time_column) == ("all_0", "all", 4, "day")
    assert (info.start_time, info.end_time, info.time_unit) == (19000, 19003, "DAYS")
    assert (info.start_time_ms, info.end_time_ms) == (19000 * DAY_MS, 19003 * DAY_MS)
    s = info.columns["s"]
    assert (s.min_value, s.max_value, s.partition_function, s.num_partitions, s.partitions) == (
        " lead",
        "null",
        "Murmur",
        4,
        (1, 2, 3),
    )
    assert info.columns["js"].max_value == '{"b":[1,2]}'
    assert (info.columns["imv"].total_entries, info.columns["imv"].max_multi_values) == (6, 3)


def test_the_v3_copy_of_the_metadata_wins_and_a_flattened_segment_reads(tmp_path):
    rows, schema, config = tiny()
    build(rows, schema, config, tmp_path, "tiny_0")
    segment = tmp_path / "tiny_0"
    (segment / "metadata.properties").write_text("segment.total.docs = 999\n")
    assert read_info(segment).total_docs == 3
    for file in (segment / "v3").iterdir():
        file.rename(segment / file.name)
    (segment / "v3").rmdir()
    assert SegmentReader(segment).column("c").to_pylist() == ["b", "a,x", "b"]


def test_creation_meta_may_be_missing_or_short():
    metadata = (FIXTURES / "tiny_0_v3" / "v3" / "metadata.properties").read_bytes()
    meta = (FIXTURES / "tiny_0_v3" / "v3" / "creation.meta").read_bytes()
    assert parse_info(metadata, b"").crc == -(2**63)
    assert parse_info(metadata, meta[:16]).data_crc is None


@pytest.mark.parametrize(
    "key", ["segment.total.docs", "column.c.columnType", "column.c.dataType", "column.c.cardinality"]
)
def test_a_missing_key_is_named(key):
    lines = (FIXTURES / "tiny_0_v3" / "v3" / "metadata.properties").read_text().splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith(key + " "))
    with pytest.raises(SegmentCorrupt, match=key):
        parse_info(text.encode(), b"")


def test_custom_values_and_stream_offsets_come_back(tmp_path):
    rows, schema, config = tiny()
    custom = {"input.data.file.uri": "s3://bucket/a, b.csv", "emoji": "😀 \\ x"}
    build(rows, schema, config, tmp_path, custom=custom, realtime_offsets=("17-0", "42-0"))
    info = read_info(tmp_path / "t_0")
    assert info.custom == custom
    assert (info.realtime_start_offset, info.realtime_end_offset) == ("17-0", "42-0")


NEEDED = {
    "columnType",
    "dataType",
    "isSingleValues",
    "maxNumberOfMultiValues",
    "hasDictionary",
    "isSorted",
    "bitsPerElement",
    "cardinality",
    "totalNumberOfEntries",
    "lengthOfEachEntry",
    "datetimeFormat",
    "datetimeGranularity",
}


def test_a_segment_with_only_the_needed_keys_reads_the_same(tmp_path):
    shutil.copytree(FIXTURES / "all_0", tmp_path / "s")
    path = tmp_path / "s" / "v3" / "metadata.properties"
    kept = [
        line
        for line in path.read_text().splitlines(keepends=True)
        if (
            line.split(" = ")[0].rsplit(".", 1)[1] in NEEDED
            if line.startswith("column.")
            else "column.names" in line or "total.docs" in line or "version" in line
        )
    ]
    path.write_text("".join(kept))
    full, small = SegmentReader(FIXTURES / "all_0"), SegmentReader(tmp_path / "s")
    assert small.info.columns.keys() == full.info.columns.keys()
    assert small.table(list(full.info.columns)).equals(full.table(list(full.info.columns)))
