"""Segments' files are copied as they are, whatever their names end with."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from segments.dataplane.server.download import Downloader
from segments.errors import NotFound
from segments.gateways.deepstore import DeepStore

DATA = gzip.compress(b"a segment " * 1000)


@pytest.mark.parametrize("name", ["s0", "s0.tar.gz", "s0.bz2"])
def test_a_file_outside_of_the_deep_store_arrives_byte_for_byte(tmp_path: Path, name: str) -> None:
    """The metadata push of Pinot's own job leaves ``file:/…/s0.tar.gz`` on record."""
    (tmp_path / name).write_bytes(DATA)
    downloader = Downloader(DeepStore(str(tmp_path / "store")), "http://127.0.0.1:1", "")
    for url in (f"file:{tmp_path}/{name}", f"file://{tmp_path}/{name}"):
        assert downloader.fetch(url, "t_OFFLINE", "s0", tmp_path / "here") == len(DATA)
        assert (tmp_path / "here").read_bytes() == DATA
    with pytest.raises(NotFound):
        downloader.fetch(f"file://{tmp_path}/gone", "t_OFFLINE", "s0", tmp_path / "here")


def test_the_deep_store_keeps_files_as_they_are(tmp_path: Path) -> None:
    source, store = tmp_path / "source", DeepStore(str(tmp_path / "store"))
    source.write_bytes(DATA)
    for path in ("t/s0", "t/s0.tar.gz"):
        store.put(source, path)
        store.fetch(path, tmp_path / "here")
        assert (tmp_path / "here").read_bytes() == (tmp_path / "store" / path).read_bytes() == DATA
