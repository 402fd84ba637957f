"""Uploads that carry what no segment has, or that unpack or parse to far more than was sent, are refused quickly and
leave nothing.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segments.errors import SegmentCorrupt
from segments.segmentfile.format.info import parse_info
from segments.store import paths
from tests.api.cluster import ApiCluster, served, small_files

#: Seconds in which a hostile upload must be refused; a busy machine included.
SOON_S = 5.0


@pytest.fixture
def table(tmp_path: Path, db: None, settings: Any) -> Iterator[ApiCluster]:
    settings.ROOT_URLCONF = "segments.api.urls"
    with served(tmp_path) as made:
        yield made.create()


def nothing_left(table: ApiCluster) -> bool:
    return (table.memory.children(paths.segments("t_OFFLINE")), table.ideal, table.files) == ([], {}, [])


def rewritten(tar: Path, **more: bytes) -> Path:
    """The same segment with more files beside ``v3``."""
    out = tar.with_name("more.tar.gz")
    with tarfile.open(tar) as source, tarfile.open(out, "w:gz") as target:
        for entry in source:
            target.addfile(entry, source.extractfile(entry) if entry.isreg() else None)
        for name, body in more.items():
            info = tarfile.TarInfo(f"{source.getnames()[0]}/{name.replace('__', '.')}")
            info.size, info.mode = len(body), 0o755
            target.addfile(info, io.BytesIO(body))
    return out


def test_an_upload_with_a_shared_library_is_refused_by_name(table: ApiCluster) -> None:
    answer = table.post_tar(rewritten(table.build("s0", 5), plugin__so=b"\x7fELF"), "s0")
    assert answer.status_code == 400
    assert "plugin.so' is not a file of a Pinot segment" in answer.json()["error"]
    assert nothing_left(table)


def test_a_batch_whose_header_claims_hundreds_of_megabytes_costs_nothing(table: ApiCluster) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 400 << 20
    tar = table.folder / "batch.tar.gz"
    with gzip.open(tar, "wb", compresslevel=1) as file:
        file.write(header.tobuf(tarfile.GNU_FORMAT))
        for _ in range(40):
            file.write(bytes(10 << 20))
    began = time.monotonic()
    answer = table.post_tar(tar, "batch", "/segments/batchUpload", headers={"UPLOAD_TYPE": "METADATA"})
    assert answer.status_code == 400
    assert "header claims 419430400 bytes" in answer.json()["error"]
    assert time.monotonic() - began < SOON_S
    assert nothing_left(table)


def test_a_batch_that_unpacks_to_more_than_a_request_may_is_413(table: ApiCluster) -> None:
    tar = table.folder / "batch.tar.gz"
    with gzip.open(tar, "wb", compresslevel=1) as file:
        for number in range(40):
            info = tarfile.TarInfo(f"s{number}.metadata.properties")
            info.size = 8 << 20
            file.write(info.tobuf(tarfile.GNU_FORMAT) + bytes(info.size))
    answer = table.post_tar(tar, "batch", "/segments/batchUpload", headers={"UPLOAD_TYPE": "METADATA"})
    assert answer.status_code == 413
    assert "remedy" in answer.json()


@pytest.mark.parametrize(
    "line", [b"a = b\n", b"a = b,c\n", b"a\\\n", b"\\,", b"column.c.partitionValues = [0 1000000]\n"]
)
def test_a_description_takes_time_in_proportion_to_its_size(line: bytes) -> None:
    def seconds(size: int) -> float:
        text = b"segment.total.docs = 1\nsegment.dimension.column.names = c\n" + line * (size // len(line))
        began = time.perf_counter()
        with pytest.raises(SegmentCorrupt):
            parse_info(text, b"")
        return time.perf_counter() - began

    few = min(seconds(1 << 19) for _ in range(3))
    assert seconds(1 << 21) < 20 * few + 0.5


def test_an_upload_with_thirty_megabytes_of_description_is_413(table: ApiCluster) -> None:
    files = small_files(table.build("s0", 5))
    files["metadata.properties"] += b"custom.x = " + b"a,b," * (30 << 18)
    tar = table.folder / "big.tar.gz"
    with tarfile.open(tar, "w:gz") as target:
        folder = tarfile.TarInfo("s0")
        folder.type = tarfile.DIRTYPE
        target.addfile(folder)
        for name, body in files.items():
            info = tarfile.TarInfo(f"s0/{name}")
            info.size = len(body)
            target.addfile(info, io.BytesIO(body))
    began = time.monotonic()
    answer = table.post_tar(tar, "s0")
    assert answer.status_code == 413
    assert "at most 8388608 are allowed" in answer.json()["error"]
    assert time.monotonic() - began < SOON_S
