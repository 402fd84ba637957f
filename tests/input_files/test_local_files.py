"""Input files in local folders: what is listed, what is left out, what may be opened, and calls that never return."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from segments.domain.push.push_plan import InputFile
from segments.errors import Forbidden, InvalidInput, NotFound, StateConflict, Unavailable
from segments.gateways.deep_store.bounded_calls import BoundedCalls
from segments.gateways.input_files import local_files
from segments.gateways.input_files.access import FileAccess, access_from_json
from segments.gateways.input_files.bounded_reader import BoundedReader, as_arrow_file
from segments.gateways.input_files.choice import Choice
from segments.gateways.input_files.local_files import LocalFiles
from segments.gateways.input_files.remote_files import _checksum, _texts
from segments.gateways.input_files.source import InputSource


@pytest.fixture
def root(tmp_path: Path) -> Path:
    found = tmp_path / "root"
    for name in ("a.csv", "deep/b.csv", "deep/c.json", ".hidden.csv", ".folder/d.csv"):
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text(f"x\n{name}\n")
    return found


@pytest.fixture
def source(root: Path) -> InputSource:
    return InputSource(FileAccess((str(root),)))


def names(root: Path, files: list[InputFile]) -> list[str]:
    return [os.path.relpath(f.path, root) for f in files]


def test_a_listing_is_sorted_and_leaves_hidden_files_out(root: Path, source: InputSource) -> None:
    assert names(root, source.list(str(root), Choice())) == ["a.csv", "deep/b.csv", "deep/c.json"]
    assert names(root, source.list(str(root), Choice(recursive=False))) == ["a.csv"]


def test_patterns_take_and_leave_files_by_their_whole_path(root: Path, source: InputSource) -> None:
    assert names(root, source.list(str(root), Choice(include="glob:**/*.csv", exclude="glob:**/deep/*"))) == ["a.csv"]
    assert names(root, source.list(str(root), Choice(include="regex:.*/deep/.*"))) == ["deep/b.csv", "deep/c.json"]
    assert source.list(str(root), Choice(include="glob:*.csv")) == []


def test_a_folder_is_given_as_a_path_or_a_file_uri_or_relative_to_a_root(root: Path, source: InputSource) -> None:
    deep = str(root / "deep")
    assert [source.folder(g) for g in (deep, f"file://{deep}", "deep", f"{root}/./deep/")] == [deep] * 4


@pytest.mark.parametrize("given", ["/etc", "../outside", "{root}-other", "{root}/link", "file:///etc"])
def test_a_folder_outside_the_roots_is_refused(given: str, root: Path, source: InputSource, tmp_path: Path) -> None:
    (tmp_path / "root-other").mkdir()
    (root / "link").symlink_to(tmp_path / "root-other")
    with pytest.raises(Forbidden, match="outside the folders"):
        source.folder(given.replace("{root}", str(root)))


@pytest.mark.parametrize("given", ["ftp://host/x", "file://host/x", "nothing://", "/a\x00b", "\ud800"])
def test_an_address_of_an_unknown_kind_is_refused(given: str, source: InputSource) -> None:
    with pytest.raises(InvalidInput, match=r"is not a local folder|there is no file system for"):
        source.folder(given)


def test_links_count_only_while_they_stay_below_the_roots(root: Path, source: InputSource, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("x\n")
    (root / "out.csv").symlink_to(tmp_path / "secret.csv")
    (root / "in.csv").symlink_to(root / "a.csv")
    assert names(root, source.list(str(root), Choice(recursive=False))) == ["a.csv", "in.csv"]


def test_a_file_that_became_a_link_out_of_the_roots_is_not_opened(
    root: Path, source: InputSource, tmp_path: Path
) -> None:
    (tmp_path / "secret.csv").write_text("x\na.csv\n")
    (root / "a.csv").unlink()
    (root / "a.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(Forbidden, match=r"'.*/a\.csv' is not a plain file below"):
        source.open(str(root / "a.csv"))


def test_a_pipe_is_neither_listed_nor_waited_for(root: Path, source: InputSource) -> None:
    os.mkfifo(root / "pipe.csv")
    assert "pipe.csv" not in names(root, source.list(str(root), Choice()))
    with pytest.raises(Forbidden):
        source.open(str(root / "pipe.csv"))


def test_a_folder_that_cannot_be_listed_is_an_error_and_not_empty(
    root: Path, source: InputSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = os.scandir

    def refused(path: str) -> object:
        if str(path).endswith("deep"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(InvalidInput, match=r"deep' cannot be listed: Permission denied"):
        source.list(str(root), Choice())


def test_a_file_that_changed_or_went_is_named(root: Path, source: InputSource) -> None:
    first, *_ = source.list(str(root), Choice())
    source.check_unchanged(first)
    (root / "a.csv").write_text("x\nlonger than before\n")
    with pytest.raises(StateConflict, match=r"a\.csv' changed.*8 bytes then, 21 now"):
        source.check_unchanged(first)
    (root / "a.csv").unlink()
    with pytest.raises(StateConflict, match=r"a\.csv' is gone"):
        source.check_unchanged(first)
    with pytest.raises(NotFound):
        source.open(first.path)


def test_pyarrow_reads_an_opened_file_whole_in_pieces_and_at_random(root: Path, source: InputSource) -> None:
    table = pa.table({"x": list(range(1000))})
    pq.write_table(table, root / "x.parquet", row_group_size=100)
    with source.open(str(root / "x.parquet")) as file:
        assert file.size() == (root / "x.parquet").stat().st_size
        assert pq.ParquetFile(file).read_row_groups([3]).column("x").to_pylist() == list(range(300, 400))
    with source.open(str(root / "a.csv")) as file:
        assert pacsv.read_csv(file).to_pydict() == {"x": ["a.csv"]}
    with source.open(str(root / "a.csv")) as file:
        assert (file.seek(2), file.read(2), file.read()) == (2, b"a.", b"csv\n")


class Stuck:
    """A file whose reads never return."""

    def __init__(self) -> None:
        self.closed = threading.Event()

    def read(self, size: int = -1, /) -> bytes:
        self.closed.wait(30)
        return b""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return 0

    def tell(self) -> int:
        return 0

    def close(self) -> None:
        self.closed.set()


def test_a_read_that_never_returns_is_given_up() -> None:
    stuck, calls = Stuck(), BoundedCalls("The input folder", lambda: None)
    file = as_arrow_file(BoundedReader(stuck, lambda work: calls.run(work, 0.05)))
    with pytest.raises(Unavailable, match=r"The input folder has not answered"):
        file.read(10)
    stuck.closed.set()


def test_access_travels_as_plain_values(source: InputSource) -> None:
    assert access_from_json(source.access.to_json()) == source.access


def test_a_stored_file_without_an_etag_is_still_read() -> None:
    assert InputFile(path="/a", size=1, mtime_ns=2) == InputFile("/a", 1, 2, "")


@pytest.mark.parametrize(
    ("given", "checksum"),
    [
        ({b"md5Hash": b"XUF=="}, "md5:XUF=="),
        ({"Content-Hash": '"abc"'}, "md5:abc"),
        ({b"ETag": b"x", b"md5Hash": b""}, ""),
        ({}, ""),
    ],
)
def test_the_checksum_that_a_store_keeps_is_taken_from_what_it_says_of_a_file(given: Any, checksum: str) -> None:
    assert _checksum(_texts(given)) == checksum


def test_a_local_file_is_hashed_if_it_is_small_and_its_link_stays_within_the_roots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "in" / "a.csv"
    path.parent.mkdir()
    path.write_text("x\n1\n")
    files = LocalFiles([str(path.parent)])
    first = files.checksum(files.stat(str(path)))
    assert first.startswith("blake2b:")
    path.write_text("x\n2\n")
    assert files.checksum(files.stat(str(path))) != first
    monkeypatch.setattr(local_files, "CHECKED_BYTES", 3)
    assert files.checksum(files.stat(str(path))) == ""
    monkeypatch.undo()
    outside = tmp_path / "secret"
    outside.write_text("x\n2\n")
    listed = files.stat(str(path))
    path.unlink()
    path.symlink_to(outside)
    with pytest.raises(Forbidden):
        files.checksum(listed)
