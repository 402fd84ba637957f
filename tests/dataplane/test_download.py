"""Where a server takes a segment's file from, and that it is copied as it is, whatever its name ends with."""

from __future__ import annotations

import gzip
import http.server
import threading
from pathlib import Path

import pytest

from segments.dataplane.server.held.download import Downloader
from segments.dataplane.server.held.peer_download import ClusterFiles
from segments.dataplane.server.web_processes import WebProcesses
from segments.errors import InvalidInput, Unavailable
from segments.gateways.deep_store.deepstore import DeepStore
from segments.gateways.outgoing.fetch import FetchRules
from segments.gateways.signed_calls import CallSigner
from segments.store.memory import MemoryStore

CONTROLLER = "http://127.0.0.1:9"  # nobody listens there
DATA = gzip.compress(b"a segment " * 1000)


def downloader(store: DeepStore, elsewhere: FetchRules | None = None) -> Downloader:
    return Downloader(store, ClusterFiles(WebProcesses(MemoryStore(), [CONTROLLER]), CallSigner("secret")), elsewhere)


@pytest.mark.parametrize("name", ["s0", "s0.tar.gz", "s0.bz2"])
def test_a_file_outside_of_the_deep_store_arrives_byte_for_byte(tmp_path: Path, name: str) -> None:
    """The metadata push of Pinot's own job leaves ``file:/…/s0.tar.gz`` on record."""
    (tmp_path / name).write_bytes(DATA)
    files = downloader(DeepStore(str(tmp_path / "store")), FetchRules((f"file://{tmp_path}",)))
    for url in (f"file:{tmp_path}/{name}", f"file://{tmp_path}/{name}"):
        assert files.fetch(url, "t_OFFLINE", "s0", 1, tmp_path / "here") == len(DATA)
        assert (tmp_path / "here").read_bytes() == DATA
    with pytest.raises(InvalidInput):
        files.fetch(f"file://{tmp_path}/gone", "t_OFFLINE", "s0", 1, tmp_path / "here")


def test_the_deep_store_keeps_files_as_they_are(tmp_path: Path) -> None:
    source, store = tmp_path / "source", DeepStore(str(tmp_path / "store"))
    source.write_bytes(DATA)
    for path in ("t/s0", "t/s0.tar.gz"):
        store.put(source, path)
        store.fetch(path, tmp_path / "here")
        assert (tmp_path / "here").read_bytes() == (tmp_path / "store" / path).read_bytes() == DATA


URL = f"{CONTROLLER}/segments/t/s"


@pytest.fixture
def store(tmp_path: Path) -> DeepStore:
    return DeepStore(f"file://{tmp_path}/deepstore")


def put(store: DeepStore, path: str, content: bytes) -> None:
    store.write(path, content)


def test_a_file_that_still_waits_for_its_name_is_the_one_that_the_record_names(
    tmp_path: Path, store: DeepStore
) -> None:
    put(store, store.segment_path("t", "s"), b"the version before")
    put(store, store.staged_path("t", "s", 7), b"version 7")
    target = tmp_path / "got"
    downloader(store).fetch(URL, "t_OFFLINE", "s", 7, target)
    assert target.read_bytes() == b"version 7"
    downloader(store).fetch(URL, "t_OFFLINE", "s", 6, target)
    assert target.read_bytes() == b"the version before"


class Remote(DeepStore):
    """A store that is no folder, and that this server does not reach at its address."""

    local_root = None

    def fetch(self, path: str, target: Path) -> int:
        """Nothing."""
        raise AssertionError(f"{path} was asked of a store that is not reached")


def test_a_server_that_does_not_reach_the_deep_store_asks_web_processes_or_another_address(
    tmp_path: Path, store: DeepStore
) -> None:
    put(store, store.segment_path("t", "s"), b"the file")
    remote, target = Remote(store.url), tmp_path / "got"
    files = ClusterFiles(WebProcesses(MemoryStore(), [CONTROLLER]), CallSigner("secret"))
    address = f"store:///segments/{store.segment_path('t', 's')}"
    with pytest.raises(Unavailable, match=f"{CONTROLLER}/segments/t/s.*could not be read"):
        Downloader(remote, files).fetch(address, "t_OFFLINE", "s", 7, target)
    Downloader(remote, files, reached=store).fetch(address, "t_OFFLINE", "s", 7, target)
    assert target.read_bytes() == b"the file"


def test_what_the_local_deep_store_lacks_is_asked_of_the_controller(tmp_path: Path, store: DeepStore) -> None:
    with pytest.raises(Unavailable, match="could not be read"):
        downloader(store).fetch(URL, "t_OFFLINE", "s", 7, tmp_path / "got")


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest",
        "http://127.0.0.1:1/s",
        "http://localhost:1/s",
        "file:///etc/passwd",
        "file:/etc/passwd",
        "s3://bucket/s",
        "s3://bucket/s?endpoint_override=127.0.0.1:1&scheme=http",
        "hdfs://127.0.0.1:1/s",
        "http://[::1",
        "http://127.0.0.1:9@evil/segments/t/s",
        "{store}/other/s",
        "{store}/../secret",
        "gopher://127.0.0.1:1/",
    ],
)
def test_a_record_whose_address_nothing_allows_is_not_followed(tmp_path: Path, store: DeepStore, url: str) -> None:
    """Who may push to one table writes the address into the record: other tables' files are as foreign as other
    machines.
    """
    put(store, "other/s", b"another table's")
    files = downloader(store, FetchRules((f"file://{tmp_path}/drop",)))
    with pytest.raises(InvalidInput):
        files.fetch(url.format(store=store.url), "t_OFFLINE", "s", 7, tmp_path / "got")
    assert not (tmp_path / "got").exists()


def test_a_redirect_to_what_nothing_allows_is_not_followed(tmp_path: Path, store: DeepStore) -> None:
    seen: list[str] = []

    class Redirecting(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(f"{self.path} {self.headers['Authorization']}")
            self.send_response(302)
            self.send_header(
                "Location", f"http://169.254.169.254{self.path}?SECRET" if self.path == "/away" else "/loop"
            )
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirecting)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    files = downloader(store, FetchRules(loopback=True))
    for path in ("away", "loop"):
        with pytest.raises(InvalidInput, match="redirects") as refused:
            files.fetch(f"http://127.0.0.1:{server.server_address[1]}/{path}", "t_OFFLINE", "s", 7, tmp_path / "got")
        assert "SECRET" not in str(refused.value)
    server.shutdown()
    server.server_close()
    assert seen == ["/away None", *["/loop None"] * 6]
