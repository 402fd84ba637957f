"""The server: what is assigned gets loaded, checked, reported, served, refreshed and dropped."""

from __future__ import annotations

import httpx
import pytest

from segments.errors import Rejected
from segments.store import paths
from segments.store.records.messages import REFRESH_SEGMENT, RELOAD_SEGMENT, send
from tests.dataplane.world import SECRET, TABLE, World, poll, schema_of
from tests.signed import Signed

ME = "Server_127.0.0.1_1"
COUNT = "select v, count(*) from t group by v"


def ask(world: World, number: int, *segments: str, **more: object) -> object:
    """The server's own part, through HTTP."""
    request = {"sql": COUNT, "table": TABLE, "segments": list(segments), "requestId": "1", **more}
    return world.http.query(world.servers[number].admin_url, request, 10.0)


def test_an_assigned_segment_is_loaded_and_reported_online(world: World) -> None:
    world.create_table()
    world.start_server()
    world.push(["a"])
    assert world.states("a") == {ME: "ONLINE"}
    assert ask(world, 1, "a").partial  # type: ignore[attr-defined]
    assert world.http.segments(world.servers[1].admin_url, TABLE) == ["a"]


def test_segments_that_come_together_need_few_writes(world: World) -> None:
    world.create_table()
    world.start_server()
    names = [f"s{i}" for i in range(40)]
    world.push(names)
    node = world.store.get(paths.external_view(TABLE))
    assert node.version < 25


def test_a_segment_with_a_wrong_crc_is_in_error_and_never_served_until_the_record_is_right(world: World) -> None:
    world.create_table()
    server = world.start_server()
    crc = world.build("a")
    world.record("a", crc + 1)
    world.assign(["a"])
    poll(lambda: world.states("a") == {ME: "ERROR"}, what="ERROR")
    assert str(crc + 1) in server.slots.errors(TABLE)["a"]
    assert ask(world, 1, "a").missing == ("a",)  # type: ignore[attr-defined]
    world.record("a", crc)
    poll(lambda: world.states("a") == {ME: "ONLINE"}, what="ONLINE after the repair")
    assert not server.slots.errors(TABLE)


def test_bytes_that_do_not_have_the_claimed_crc_are_refused(world: World) -> None:
    """creation.meta says what the record says, but a byte of the data was changed (rule `crc-of-the-bytes`)."""
    import tarfile

    world.create_table()
    server = world.start_server()
    crc = world.build("a")
    folder = world.folder / "build" / "a" / "v3"
    data = bytearray((folder / "columns.psf").read_bytes())
    data[-1] ^= 1
    (folder / "columns.psf").write_bytes(data)
    with tarfile.open(world.folder / "bad.tar.gz", "w:gz") as tar:
        tar.add(world.folder / "build" / "a", "a")
    world.deep_store.put(world.folder / "bad.tar.gz", world.deep_store.segment_path("t", "a"))
    world.record("a", crc)
    world.assign(["a"])
    poll(lambda: world.states("a") == {ME: "ERROR"}, what="ERROR")
    assert "CRC" in server.slots.errors(TABLE)["a"]


@pytest.mark.parametrize("has_message", [True, False])
def test_a_refreshed_segment_is_swapped(world: World, has_message: bool) -> None:
    world.create_table()
    server = world.start_server()
    world.push(["a"], rows=3)
    crc = world.build("a", rows=5)
    world.record("a", crc)
    if has_message:
        send(
            world.store, ME, REFRESH_SEGMENT, resource=TABLE, partition="a", session="*", new_id=lambda: "m1", now_ms=1
        )
    poll(lambda: server.slots.serving(TABLE)["a"].crc == crc, what="the new file")
    assert server.slots.serving(TABLE)["a"].num_docs == 5
    assert world.states("a") == {ME: "ONLINE"}
    poll(lambda: world.store.children(paths.messages(ME)) == [], what="an empty queue")


def test_a_forced_reload_downloads_again(world: World) -> None:
    world.create_table()
    server = world.start_server()
    world.push(["a"])
    before = server.slots.serving(TABLE)["a"]
    fields = {"forceDownload": "true"}
    send(world.store, ME, RELOAD_SEGMENT, resource=TABLE, session="*", new_id=lambda: "m1", now_ms=1, fields=fields)
    poll(lambda: server.slots.serving(TABLE)["a"] is not before, what="another copy")
    assert world.states("a") == {ME: "ONLINE"}


def test_a_dropped_segment_leaves_the_view_at_once_and_answers_for_the_grace_time_only(world: World) -> None:
    world.create_table()
    server = world.start_server(drop_grace_s=0.6)
    world.push(["a", "b"])
    world.unassign("a")
    poll(lambda: world.states("a") == {}, what="out of the view")
    assert ask(world, 1, "a").partial  # type: ignore[attr-defined]
    poll(lambda: ask(world, 1, "a").missing == ("a",), what="gone")  # type: ignore[attr-defined]
    poll(lambda: not (world.folder / "server-1" / TABLE / "a").exists(), what="off the disk")
    assert sorted(server.slots.serving(TABLE)) == ["b"]
    world.assign(["a"])
    poll(lambda: world.states("a") == {ME: "ONLINE"}, what="back again")


def test_a_name_that_comes_back_with_another_file_never_shows_the_old_one(world: World) -> None:
    world.create_table()
    server = world.start_server()
    world.push(["a"], rows=3)
    world.unassign("a")
    poll(lambda: world.states("a") == {}, what="out of the view")
    world.record("a", world.build("a", rows=7))
    world.assign(["a"])
    poll(lambda: world.states("a") == {ME: "ONLINE"}, what="back again")
    assert server.slots.serving(TABLE)["a"].num_docs == 7


def test_a_dropped_table_leaves_nothing(world: World) -> None:
    world.create_table()
    world.start_server(drop_grace_s=0.1)
    world.push(["a"])
    world.store.delete(paths.ideal_state(TABLE))
    poll(lambda: world.store.get(paths.external_view(TABLE)) is None, what="no external view")
    poll(lambda: not (world.folder / "server-1" / TABLE).exists(), what="no folder")
    assert world.store.children(f"{paths.INSTANCES}/{ME}/CURRENTSTATES/{world.stores[0].session_id()}") == []


def test_a_restarted_server_reuses_what_is_right_and_removes_what_nobody_wants(world: World) -> None:
    world.create_table()
    world.start_server()
    world.push(["a", "b", "c"])
    world.servers[1].stop()
    assert world.states("a") == {}
    world.unassign("b")
    world.record("c", world.build("c", rows=2))
    world.deep_store.delete(world.deep_store.segment_path("t", "a"))
    server = world.start_server()
    poll(lambda: [world.states(n) for n in "abc"] == [{ME: "ONLINE"}, {}, {ME: "ONLINE"}], what="a and c ONLINE")
    assert server.slots.serving(TABLE)["c"].num_docs == 2
    assert not (world.folder / "server-1" / TABLE / "b").exists()


def test_a_new_session_reports_everything_again(world: World) -> None:
    world.create_table()
    world.start_server()
    world.push(["a"])
    before = world.stores[0].session_id()
    world.stores[0].expire_session()  # type: ignore[attr-defined]
    session = world.stores[0].session_id()
    assert session != before
    poll(lambda: world.store.get(paths.live_instance(ME)) is not None, what="joined again")
    poll(lambda: world.store.get(paths.current_state(ME, session, TABLE)) is not None, what="reported again")
    poll(lambda: world.states("a") == {ME: "ONLINE"}, what="in the view again")
    poll(lambda: world.store.children(f"/INSTANCES/{ME}/CURRENTSTATES") == [session], what="old session removed")


def test_survivors_prune_the_rows_of_a_dead_server(world: World) -> None:
    world.create_table()
    world.start_server(1)
    world.start_server(2)
    world.push(["a"], servers=(1, 2))
    world.stores[0].close()
    poll(lambda: world.states("a") == {"Server_127.0.0.1_2": "ONLINE"}, what="only the survivor")


def test_a_failed_download_is_tried_again(world: World) -> None:
    world.create_table()
    world.start_server()
    crc = world.build("a")
    path = world.deep_store.segment_path("t", "a")
    world.deep_store.move(path, "elsewhere/a")
    world.record("a", crc)
    world.assign(["a"])
    poll(lambda: world.states("a") == {ME: "ERROR"}, what="ERROR")
    world.deep_store.move("elsewhere/a", path)
    poll(lambda: world.states("a") == {ME: "ONLINE"}, what="ONLINE once the file is there")


def test_size_crc_metadata_and_tar_of_a_segment(world: World) -> None:
    world.create_table()
    url = world.start_server().admin_url
    world.push(["a"], rows=4)
    size = world.http.table_size(url, TABLE)
    assert size.total_bytes == size.segments["a"] > 0
    crc = world.http.crcs(url, TABLE)["a"]
    signed = Signed(SECRET)
    metadata = httpx.get(f"{url}/tables/{TABLE}/segments/a/metadata", auth=signed).json()
    assert (metadata["crc"], metadata["totalDocs"]) == (crc, 4)
    tar = httpx.get(f"{url}/segments/{TABLE}/a", auth=signed)
    (world.folder / "copy.tar.gz").write_bytes(tar.content)
    from segments.segmentfile import compute_crc, extract_tar

    assert str(compute_crc(extract_tar(world.folder / "copy.tar.gz", world.folder / "copy"))) == crc
    assert httpx.get(f"{url}/segments/{TABLE}/zzz", auth=signed).status_code == 404


def test_a_query_that_cannot_be_answered_is_refused_with_pinots_code(world: World) -> None:
    world.create_table()
    world.start_server()
    world.push(["a"])
    with pytest.raises(Rejected) as caught:
        ask(world, 1, "a", sql="select nothing_like_it from t")
    assert caught.value.data["error_code"] == 710


def test_a_server_plans_with_the_brokers_schema_and_asks_for_it_once(world: World) -> None:
    world.create_table()
    world.start_server()
    world.push(["a"])
    assert ask(world, 1, "a", schemaVersion=77).needs_schema  # type: ignore[attr-defined]
    assert ask(world, 1, "a", schemaVersion=77, schema=schema_of().body).partial  # type: ignore[attr-defined]
    assert ask(world, 1, "a", schemaVersion=77).partial  # type: ignore[attr-defined]
