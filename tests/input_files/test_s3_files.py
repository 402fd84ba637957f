"""Input files in an S3 store: what is listed, described and read, and every way in which the store fails."""

from __future__ import annotations

import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.errors import Forbidden, InvalidInput, NotFound, StateConflict, Unavailable
from segments.gateways.input_files.access import FileAccess
from segments.gateways.input_files.choice import Choice
from segments.gateways.input_files.source import InputSource
from tests.s3_server import Front, S3Server, times, until_next_second

ROOT = "s3://lake/in"


def source_at(url: str, *roots: str, timeout_s: float = 30.0) -> InputSource:
    login = {"endpoint": url, "accessKey": "k", "secretKey": "s", "region": "us-east-1"}
    return InputSource(FileAccess(roots or (ROOT,), tuple(sorted(login.items()))), timeout_s)


@pytest.fixture(scope="module")
def lake(s3: S3Server) -> S3Server:
    s3.make_bucket("lake")
    for key in ("a b.csv", "deep/b.csv", "deep/x%2Fy.csv", ".hidden.csv", ".folder/c.csv", "deep/ä.csv"):
        s3.put(f"lake/in/{key}", f"x\n{key}\n".encode())
    s3.put("lake/in-other/secret.csv", b"x\n1\n")
    return s3


@pytest.fixture
def source(lake: S3Server) -> InputSource:
    return source_at(lake.url)


@pytest.fixture
def faulty(lake: S3Server, front: Front) -> InputSource:
    return source_at(front.url)


def test_a_listing_names_files_by_their_addresses_and_leaves_hidden_ones_out(source: InputSource) -> None:
    files = source.list(source.folder(f"{ROOT}/"), Choice())
    assert [f.path for f in files] == [f"{ROOT}/{k}" for k in ("a b.csv", "deep/b.csv", "deep/x%2Fy.csv", "deep/ä.csv")]
    assert [(f.size, f.etag, f.mtime_ns > 0) for f in files[:1]] == [(10, "", True)]
    assert [f.path for f in source.list(ROOT, Choice(recursive=False))] == [f"{ROOT}/a b.csv"]


def test_patterns_match_the_address_as_java_writes_it_and_as_people_do(source: InputSource) -> None:
    for pattern in ("glob:**/deep/b.csv", "glob:s3:/lake/in/deep/b.csv", "glob:s3://lake/in/deep/b.csv"):
        assert [f.path for f in source.list(ROOT, Choice(include=pattern))] == [f"{ROOT}/deep/b.csv"], pattern


def test_every_listed_file_can_be_described_and_read(source: InputSource) -> None:
    for file in source.list(ROOT, Choice()):
        now = source.stat(file.path)
        assert now.is_same(file)
        assert len(now.etag) >= 32
        with source.open(file.path) as opened:
            assert opened.read() == f"x\n{file.path.removeprefix(ROOT + '/')}\n".encode()


def test_parquet_is_read_by_row_groups(lake: S3Server, source: InputSource) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": list(range(1000))}), sink, row_group_size=100)
    lake.put("lake/parquet/x.parquet", sink.getvalue().to_pybytes())
    with source_at(lake.url, "s3://lake/parquet").open("s3://lake/parquet/x.parquet") as file:
        assert pq.ParquetFile(file).read_row_groups([7]).column("x").to_pylist() == list(range(700, 800))


@pytest.mark.parametrize(
    "given",
    ["s3://lake/in-other", "s3://lake", "s3://lake/", "s3://other/in", "gs://lake/in"],
)
def test_a_folder_outside_the_roots_is_refused(given: str, source: InputSource) -> None:
    with pytest.raises(Forbidden, match="outside the addresses"):
        source.folder(given)


@pytest.mark.parametrize(
    "given",
    [
        f"{ROOT}/../in-other", f"{ROOT}/%2e%2e/in-other", f"{ROOT}%2f..%2fin-other", f"{ROOT}//x", f"{ROOT}/./x",
        f"{ROOT}\\..\\x", f"{ROOT}?endpoint_override=evil.example", f"{ROOT}#x", "s3://key:secret@lake/in",
        "s3://lake:80/in", "s3:///in", "s3://", f"{ROOT}/%252e%252e/x", f"{ROOT}/\0", "s4://lake/in",
        f"{ROOT}/{'x' * 2000}",
    ],
)  # fmt: skip
def test_an_address_that_may_be_read_in_two_ways_is_refused(given: str, source: InputSource) -> None:
    with pytest.raises(InvalidInput, match="is not an address of a folder"):
        source.folder(given)


def test_a_file_outside_the_roots_is_not_opened_and_not_asked_for(lake: S3Server, front: Front) -> None:
    for path in ("s3://lake/in-other/secret.csv", "s3://other/in/x"):
        with pytest.raises(Forbidden):
            source_at(front.url).open(path)
    assert front.seen == []


def test_what_is_not_there_is_named(source: InputSource, lake: S3Server) -> None:
    with pytest.raises(NotFound, match=r"s3://lake/in/nothing is not a folder"):
        source.folder(f"{ROOT}/nothing")
    with pytest.raises(NotFound, match=r"'s3://lake/in/nothing\.csv' is gone"):
        source.open(f"{ROOT}/nothing.csv")
    with pytest.raises(NotFound, match=r"'s3://no-bucket/in' is gone.*NO_SUCH_BUCKET"):
        source_at(lake.url, "s3://no-bucket/in").list("s3://no-bucket/in", Choice())


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        ("403", InvalidInput, "is refused by its store"),
        ("404", NotFound, "is gone"),
        ("503", Unavailable, "cannot be read"),
    ],
)
def test_a_status_of_the_store_becomes_an_error_that_names_the_file(
    status: str, kind: type[Exception], words: str, faulty: InputSource, front: Front
) -> None:
    front.fault = lambda method, path: status
    with pytest.raises(kind, match=rf"'s3://lake/in/deep/b\.csv' {words}") as caught:
        faulty.open(f"{ROOT}/deep/b.csv")
    assert "Request ID" not in str(caught.value)
    with pytest.raises(kind, match=rf"Folder '{ROOT}' {words}"):
        faulty.list(ROOT, Choice())


def test_a_store_that_is_busy_for_a_moment_costs_nothing(faulty: InputSource, front: Front) -> None:
    front.fault = times(2, "503", method="HEAD")
    with faulty.open(f"{ROOT}/deep/b.csv") as file:
        front.fault = times(2, "503")
        assert file.read() == b"x\ndeep/b.csv\n"


def test_a_store_that_does_not_answer_is_given_up(lake: S3Server, front: Front) -> None:
    front.fault = lambda method, path: "hang"
    began = time.monotonic()
    with pytest.raises(Unavailable, match=r"The input store s3://lake has not answered"):
        source_at(front.url, timeout_s=0.5).open(f"{ROOT}/deep/b.csv")
    assert time.monotonic() - began < 5


def test_a_read_that_breaks_off_is_continued(faulty: InputSource, front: Front, lake: S3Server) -> None:
    data = bytes(range(256)) * 4096
    lake.put("lake/in/cut/big.bin", data)
    with faulty.open(f"{ROOT}/cut/big.bin") as file:
        front.fault = times(2, "cut")
        assert file.read() == data
        file.seek(1000)
        front.fault = times(1, "cut")
        assert file.read(500_000) == data[1000:501_000]
    assert [m for m, _ in front.seen].count("GET") >= 5


def test_a_read_that_keeps_breaking_off_names_the_file(faulty: InputSource, front: Front) -> None:
    with faulty.open(f"{ROOT}/deep/b.csv") as file:
        front.fault = lambda method, path: "cut" if method == "GET" else None
        with pytest.raises(Unavailable, match=r"'s3://lake/in/deep/b\.csv' (broke off at byte|cannot be read)"):
            file.read()


def test_a_file_that_is_replaced_within_one_second_is_found_by_its_etag(source: InputSource, lake: S3Server) -> None:
    until_next_second()
    lake.put("lake/in/replaced/x.csv", b"x\n1\n")
    (listed,) = source.list(f"{ROOT}/replaced", Choice())
    before = source.check_unchanged(listed)
    lake.put("lake/in/replaced/x.csv", b"x\n2\n")
    assert source.stat(listed.path).is_same(listed), "its size and time are as before"
    with pytest.raises(StateConflict, match=r"'s3://lake/in/replaced/x\.csv' changed"):
        source.check_unchanged(before)
