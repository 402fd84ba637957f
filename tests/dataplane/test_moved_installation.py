"""Servers that lost their disks load everything again after the installation moved, whatever form records have; and
web processes are asked in turn.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from segments.dataplane.server.held.download import Downloader
from segments.dataplane.server.held.peer_download import ClusterFiles
from segments.dataplane.server.web_processes import WebProcesses
from segments.errors import InvalidInput, NotFound, Unavailable
from segments.gateways.deep_store.deepstore import DeepStore
from segments.gateways.deep_store.no_deep_store import NoDeepStore
from segments.gateways.signed_calls import CallSigner
from segments.store.memory import MemoryStore
from segments.store.records.cluster_setup import ensure_cluster
from segments.store.records.instances import join
from tests.dataplane.world import World, poll

NAMES = [f"s{n}" for n in range(6)]
FORMS: list[Callable[[str], str]] = [
    lambda name: f"store:///segments/t/{name}",
    lambda name: f"http://127.0.0.1:1/segments/t/{name}",  # nobody listens there any more
    lambda name: f"http://old-name.invalid/segments/t/{name}",
    lambda name: f"file:///was/there/before/t/{name}",
    lambda name: f"s3://bucket/prefix?endpoint_override=http://127.0.0.1:1&scheme=http/t/{name}",
    lambda name: f"file:/another/spelling/t/{name}",
]


def test_wiped_servers_of_a_moved_installation_load_every_segment(world: World) -> None:
    world.create_table()
    world.start_server()
    for name, form in zip(NAMES, FORMS, strict=True):
        world.record(name, world.build(name), url=form(name))
    world.servers[1].stop()
    shutil.rmtree(world.folder / "server-1", ignore_errors=True)
    shutil.move(world.folder / "deepstore", world.folder / "deep store elsewhere")
    world.deep_store = DeepStore(f"{world.folder}/deep store elsewhere")  # a path instead of an address, too
    world.start_server(controller_url="http://127.0.0.1:2")
    world.assign(NAMES)
    poll(lambda: all(world.states(n) == {"Server_127.0.0.1_1": "ONLINE"} for n in NAMES), what="all ONLINE")


@pytest.fixture
def store() -> MemoryStore:
    made = MemoryStore()
    ensure_cluster(made, "test")
    return made


class Webs(ClusterFiles):
    """Answers in the place of web processes: {base address: content, or what goes wrong}."""

    def __init__(self, webs: WebProcesses, answers: dict[str, bytes | Exception]) -> None:
        super().__init__(webs, CallSigner("secret"))
        self.answers, self.asked = answers, list[str]()

    def _fetch(self, url: str, target: Path) -> int:
        base = url.partition("/segments/")[0]
        self.asked.append(base)
        answer = self.answers.get(base, Unavailable(f"{base} does not answer."))
        if isinstance(answer, Exception):
            raise answer
        return target.write_bytes(answer)


def test_any_registered_web_process_serves_a_file(store: MemoryStore, tmp_path: Path) -> None:
    for port in (9001, 9002, 9003):
        join(store, f"Broker_127.0.0.1_{port}", "127.0.0.1", port, [])
    now = [100.0]
    webs = WebProcesses(store, ["http://127.0.0.1:9000"], clock=lambda: now[0])
    files = Webs(webs, {"http://127.0.0.1:9002": b"a segment"})
    downloader = Downloader(NoDeepStore(), files)
    for form in FORMS[:1]:
        downloader.fetch(form("s"), "t_OFFLINE", "s", 1, tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == b"a segment"
    files.asked.clear()
    for _ in range(5):
        downloader.fetch("store:///segments/t/s", "t_OFFLINE", "s", 1, tmp_path / "got")
        assert files.asked[-1] == "http://127.0.0.1:9002"
    assert len(files.asked) <= 5 + 3, "who did not answer is asked last for a while"
    now[0] += 3600
    assert set(webs.urls()) == {f"http://127.0.0.1:{port}" for port in (9000, 9001, 9002, 9003)}


def test_a_web_process_that_has_another_version_is_passed_over(store: MemoryStore, tmp_path: Path) -> None:
    join(store, "Broker_h_9001", "h", 9001, [])
    files = Webs(
        WebProcesses(store, ["http://127.0.0.1:9000"]), {"http://h:9001": b"old", "http://127.0.0.1:9000": b"new"}
    )
    target = tmp_path / "got"

    def check() -> None:
        if target.read_bytes() != b"new":
            raise InvalidInput("another version")

    Downloader(NoDeepStore(), files).fetch("store:///segments/t/s", "t_OFFLINE", "s", 1, target, check)
    assert target.read_bytes() == b"new"


def test_nobody_is_asked_for_another_tables_path_or_one_that_climbs(store: MemoryStore, tmp_path: Path) -> None:
    join(store, "Broker_h_9001", "h", 9001, [])
    deep_store = DeepStore(f"file://{tmp_path}/deepstore")
    deep_store.write("other/s", b"another table's")
    files = Webs(WebProcesses(store, []), {"http://h:9001": b"x"})
    for address in (
        "store:///segments/other/s",
        "store:///segments/t/../other/s",
        "store:///segments/t%2F..%2Fother/s",
        "store:///",
    ):
        with pytest.raises(InvalidInput):
            Downloader(deep_store, files).fetch(address, "t_OFFLINE", "s", 1, tmp_path / "got")
    with pytest.raises(NotFound):
        Downloader(deep_store, files).fetch("store:///segments/t/pushed.tar.gz", "t_OFFLINE", "s", 1, tmp_path / "got")
    assert files.asked == []
