"""Tars are written as every Pinot reads them; foreign ones are unpacked safely or refused with the reason (format
examples I).
"""

import gzip
import io
import tarfile
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from segments.errors import SegmentCorrupt, SegmentTooLarge, Unavailable
from segments.segmentfile import compute_crc, extract_tar, read_info, read_info_from_tar, write_tar
from tests.segmentfile.samples import FIXTURES

TINY = FIXTURES / "tiny_0_v3"


def _tar(members, style=tarfile.PAX_FORMAT) -> bytes:
    """(name, bytes or None for a directory, or a TarInfo) -> bytes of a bare tar."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=style) as tar:
        for name, body in members:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            if body is None and not isinstance(name, tarfile.TarInfo):
                info.type = tarfile.DIRTYPE
            info.size = len(body or b"")
            tar.addfile(info, io.BytesIO(body or b""))
    return out.getvalue()


def _segment(top="seg"):
    files = [(f"{top}/v3/{p.name}", p.read_bytes()) for p in sorted((TINY / "v3").iterdir())]
    return [(top, None), (f"{top}/v3", None), *files]


def _write(folder: Path, data: bytes) -> Path:
    path = folder / "s.tar.gz"
    path.write_bytes(data)
    return path


def test_a_written_tar_has_directories_first_and_small_files_before_the_data(tmp_path):
    size = write_tar(TINY, tmp_path / "t.tar.gz")
    assert size == (tmp_path / "t.tar.gz").stat().st_size
    with tarfile.open(tmp_path / "t.tar.gz") as tar:
        names = tar.getnames()
    assert names[:2] == ["tiny_0_v3", "tiny_0_v3/v3"]
    assert {n.rsplit("/", 1)[1] for n in names[2:4]} == {"metadata.properties", "creation.meta"}
    assert names[-1].endswith("columns.psf")


def test_the_same_segment_gives_the_same_tar_and_comes_back_whole(tmp_path):
    write_tar(TINY, tmp_path / "a.tar.gz")
    write_tar(TINY, tmp_path / "b.tar.gz")
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()
    assert compute_crc(extract_tar(tmp_path / "a.tar.gz", tmp_path / "out")) == read_info(TINY).crc
    assert read_info_from_tar(tmp_path / "a.tar.gz") == read_info(TINY)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, lz4.frame.compress])
@pytest.mark.parametrize("style", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_every_compressor_and_dialect_reads_under_any_name(tmp_path, pack, style):
    top = "s" * (90 if style == tarfile.USTAR_FORMAT else 130)
    path = _write(tmp_path, pack(_tar(_segment(top), style)))
    assert extract_tar(path, tmp_path / "out") == tmp_path / "out" / top
    assert read_info_from_tar(path).name == "tiny_0"


def test_an_existing_directory_is_replaced(tmp_path):
    path = _write(tmp_path, gzip.compress(_tar(_segment())))
    (tmp_path / "out" / "seg").mkdir(parents=True)
    (tmp_path / "out" / "seg" / "old").write_text("x")
    assert not (extract_tar(path, tmp_path / "out") / "old").exists()


@pytest.mark.parametrize("flat", [True, False])
def test_a_metadata_tar_is_described(tmp_path, flat):
    names = ("metadata.properties", "creation.meta")
    members = [(n if flat else f"seg/{n}", (TINY / "v3" / n).read_bytes()) for n in names]
    assert read_info_from_tar(_write(tmp_path, gzip.compress(_tar(members)))) == read_info(TINY)


def test_a_tar_without_metadata_is_named(tmp_path):
    with pytest.raises(SegmentCorrupt, match=r"holds no metadata\.properties"):
        read_info_from_tar(_write(tmp_path, gzip.compress(_tar([("seg", None)]))))


def _link(kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo("seg/link")
    info.type, info.linkname = kind, "/etc/passwd"
    return info


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        (_segment()[2:], "first entry"),
        ([("./", None), ("./v3/x", b"x")], "'./'"),
        ([("./seg", None)], "'./'"),
        ([("seg", None), ("seg/../../x", b"x")], "leaves"),
        ([("/seg", None)], "leaves"),
        ([("seg", None), ("other/x", b"x")], "outside of seg/"),
        ([("seg", None), ("seg/x.dict", b"1"), ("seg/x.dict", b"2")], "there twice"),
        ([("seg", None), ("seg/plugin.so", b"\x7fELF")], r"'seg/plugin\.so' is not a file of a Pinot segment"),
        (
            [("seg", None), ("seg/v3", None), ("seg/v3/run.sh", b"#!")],
            r"'seg/v3/run\.sh' is not a file of a Pinot segment",
        ),
        ([("seg", None), ("seg/bin", None)], "'seg/bin' is not a folder of a Pinot segment"),
        ([("seg", None), ("seg/.lucene.index", None)], "not a folder of a Pinot segment"),
        ([("seg", None), (_link(tarfile.SYMTYPE), None)], "link or special"),
        ([("seg", None), (_link(tarfile.LNKTYPE), None)], "link or special"),
        ([("seg", None), (_link(tarfile.FIFOTYPE), None)], "link or special"),
        ([], "is empty"),
    ],
)
def test_unsafe_or_unloadable_tars_are_refused_and_leave_nothing(tmp_path, members, reason):
    with pytest.raises(SegmentCorrupt, match=reason):
        extract_tar(_write(tmp_path, gzip.compress(_tar(members))), tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_several_gzip_members_are_explained(tmp_path):
    data = _tar([*_segment(), ("seg/big.dict", bytes(50_000))])
    path = _write(tmp_path, gzip.compress(data[:3000]) + gzip.compress(data[3000:]))
    with pytest.raises(SegmentCorrupt, match="several gzip members"):
        extract_tar(path, tmp_path / "out")


@pytest.mark.parametrize(
    ("data", "reason"),
    [(_tar(_segment()), "without compression"), (b"PK\3\4 no tar", "not a gzip, zstd or LZ4"), (b"", "not a gzip")],
)
def test_other_formats_are_refused(tmp_path, data, reason):
    with pytest.raises(SegmentCorrupt, match=reason):
        extract_tar(_write(tmp_path, data), tmp_path / "out")


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, lz4.frame.compress])
def test_a_stream_cut_anywhere_is_refused(tmp_path, pack):
    whole = pack(_tar(_segment()))
    for cut in (5, 20, len(whole) // 2, len(whole) * 3 // 4):
        with pytest.raises(SegmentCorrupt):
            extract_tar(_write(tmp_path, whole[:cut]), tmp_path / "out")


def test_limits_on_bytes_and_entries_hold(tmp_path):
    path = _write(tmp_path, gzip.compress(_tar([("seg", None), ("seg/zeros.dict", bytes(1_000_000))])))
    with pytest.raises(SegmentCorrupt, match="more than 1000 bytes"):
        extract_tar(path, tmp_path / "out", max_bytes=1000)
    with pytest.raises(SegmentCorrupt, match="1 entries"):
        extract_tar(path, tmp_path / "out", max_members=1)


def test_a_header_that_would_fill_the_memory_is_refused(tmp_path):
    header = tarfile.TarInfo("seg")
    header.type, header.size = tarfile.XHDTYPE, 1 << 30
    data = header.tobuf(tarfile.USTAR_FORMAT) + bytes(4 << 20)
    with pytest.raises(SegmentCorrupt, match="header claims 1073741824 bytes"):
        read_info_from_tar(_write(tmp_path, gzip.compress(data)))


def test_unpacked_files_are_never_executable(tmp_path):
    members = _segment()
    program = tarfile.TarInfo("seg/v3/column.dict")
    program.mode = 0o777
    path = _write(tmp_path, gzip.compress(_tar([*members, (program, b"\x7fELF")])))
    files = [p for p in extract_tar(path, tmp_path / "out").rglob("*") if p.is_file()]
    assert len(files) > 1
    assert not any(p.stat().st_mode & 0o111 for p in files)


def test_a_small_tar_that_unpacks_to_very_much_is_refused_at_its_header(tmp_path, monkeypatch):
    monkeypatch.setattr("segments.segmentfile.packed.foreign_tar.FREE_BYTES", 1 << 20)
    path = _write(
        tmp_path, gzip.compress(_tar([("seg", None), ("seg/a.dict", bytes(900_000)), ("seg/b.dict", bytes(2_000_000))]))
    )
    with pytest.raises(SegmentTooLarge, match="more than 1048576 bytes, or to more than 200 times"):
        extract_tar(path, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_what_is_only_passed_over_counts_too(tmp_path, monkeypatch):
    monkeypatch.setattr("segments.segmentfile.packed.foreign_tar.FREE_BYTES", 1 << 20)
    monkeypatch.setattr("segments.segmentfile.packed.tar._MAX_MEMBERS", 10)
    link = tarfile.TarInfo("seg/link")
    link.type, link.size, link.linkname = b"Z", 8 << 20, "x"
    data = link.tobuf(tarfile.GNU_FORMAT) + bytes(8 << 20)
    with pytest.raises(SegmentTooLarge):
        read_info_from_tar(_write(tmp_path, gzip.compress(data + _tar(_segment()))))


def test_a_disk_that_is_nearly_full_is_not_filled(tmp_path, monkeypatch):
    monkeypatch.setattr("segments.segmentfile.packed.tar.KEPT_FREE_BYTES", 1 << 60)
    with pytest.raises(Unavailable, match="Make room on the disk"):
        extract_tar(_write(tmp_path, gzip.compress(_tar(_segment()))), tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_many_headers_before_one_entry_are_refused(tmp_path):
    header = tarfile.TarInfo("seg")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 60 << 10
    data = (header.tobuf(tarfile.GNU_FORMAT) + bytes(60 << 10)) * 100
    with pytest.raises(SegmentCorrupt, match="1048576 in a row"):
        read_info_from_tar(_write(tmp_path, gzip.compress(data)))


def test_a_sparse_file_is_refused_before_its_map_is_read(tmp_path):
    sparse = tarfile.TarInfo("seg/x.dict")
    sparse.type = tarfile.GNUTYPE_SPARSE
    head = bytearray(sparse.tobuf(tarfile.GNU_FORMAT))
    with pytest.raises(SegmentCorrupt, match="sparse"):
        extract_tar(_write(tmp_path, gzip.compress(_tar([("seg", None)])[:512] + bytes(head))), tmp_path / "out")


def test_a_description_of_many_megabytes_is_refused_unread(tmp_path):
    path = _write(tmp_path, gzip.compress(_tar([("seg", None), ("seg/metadata.properties", bytes(30 << 20))])))
    with pytest.raises(SegmentTooLarge, match="has 31457280 bytes, at most 8388608"):
        read_info_from_tar(path)
    with pytest.raises(SegmentTooLarge, match="has 31457280 bytes, at most 8388608"):
        extract_tar(path, tmp_path / "out")
