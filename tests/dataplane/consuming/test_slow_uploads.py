"""A deep store that takes minutes or never answers: rows are queryable as they come, commits go on, memory is bounded,
records follow.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segments.clusters.embedded.segments.deep_store_upload import upload_missing
from segments.dataplane.server.consuming.commit.uploads import Build, Uploader
from segments.dataplane.server.held.segment_folders import SegmentFolders
from segments.gateways.controller_protocol import Report
from segments.gateways.deep_store.deepstore import DeepStore
from segments.names import REALTIME, TableName
from tests.dataplane.consuming_world import RT, ConsumingWorld
from tests.dataplane.world import poll

PEERS = {"peerSegmentDownloadScheme": "http"}


class SlowStore:
    """Holds every upload to a deep store until ``answers`` is set. ``under_way`` counts those that wait, ``paths``
    names what came.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers, self.under_way, self.paths = threading.Event(), 0, list[str]()
        put, lock = DeepStore.put, threading.Lock()

        def slow(store: DeepStore, source: Path, path: str) -> int:
            with lock:
                self.under_way += 1
            self.answers.wait(60)
            with lock:
                self.under_way -= 1
                self.paths.append(path)
            return put(store, source, path)

        monkeypatch.setattr(DeepStore, "put", slow)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowStore]:
    """A deep store that takes as long as the test wants."""
    made = SlowStore(monkeypatch)
    yield made
    made.answers.set()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConsumingWorld]:
    """An empty cluster."""
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


def seen(broker: Any) -> list[int]:
    """Rows, different ids and the last of them, as a query sees them."""
    answer = broker.query("select count(*), distinctcount(id), max(n) from r")
    return [int(v) for v in answer["resultTable"]["rows"][0]] if not answer["exceptions"] else []


def test_where_peers_can_serve_commits_do_not_wait_for_the_deep_store_and_records_follow_later(
    world: ConsumingWorld, slow: SlowStore
) -> None:
    world.create_realtime(rows=100, servers=(1, 2), segments=PEERS)
    for number in (1, 2):
        world.start_server(number, consuming={"peer_wait_s": 0.1})
    world.send(550)
    poll(lambda: len(world.chain()) == 6, 15, "five commits while nothing is uploaded")
    world.settled()
    done = world.chain()[:5]
    assert {world.fields(s)["segment.download.url"] for s in done} == {""}
    for number in (1, 2):
        world.exact(number)
    slow.answers.set()
    poll(lambda: slow.under_way == 0, what="the late uploads came")
    poll(lambda: not upload_missing(world.ctx, TableName("r", REALTIME))[1], what="records are repaired")
    assert {world.fields(s)["segment.download.url"] == "" for s in done} == {False}
    assert sum(done[0] in path for path in slow.paths) <= 2, (
        "the late upload is taken; at most the other replica uploaded it, too"
    )


def test_rows_stay_queryable_at_once_while_a_commit_waits_for_minutes_and_segments_end_at_their_limit(
    world: ConsumingWorld, slow: SlowStore
) -> None:
    world.create_realtime(rows=100)
    world.start_server()
    broker = world.start_broker()
    for count in (150, 40, 200, 60):
        world.send(count)
        poll(lambda: seen(broker) == [world.sent, world.sent, world.sent - 1], 2.0, "rows behind a commit that waits")
    assert len(world.chain()) == 1, "the first commit still waits"
    slow.answers.set()
    faults = []
    while len(world.chain()) < 5 or not world.is_settled():
        if (now := seen(broker)) != [450, 450, 449]:
            faults.append(now)
    assert faults == [], "rows do not go back and are not doubled while the segments are committed one after the other"
    assert [world.fields(s)["segment.total.docs"] for s in world.chain()[:4]] == ["100"] * 4
    world.chain_is_whole()
    world.send(5)
    poll(lambda: seen(broker) == [455, 455, 454], 2.0, "rows that came afterwards")


def test_what_is_read_behind_a_commit_is_bounded_by_memory(world: ConsumingWorld, slow: SlowStore) -> None:
    world.create_realtime(rows=100)
    server = world.start_server(consuming={"ahead_bytes": 10_000})
    broker = world.start_broker()
    world.send(2_000)
    tails = server.consumers.tails
    poll(lambda: tails.unowned_bytes() >= 10_000, what="the memory is used")
    poll(lambda: (rows := seen(broker)) and 200 < rows[0] < 1_000, what="as many rows as fit")
    assert tails.unowned_bytes() < 20_000
    slow.answers.set()
    poll(lambda: seen(broker) == [2_000, 2_000, 1_999], 20, "all rows")
    world.chain_is_whole()
    world.exact(1)


def test_rows_read_far_ahead_are_dropped_when_the_table_is_dropped(world: ConsumingWorld, slow: SlowStore) -> None:
    from segments.store import paths

    world.create_realtime(rows=100)
    server = world.start_server()
    world.send(450)
    poll(lambda: server.consumers.tails.unowned_bytes() > 0, what="rows far ahead")
    world.store.delete(paths.ideal_state(RT))
    poll(lambda: server.consumers.tails.unowned_bytes() == 0, what="dropped")
    poll(
        lambda: not [t for t in threading.enumerate() if t.name.startswith("ahead-r__")],
        what="nothing reads ahead any more",
    )


def segment(folder: Path, name: str) -> Path:
    """A folder that can be packed."""
    made = folder / "made" / name
    made.mkdir(parents=True)
    (made / "metadata.properties").write_text(name)
    return made


def test_uploads_that_hang_hold_nobody_else_and_what_they_bring_late_is_taken_or_removed(
    tmp_path: Path, slow: SlowStore
) -> None:
    uploader = Uploader(
        DeepStore(f"file://{tmp_path}/store"), None, 300.0, SegmentFolders(tmp_path / "server").workspace
    )  # type: ignore[arg-type]

    def upload(name: str, wait_s: float = 0.05, *, is_optional: bool = False) -> str | None:
        folder = tmp_path / "made" / name
        build = Build("r", name, 1)
        folder = folder if folder.exists() else segment(tmp_path, name)
        report, more = Report(name, "Server_a_1", ""), {"wait_s": wait_s, "is_optional": is_optional}
        return uploader.upload(build, folder, tmp_path, report, through_controller=False, **more)  # type: ignore[arg-type]

    began = time.monotonic()
    assert [upload(f"s{n}") for n in range(6)] == [None] * 6
    assert time.monotonic() - began < 5
    assert upload("s0") is None
    assert slow.under_way == 6, "asking again waits for the upload that is under way"
    assert upload("optional", is_optional=True) is None
    assert slow.under_way == 6, "a commit that can do without begins none while others are late"
    uploader.forget("r", "s1")
    slow.answers.set()
    for name in ("s0", "s2"):
        location = upload(name, 10.0)
        assert location is not None
        assert name in location
    stored = tmp_path / "store" / "r"
    poll(lambda: slow.under_way == 0 and not list(stored.glob("s1.tmp.*")), what="what nobody wants is removed")
    assert len(list(stored.glob("s0.tmp.*"))) == 1
    assert upload("optional", 10.0, is_optional=True) is not None
    poll(lambda: not _tars(tmp_path / "server" / ".work"), what="no tar is left")


def test_without_a_place_nothing_is_uploaded_and_a_failure_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = SegmentFolders(tmp_path / "server").workspace
    folder, report, build = segment(tmp_path, "s"), Report("s", "Server_a_1", ""), Build("r", "s", 1)
    none = Uploader(None, None, 1.0, workspace)  # type: ignore[arg-type]  # no message is sent
    assert none.upload(build, folder, tmp_path, report, through_controller=False) is None
    uploader = Uploader(DeepStore(f"file://{tmp_path}/store"), None, 5.0, workspace)  # type: ignore[arg-type]
    with monkeypatch.context() as broken:
        broken.setattr(DeepStore, "put", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        assert uploader.upload(build, folder, tmp_path, report, through_controller=False) is None
    assert uploader.upload(build, folder, tmp_path, report, through_controller=False) is not None
    uploader.close()
    assert uploader.upload(build, folder, tmp_path, report, through_controller=False) is None


def _tars(folder: Path) -> list[str]:
    """Names of tars below it, also while folders in it are removed."""
    return [name for _, _, names in os.walk(folder) for name in names if name.endswith(".tar.gz")]
