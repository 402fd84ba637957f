"""Servers of an installation without any deep store, and of one whose servers reach it by another address or not at
all.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from segments.gateways.deep_store.no_deep_store import NoDeepStore
from tests.dataplane.consuming_world import ConsumingWorld, instance
from tests.dataplane.world import poll

PEERS = {"peerSegmentDownloadScheme": "http"}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConsumingWorld]:
    """An empty cluster."""
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


def test_without_a_deep_store_rows_are_committed_served_and_fetched_from_peers_by_a_wiped_server(
    world: ConsumingWorld,
) -> None:
    world.deep_store = NoDeepStore()
    world.ctx = world.controller.ctx = replace(world.ctx, deep_store=world.deep_store)
    world.create_realtime(rows=50, servers=(1, 2), segments=PEERS)
    for number in (1, 2):
        world.start_server(number)
    world.send(170)
    poll(lambda: len(world.chain()) == 4, what="three commits")
    world.settled()
    assert {world.fields(s)["segment.download.url"] for s in world.chain()[:3]} == {""}
    world.servers[1].stop()
    shutil.rmtree(world.folder / "server-1")
    world.send(20)
    world.exact(2)
    world.start_server(1)
    poll(lambda: world.view(world.chain()[0]).get(instance(1)) == "ONLINE", what="segments from the other server")
    world.settled()
    for number in (1, 2):
        world.exact(number)


def test_servers_that_reach_the_deep_store_by_another_address_put_its_own_address_on_record(
    world: ConsumingWorld,
) -> None:
    mount = world.folder / "mount"
    mount.symlink_to(world.folder / "deepstore")
    world.create_realtime(rows=50)
    world.start_server(segment_store_url=f"file://{mount}")
    world.send(60)
    poll(lambda: len(world.chain()) == 2, what="a commit")
    world.settled()
    done = world.chain()[0]
    poll(lambda: world.deep_store.size(world.deep_store.segment_path("r", done)) is not None, what="its file")
    assert "mount" not in world.fields(done)["segment.download.url"]


def test_servers_that_do_not_reach_the_deep_store_upload_through_the_web_process(world: ConsumingWorld) -> None:
    world.create_realtime(rows=50)
    world.start_server(segment_store_url="")
    world.send(60)
    poll(lambda: len(world.chain()) == 2, what="a commit")
    place = world.deep_store.segment_path("r", world.chain()[0])
    poll(lambda: world.deep_store.size(place) is not None, what="its file")


@pytest.mark.parametrize(("said", "through"), [(None, True), ("true", False)])
def test_uploads_through_the_web_process_are_the_servers_default_and_a_table_can_say_otherwise(
    world: ConsumingWorld, monkeypatch: pytest.MonkeyPatch, said: str | None, through: bool
) -> None:
    uploads: list[str] = []
    upload = world.controller.upload
    monkeypatch.setattr(
        type(world.controller),
        "upload",
        lambda _self, report, tar: uploads.append(report.segment) or upload(report, tar),
    )
    world.create_realtime(rows=50, stream={"realtime.segment.serverUploadToDeepStore": said} if said else {})
    world.start_server(consuming={"uploads_through_controller": True})
    world.send(60)
    poll(lambda: len(world.chain()) == 2, what="a commit")
    assert bool(uploads) is through
