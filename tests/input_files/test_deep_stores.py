"""The deep store does the same in a local folder, in an S3 store and in a Google Cloud Storage."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from segments.errors import InvalidInput, NotFound
from segments.gateways.deep_store.access import StoreAccess
from segments.gateways.deep_store.deepstore import DeepStore
from tests.input_files.gcs_server import BUCKET, GcsServer
from tests.s3_server import KEYS, S3Server


@pytest.fixture(params=["local", "s3", "gs"])
def store(request: pytest.FixtureRequest, tmp_path: Path, s3: S3Server, gcs: GcsServer) -> DeepStore:
    if request.param == "local":
        return DeepStore(f"file://{tmp_path}/deep")
    if request.param == "gs":
        return DeepStore(f"gs://anonymous@{BUCKET}/{uuid.uuid4()}", access=StoreAccess(gcs.url))
    s3.make_bucket("deep-store")
    login = (KEYS["AWS_ACCESS_KEY_ID"], KEYS["AWS_SECRET_ACCESS_KEY"])
    return DeepStore(f"s3://deep-store/{uuid.uuid4()}", access=StoreAccess(s3.url, "us-east-1", *login))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "segment.tar.gz"
    found.write_bytes(bytes(range(256)) * 20_000)
    return found


def test_a_file_comes_back_as_it_was_put(store: DeepStore, file: Path, tmp_path: Path) -> None:
    assert store.put(file, "t/s%20a") == file.stat().st_size
    assert (store.size("t/s%20a"), store.size("t/none")) == (file.stat().st_size, None)
    assert store.fetch("t/s%20a", tmp_path / "back") == file.stat().st_size
    assert (tmp_path / "back").read_bytes() == file.read_bytes()
    with pytest.raises(NotFound, match="has no file 't/none'"):
        store.open("t/none")


def test_a_file_is_replaced_whole(store: DeepStore, file: Path) -> None:
    store.put(file, "t/s")
    store.write("t/s", b"second")
    assert store.read("t/s") == b"second"
    assert [f.name for f in store.files("t")] == ["s"]


def test_moving_and_copying_replace_the_target_and_say_when_there_is_nothing(store: DeepStore) -> None:
    store.write("t/a", b"a")
    store.write("t/b", b"b")
    assert store.copy("t/a", "u/c")
    assert store.move("t/a", "t/b")
    assert (store.read("t/a"), store.read("t/b"), store.read("u/c")) == (None, b"a", b"a")
    assert not store.move("t/a", "t/x")
    assert not store.copy("t/a", "t/x")


def test_files_and_folders_are_listed_by_name(store: DeepStore) -> None:
    for path in ("t/b", "t/a", "t/deep/c", "u/d"):
        store.write(path, path.encode())
    assert [(f.name, f.size, f.modified_ms > 0) for f in store.files("t")] == [("a", 3, True), ("b", 3, True)]
    assert (store.folders("t"), store.folders("none"), list(store.files("none"))) == (["deep"], [], [])


def test_deleting_takes_one_file_or_a_whole_folder_and_nothing_else(store: DeepStore) -> None:
    for path in ("t/a", "t/b", "t/deep/c", "t2/d"):
        store.write(path, b"x")
    assert store.delete("t/a")
    assert not store.delete("t/a")
    store.delete_folder("t")
    store.delete_folder("t")
    assert (list(store.files("t")), store.read("t2/d")) == ([], b"x")


def test_a_folder_of_the_store_is_a_store_and_addresses_lead_back(store: DeepStore) -> None:
    store.below("CLUSTERS/x").write("t/s", b"x")
    assert store.read("CLUSTERS/x/t/s") == b"x"
    assert store.path_of(store.uri("t/s")) == "t/s"
    assert store.path_of(store.uri("t/%2e%2e/s")) is None
    with pytest.raises(InvalidInput):
        store.write("../x", b"x")
