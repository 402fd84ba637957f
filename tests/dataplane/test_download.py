"""Where a server takes a segment's file from when the deep store is on its own machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.dataplane.server.download import Downloader
from segments.errors import Unavailable
from segments.gateways.deepstore import DeepStore

CONTROLLER = "http://127.0.0.1:9"  # nobody listens there
URL = f"{CONTROLLER}/segments/t/s"


@pytest.fixture
def store(tmp_path: Path) -> DeepStore:
    return DeepStore(f"file://{tmp_path}/deepstore")


def put(store: DeepStore, path: str, content: bytes) -> None:
    store.write(path, content)


def test_a_file_that_still_waits_for_its_name_is_the_one_that_the_record_names(tmp_path: Path, store: DeepStore) -> None:
    put(store, store.segment_path("t", "s"), b"the version before")
    put(store, store.staged_path("t", "s", 7), b"version 7")
    target = tmp_path / "got"
    Downloader(store, CONTROLLER, "secret").fetch(URL, "t_OFFLINE", "s", 7, target)
    assert target.read_bytes() == b"version 7"
    Downloader(store, CONTROLLER, "secret").fetch(URL, "t_OFFLINE", "s", 6, target)
    assert target.read_bytes() == b"the version before"


def test_what_the_local_deep_store_lacks_is_asked_of_the_controller(tmp_path: Path, store: DeepStore) -> None:
    with pytest.raises(Unavailable, match="could not be read"):
        Downloader(store, CONTROLLER, "secret").fetch(URL, "t_OFFLINE", "s", 7, tmp_path / "got")
