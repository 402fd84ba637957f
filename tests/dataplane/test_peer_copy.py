"""Segments without a deep store: commits go through, copies come from other servers, always the right version (seed
002).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from segments.dataplane.server.held.tar_stream import GZIP, LZ4
from segments.domain.access.cluster_signature import SEAL_BYTES
from segments.domain.realtime.completion import Kind
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.gateways import controller_protocol as protocol
from segments.gateways.controller_protocol import Answer, Report
from segments.segmentfile import compute_crc, extract_tar
from segments.store import paths
from segments.store.records import messages
from segments.store.records.messages import send
from segments.store.update import update_record
from tests.dataplane.consuming_world import RT, ConsumingWorld, instance
from tests.dataplane.world import SECRET, TABLE, poll
from tests.signed import Signed

PEERS = {"peerSegmentDownloadScheme": "http"}
SIGNED = Signed(SECRET)
BOTH = dict.fromkeys([instance(1), instance(2)], "ONLINE")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConsumingWorld]:
    """An empty cluster."""
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


def commit(world: ConsumingWorld, segment: str) -> None:
    """Force a commit on both servers and wait for the record."""
    for number in world.servers:
        fields = {"tableName": RT, "segmentNames": segment}
        send(
            world.store,
            instance(number),
            messages.FORCE_COMMIT,
            resource=RT,
            session="*",
            new_id=world.ctx.new_id,
            now_ms=1,
            fields=fields,
        )
    poll(lambda: world.fields(segment)["segment.realtime.status"] == "DONE", what="DONE")


def test_without_a_deep_store_the_commit_succeeds_and_is_on_servers_only(world: ConsumingWorld) -> None:
    segment = world.create_realtime(servers=(1, 2), segments=PEERS)
    for number in (1, 2):
        world.start_server(number, segment_store_url="")
    world.send(20)
    commit(world, segment)
    assert world.fields(segment)["segment.download.url"] == ""
    world.settled()
    for number in (1, 2):
        world.exact(number)


def test_an_upload_that_fails_does_not_stop_the_commit_and_the_other_downloads_from_the_committer(
    world: ConsumingWorld,
) -> None:
    segment = world.create_realtime(
        servers=(1, 2), segments={**PEERS, "completionConfig": {"completionMode": "DOWNLOAD"}}
    )
    broken = world.folder / "no-folder"
    broken.write_text("a file where a folder should be")
    for number in (1, 2):
        world.start_server(number, segment_store_url=f"file://{broken}/below")
    world.send(20)
    commit(world, segment)
    assert world.fields(segment)["segment.download.url"] == ""
    poll(lambda: world.view(segment) == BOTH, what="both ONLINE")
    assert world.http.crcs(world.servers[1].admin_url, RT) == world.http.crcs(world.servers[2].admin_url, RT)
    assert {world.fields(segment)["segment.crc"]} == set(world.http.crcs(world.servers[1].admin_url, RT).values())
    for number in (1, 2):
        world.exact(number)


def test_without_a_peer_scheme_a_failed_upload_is_tried_again_until_it_works(world: ConsumingWorld) -> None:
    segment = world.create_realtime()
    shutil.rmtree(world.folder / "deepstore")
    (world.folder / "deepstore").write_text("not a folder")
    world.start_server()
    world.send(20)
    fields = {"tableName": RT, "segmentNames": segment}
    send(
        world.store,
        instance(1),
        messages.FORCE_COMMIT,
        resource=RT,
        session="*",
        new_id=world.ctx.new_id,
        now_ms=1,
        fields=fields,
    )
    poll(lambda: [h for h in world.controller.heard if h[0] == Kind.COMMIT_START], what="a try")
    assert world.fields(segment)["segment.realtime.status"] == "IN_PROGRESS"
    (world.folder / "deepstore").unlink()
    (world.folder / "deepstore").mkdir(exist_ok=True)  # the server that tries again may have been quicker
    poll(lambda: world.fields(segment)["segment.realtime.status"] == "DONE", 15, "DONE")
    world.settled()
    world.exact(1)


@pytest.mark.parametrize("mode", ["DEFAULT", "DOWNLOAD"])
def test_the_committer_crashes_with_the_only_copy(world: ConsumingWorld, mode: str) -> None:
    """DEFAULT: the other replica builds the same rows. DOWNLOAD: it cannot have them, and says so until the committer
    is back.
    """
    segment = world.create_realtime(servers=(1, 2), segments={**PEERS, "completionConfig": {"completionMode": mode}})
    crashed: list[int] = []

    def crash(kind: Kind, report: Report, answer: Answer) -> Answer:
        if kind is Kind.COMMIT_END and not crashed:
            crashed.append(int(report.instance.rpartition("_")[2]))
            world.servers[crashed[0]]._http.stop()  # nobody can fetch from it any more
        return answer

    world.controller.after = crash
    for number in (1, 2):
        world.start_server(number, segment_store_url="")
    world.send(20)
    world.exact(1)
    world.exact(2)
    commit(world, segment)
    committer = poll(lambda: crashed, what="the crash")[0]
    other = 3 - committer
    if mode == "DEFAULT":
        poll(lambda: world.view(segment).get(instance(other)) == "ONLINE", what="the other built it")
    else:
        poll(lambda: segment in world.servers[other].slots.errors(RT), what="a failed download")
        assert segment not in world.servers[other].slots.serving(RT)
    world.exact(other)  # what it read answers all the time
    world.servers[committer].stop()
    world.start_server(committer, segment_store_url="")
    poll(lambda: world.view(segment) == BOTH, 15, what="both ONLINE")
    world.exact(committer)
    world.exact(other)


def test_the_committer_is_gone_but_the_deep_store_has_it(world: ConsumingWorld) -> None:
    segment = world.create_realtime(
        servers=(1, 2), segments={"completionConfig": {"completionMode": "DOWNLOAD"}, **PEERS}
    )
    for number in (1, 2):
        world.start_server(number)
    world.send(20)
    commit(world, segment)
    assert world.fields(segment)["segment.download.url"]
    poll(lambda: world.view(segment) == BOTH, what="both ONLINE")
    world.servers[1].stop()
    world.servers[2].stop()
    shutil.rmtree(world.folder / "server-2")
    world.start_server(2)
    poll(lambda: world.view(segment) == {instance(2): "ONLINE"}, what="from the deep store")
    world.exact(2)


def test_a_commit_end_without_a_reply_is_found_done_and_the_file_is_there_once(world: ConsumingWorld) -> None:
    segment = world.create_realtime(servers=(1, 2))
    lost: list[str] = []

    def lose(kind: Kind, report: object, answer: Answer) -> Answer:
        if kind is Kind.COMMIT_END and not lost:
            lost.append(answer.status)
            return Answer(protocol.NOT_SENT)
        return answer

    world.controller.after = lose
    for number in (1, 2):
        world.start_server(number)
    world.send(20)
    commit(world, segment)
    world.settled()
    assert lost == ["COMMIT_SUCCESS"]
    assert [f.name for f in world.deep_store.files("r") if f.name.startswith(segment)] == [segment]
    for number in (1, 2):
        world.exact(number)


def test_a_download_that_comes_too_early_is_tried_again(world: ConsumingWorld) -> None:
    """The record says DONE, on servers only, before the one that has it reports ONLINE."""
    world.create_table()
    world.start_server(1)
    world.push(["a"], servers=(1,))
    crc = int(world.store.get(paths.segment(TABLE, "a")).record.simple["segment.crc"])
    edit_config(world, PEERS)
    record = SegmentMetadata("a", {"segment.crc": str(crc), "segment.download.url": ""}).to_record()
    world.servers[1].stop()
    update_record(world.store, paths.segment(TABLE, "a"), lambda _: record)
    world.start_server(2)
    world.assign(["a"], servers=(1, 2))
    poll(lambda: world.states("a") == {instance(2): "ERROR"}, what="nobody has it yet")
    world.start_server(1)
    poll(lambda: world.states("a") == BOTH, what="both ONLINE")


def edit_config(world: ConsumingWorld, segments: dict[str, str]) -> None:
    """Change segmentsConfig of the OFFLINE table."""
    import json

    def decide(node):  # type: ignore[no-untyped-def]
        config = json.loads(node.record.simple["segmentsConfig"])
        return node.record.with_simple(segmentsConfig=json.dumps({**config, **segments}))

    update_record(world.store, paths.table_config(TABLE), decide)


def test_an_offline_table_never_takes_an_old_version_from_a_peer(world: ConsumingWorld) -> None:
    """Both are notified of a new version that the deep store lacks: they ask each other, and neither takes the old file
    for the new one.
    """
    world.create_table()
    world.start_server(1)
    world.start_server(2)
    world.push(["a"], servers=(1, 2))
    edit_config(world, PEERS)
    before = world.store.get(paths.segment(TABLE, "a")).record.simple["segment.crc"]
    record = SegmentMetadata(
        "a", {"segment.crc": "123", "segment.download.url": world.deep_store.uri("t/nothing")}
    ).to_record()
    update_record(world.store, paths.segment(TABLE, "a"), lambda _: record)
    for number in (1, 2):
        poll(lambda number=number: world.servers[number].slots.errors(TABLE).get("a"), what="the refresh fails")
        held = world.servers[number].slots.serving(TABLE)["a"]
        assert str(held.crc) == before


def test_a_peer_gives_only_the_version_that_is_asked_for(world: ConsumingWorld) -> None:
    world.create_table()
    world.start_server(1)
    world.push(["a"])
    held = world.servers[1].slots.serving(TABLE)["a"]
    url = f"{world.servers[1].admin_url}/segments/{TABLE}/a"
    assert httpx.get(url, params={"crc": held.crc + 1, "compression": LZ4}, auth=SIGNED).status_code == 404
    assert httpx.get(f"{world.servers[1].admin_url}/tables/{TABLE}/segments/a", auth=SIGNED).content[:2] == b"\x1f\x8b"
    assert httpx.get(url, params={"compression": "zip"}, auth=SIGNED).status_code == 400
    for compression in (GZIP, LZ4):
        body = httpx.get(url, params={"crc": held.crc, "compression": compression}, auth=SIGNED)
        tar = world.folder / f"got.{compression}"
        tar.write_bytes(body.content[:-SEAL_BYTES])
        assert compute_crc(extract_tar(tar, world.folder / compression)) == held.crc


def test_a_server_does_not_ask_itself(world: ConsumingWorld) -> None:
    from segments.dataplane.server.held.peer_addresses import Peers

    world.create_table()
    world.start_server(1)
    world.start_server(2)
    world.push(["a"], servers=(1, 2))
    assert Peers(world.store, instance(1)).urls(TABLE, "a", 5, only_copy=True) == []
    edit_config(world, PEERS)
    (url,) = Peers(world.store, instance(1)).urls(TABLE, "a", 5, only_copy=False)
    assert url.startswith(world.servers[2].admin_url)
    world.servers[2].stop()
    assert Peers(world.store, instance(1)).urls(TABLE, "a", 5, only_copy=False) == []


def test_a_segment_is_uploaded_when_the_controller_asks(world: ConsumingWorld) -> None:
    segment = world.create_realtime(servers=(1, 2), segments=PEERS)
    for number in (1, 2):
        world.start_server(number, segment_store_url="")
    world.send(20)
    commit(world, segment)
    world.settled()
    url = world.servers[1].admin_url
    assert (
        httpx.post(f"{url}/segments/{RT}/{segment}/upload", auth=SIGNED).status_code == 503
    )  # it has no place to put it
    world.servers[1].stop()
    world.start_server(1)
    poll(lambda: world.view(segment) == BOTH, what="both again")
    url = world.servers[1].admin_url
    location = httpx.post(f"{url}/segments/{RT}/{segment}/upload", auth=SIGNED).text
    tar = world.folder / "fetched"
    path = world.deep_store.path_of(location)
    assert path is not None
    world.deep_store.fetch(path, tar)
    assert str(compute_crc(extract_tar(tar, world.folder / "unpacked"))) == world.fields(segment)["segment.crc"]
    short = httpx.post(f"{url}/segments/{RT}/{segment}/uploadLLCSegment", auth=SIGNED).json()
    assert (short["segmentName"], str(short["crc"])) == (segment, world.fields(segment)["segment.crc"])
    assert short["downloadUrl"] != location
    record = httpx.post(f"{url}/segments/{RT}/{segment}/uploadCommittedSegment", auth=SIGNED).json()
    assert record["simpleFields"]["segment.realtime.status"] == "DONE"
    assert record["simpleFields"]["segment.total.docs"] == "20"
    assert record["simpleFields"]["segment.download.url"].startswith("store:///segments/r/")
    assert httpx.post(f"{url}/segments/{RT}/{world.chain()[1]}/upload", auth=SIGNED).status_code == 404
    assert httpx.post(f"{url}/segments/r/{segment}/uploadLLCSegment", auth=SIGNED).status_code == 400
