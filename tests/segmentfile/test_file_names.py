"""Of the files in a tar only those are unpacked that a Pinot segment can have, in every version and with
every index.
"""

from pathlib import PurePosixPath

import pytest

from segments.segmentfile.packed.file_names import is_segment_file, is_segment_folder
from tests.segmentfile.samples import FIXTURES


@pytest.mark.parametrize("segment", ["all_0", "empty_0", "tiny_0_v1", "tiny_0_v3"])
def test_every_file_of_pinots_own_segments_is_known(segment):
    for path in (FIXTURES / segment).rglob("*"):
        below = PurePosixPath(path.relative_to(FIXTURES / segment).as_posix())
        assert is_segment_folder(below) if path.is_dir() else is_segment_file(below), below


@pytest.mark.parametrize(
    "path",
    [
        "v3/star_tree_index",
        "v3/star_tree_index_map",
        "v3/validdocids.bitmap.snapshot",
        "ttl.watermark.partition.12",
        "a b.c.json.idx",
        "größe.sv.raw.fwd",
        "c.bitmap.inv",
        "v3/c.lucene.v912.fst",
        "c.lucene.v912.ifst",
        "c.text.index",
        "v3/c.vector.ivfflat.index",
        "v3/c.lucene.mapping",
        "v3/multi_col_text_idx.lucene.mapping",
        ".columns.psf.crc",
        "v3/c.lucene.v912.index/segments_2",
        "c.lucene.index/_0.cfs",
        "c.lucene.index/_0.cfe",
        "c.lucene.index/_0.si",
        "c.lucene.index/write.lock",
        "c.lucene.index/lucene.properties",
        "v3/c.vector.v912.hnsw.index/_0_Lucene99HnswVectorsFormat_0.vex",
        "v3/multi_col_text_idx.lucene.v912.index/_1_Lucene912_0.doc",
        "c.lucene.index/_2.fdt",
        "c.lucene.index/pending_segments_3",
    ],
)
def test_names_that_pinot_writes_are_known(path):
    assert is_segment_file(PurePosixPath(path))


@pytest.mark.parametrize(
    "path",
    [
        "libevil.so",
        "v3/libevil.so.1",
        "v3/run",
        "v3/.dict",
        "v4/columns.psf",
        "v3/v3/columns.psf",
        "a/columns.psf",
        "x.jar",
        "x.py",
        "c.lucene.index/evil.so",
        "c.lucene.index/_0.so",
        "c.lucene.index/sub/_0.cfs",
        "c.dict/_0.cfs",
        "authorized_keys",
        ".crc",
        "ttl.watermark.partition.x",
        "c.lucene.index/segments_1.so",
        "c.lucene.index/.so",
        "columns.psf.crc.crc",
        ".",
    ],
)
def test_other_names_are_not(path):
    assert not is_segment_file(PurePosixPath(path))


@pytest.mark.parametrize(
    ("path", "known"), [(".", True), ("v3", True), ("v3/c.lucene.index", True), ("v3/v3", False), ("bin", False)]
)
def test_folders_are_those_of_layout_and_lucene_indexes(path, known):
    assert is_segment_folder(PurePosixPath(path)) == known
