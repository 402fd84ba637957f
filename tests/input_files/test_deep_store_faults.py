"""What the deep store does not do is one error for all of its methods, in stores of every kind: which store, which path
and what to do.
"""

from __future__ import annotations

import errno
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segments.errors import NotFound, Unavailable
from segments.gateways.deep_store.access import StoreAccess
from segments.gateways.deep_store.deepstore import DeepStore
from segments.gateways.deep_store.store_fault import StoreFault, store_fault
from tests.s3_server import KEYS, Front, S3Server

METHODS: dict[str, Callable[[DeepStore, Path], Any]] = {
    "put": lambda store, file: store.put(file, "t/s"),
    "fetch": lambda store, file: store.fetch("t/s", file.with_name("back")),
    "open": lambda store, file: store.open("t/s"),
    "size": lambda store, file: store.size("t/s"),
    "move": lambda store, file: store.move("t/s", "t/x"),
    "copy": lambda store, file: store.copy("t/s", "t/x"),
    "write": lambda store, file: store.write("t/s", b"x"),
    "read": lambda store, file: store.read("t/s"),
    "delete": lambda store, file: store.delete("t/s"),
    "delete_folder": lambda store, file: store.delete_folder("t/s"),
    "files": lambda store, file: list(store.files("t/s")),
    "folders": lambda store, file: store.folders("t/s"),
}


class Refusing:
    """A file system, or a file, that refuses all."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def refuse(*_: Any, **__: Any) -> Any:
            raise PermissionError(errno.EACCES, "Permission denied")

        return refuse


@pytest.fixture(params=["local", "s3", "mock"])
def refusing(request: pytest.FixtureRequest, tmp_path: Path, s3: S3Server, front: Front) -> DeepStore:
    if request.param == "s3":
        s3.make_bucket("refusing")
        front.fault = lambda method, path: "403"
        access = StoreAccess(front.url, "us-east-1", KEYS["AWS_ACCESS_KEY_ID"], KEYS["AWS_SECRET_ACCESS_KEY"])
        return DeepStore(f"s3://refusing/{uuid.uuid4()}", access=access)
    store = DeepStore(f"file://{tmp_path}/deep" if request.param == "local" else "mock:///deep")
    store._fs._files = Refusing()
    return store


@pytest.mark.parametrize("method", METHODS)
def test_what_a_store_refuses_names_the_store_and_the_path_and_says_what_to_do(
    refusing: DeepStore, method: str, tmp_path: Path
) -> None:
    file = tmp_path / "segment.tar.gz"
    file.write_bytes(b"rows")
    with pytest.raises(StoreFault) as caught:
        METHODS[method](refusing, file)
    fault = caught.value
    assert (fault.status, fault.permanent, fault.data["store"]) == (503, False, refusing.url)
    assert fault.data["path"] in ("t/s", "t")
    assert f"The deep store {refusing.url} could not " in fault.message
    assert fault.data["path"] in fault.message
    assert "Check the login of the deep store" in fault.remedy
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in f"{fault}{fault.data}"


def test_a_stream_that_breaks_off_is_such_a_fault_too(tmp_path: Path) -> None:
    store = DeepStore(f"file://{tmp_path}")
    store.write("t/s", b"rows")
    with store.open("t/s") as file:
        file._file, whole = Refusing(), file._file
        with pytest.raises(StoreFault, match="could not read 't/s'"):
            file.read()
        file._file = whole


def test_folders_that_went_meanwhile_are_a_fault_for_who_writes_and_nothing_for_who_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DeepStore(f"file://{tmp_path}")
    store.write("t/s", b"rows")
    monkeypatch.setattr(store, "size", lambda _: 4)
    assert not store.delete("t/none")
    assert not store.move("t/none", "t/x")
    assert not store.copy("t/none", "t/x")
    monkeypatch.setattr(store._fs, "create_dir", lambda *_, **__: None)
    with pytest.raises(StoreFault, match="could not write 'gone/s"):
        store.write("gone/s", b"rows")
    with pytest.raises(NotFound):
        store.open("gone/s")


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "Make room there"),
        (OSError("AWS Error ACCESS_DENIED during PutObject operation: no"), "Check the login of the deep store"),
        (OSError(errno.EROFS, "Read-only file system"), "Check the login of the deep store"),
        (OSError("AWS Error NETWORK_CONNECTION during PutObject operation: curlCode: 7"), "this machine reaches it"),
    ],
)
def test_the_remedy_fits_the_cause(error: OSError, remedy: str) -> None:
    fault = store_fault("s3://bucket/deep", "write", "t/s", error)
    assert isinstance(fault, Unavailable)
    assert remedy in fault.remedy
