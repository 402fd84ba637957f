"""The v1 layout is written as Pinot writes it, and segments move between the layouts without losing a byte (golden case
2).
"""

import shutil
from pathlib import Path

import pytest

from segments.domain.tables.table_config import parse_table_config
from segments.errors import InvalidInput, SegmentCorrupt
from segments.segmentfile import SegmentReader, build_segment, convert_layout, read_info, verify
from segments.segmentfile.format.crc import adler32, combine
from tests.segmentfile.samples import (
    CREATED,
    FIXTURES,
    all_config,
    all_rows,
    all_schema,
    build,
    config_of,
    schema_of,
    tiny,
)


def _files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def _v1(config):
    body = config.body
    return parse_table_config(
        {**body, "tableIndexConfig": {**(body.get("tableIndexConfig") or {}), "segmentFormatVersion": "v1"}}
    )


def test_tiny_in_the_v1_layout_is_pinots_own_bytes(tmp_path):
    rows, schema, config = tiny()
    info = build(rows, schema, _v1(config), tmp_path, "tiny_0")
    assert _files(tmp_path / "tiny_0") == _files(FIXTURES / "tiny_0_v1")
    assert (info.crc, info.data_crc, info.index_version) == (0x2CC69455, 0x746D0B68, "v1")


def test_a_v1_segment_converts_to_exactly_the_v3_segment_that_pinot_builds(tmp_path):
    info = convert_layout(FIXTURES / "tiny_0_v1", tmp_path)
    assert _files(tmp_path / "tiny_0") == _files(FIXTURES / "tiny_0_v3")
    assert info == read_info(FIXTURES / "tiny_0_v3")


def test_every_type_survives_v1_and_back(tmp_path):
    build_segment(all_rows(), all_schema(), _v1(all_config()), "all_0", tmp_path / "built", creation_time_ms=CREATED)
    assert verify(tmp_path / "built" / "all_0") == []
    convert_layout(FIXTURES / "all_0", tmp_path / "down", layout="v1")
    built, down = _files(tmp_path / "built" / "all_0"), _files(tmp_path / "down" / "all_0")
    metadata, meta = "metadata.properties", "creation.meta"
    assert {k: v for k, v in built.items() if k not in (metadata, meta)} == {
        k: v for k, v in down.items() if k not in (metadata, meta)
    }
    convert_layout(tmp_path / "built" / "all_0", tmp_path / "up")
    assert _files(tmp_path / "up" / "all_0") == _files(FIXTURES / "all_0")


def test_an_empty_segment_converts(tmp_path):
    convert_layout(FIXTURES / "empty_0", tmp_path / "a", layout="v1")
    convert_layout(tmp_path / "a" / "empty_0", tmp_path / "b")
    assert _files(tmp_path / "b" / "empty_0") == _files(FIXTURES / "empty_0")


def test_an_index_that_would_be_lost_is_named(tmp_path):
    shutil.copytree(FIXTURES / "tiny_0_v1", tmp_path / "tiny_0")
    (tmp_path / "tiny_0" / "star_tree_index").write_bytes(b"x")
    with pytest.raises(InvalidInput, match="'star_tree_index' is an index that would be lost"):
        convert_layout(tmp_path / "tiny_0", tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_segment_is_not_converted_onto_itself(tmp_path):
    shutil.copytree(FIXTURES / "tiny_0_v1", tmp_path / "tiny_0")
    with pytest.raises(InvalidInput, match="onto itself"):
        convert_layout(tmp_path / "tiny_0", tmp_path)
    assert _files(tmp_path / "tiny_0") == _files(FIXTURES / "tiny_0_v1")


def test_an_unknown_layout_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="'segmentFormatVersion' of table 't_OFFLINE' is 'v9'"):
        build({"b": [1]}, schema_of(("b", "LONG")), config_of(segmentFormatVersion="v9"), tmp_path)


@pytest.mark.parametrize("name", ["../up", "a/b"])
def test_a_column_name_never_leaves_the_v1_directory(tmp_path, name):
    with pytest.raises(InvalidInput, match="cannot be the name of a file"):
        build({name: [1]}, schema_of((name, "LONG")), config_of(segmentFormatVersion="v1"), tmp_path)
    build({name: [1]}, schema_of((name, "LONG")), config_of(), tmp_path)
    for file in (tmp_path / "t_0" / "v3").iterdir():
        file.rename(tmp_path / "t_0" / file.name)
    path = tmp_path / "t_0" / "metadata.properties"
    path.write_text(path.read_text().replace("segment.index.version = v3\n", ""))
    (tmp_path / "t_0" / "v3").rmdir()
    with pytest.raises(SegmentCorrupt, match="cannot be the name of a file"):
        SegmentReader(tmp_path / "t_0").column(name)


@pytest.mark.parametrize("pieces", [[], [b""], [b"abc"], [b"a", b"", b"bc" * 40_000, bytes(70_000), b"\xff" * 131_071]])
def test_checksums_of_pieces_combine_to_that_of_the_whole(pieces):
    assert combine((adler32([p]), len(p)) for p in pieces) == adler32([b"".join(pieces)])
