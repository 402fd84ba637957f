"""A consuming server from outside: rows are there at once, segments end, are committed, followed, resumed; none is lost
or doubled.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from segments.dataplane.server.consuming import decisions
from segments.domain.realtime.completion import Kind
from segments.gateways import controller_protocol as protocol
from segments.gateways.controller_protocol import Answer, Report
from segments.store import paths
from segments.store.records import messages
from segments.store.records.messages import send
from tests.dataplane.consuming_world import RT, ConsumingWorld, instance, rows_of
from tests.dataplane.world import SECRET, poll
from tests.signed import Signed


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConsumingWorld]:
    """An empty cluster."""
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


def force(world: ConsumingWorld, *segments: str, number: int = 1) -> None:
    """FORCE_COMMIT as the controller sends it."""
    fields = {"tableName": RT, "segmentNames": ",".join(segments)}
    new_id = world.ctx.new_id
    send(
        world.store,
        instance(number),
        messages.FORCE_COMMIT,
        resource=RT,
        session="*",
        new_id=new_id,
        now_ms=1,
        fields=fields,
    )


def test_rows_are_visible_at_once_and_the_segment_is_reported_consuming(world: ConsumingWorld) -> None:
    segment = world.create_realtime()
    world.start_server()
    world.settled()
    assert world.view(segment) == {instance(1): "CONSUMING"}
    world.send(10)
    world.exact(1)
    broker = world.start_broker()
    poll(lambda: rows_of(broker, "select count(*), distinctcount(id) from r") == [[10, 10]], what="rows by SQL")


def test_a_segment_ends_at_exactly_its_row_limit_and_the_next_one_goes_on(world: ConsumingWorld) -> None:
    world.create_realtime(rows=100)
    world.start_server()
    world.send(350)
    poll(lambda: len(world.chain()) == 4, what="four segments")
    world.settled()
    world.exact(1)
    world.chain_is_whole()
    for segment in world.chain()[:3]:
        fields = world.fields(segment)
        assert (fields["segment.realtime.status"], fields["segment.total.docs"]) == ("DONE", "100")
        path = world.deep_store.path_of(fields["segment.download.url"])
        assert path is not None or fields["segment.download.url"].endswith(segment)


def test_replicas_build_the_same_file_and_nobody_downloads(world: ConsumingWorld) -> None:
    world.create_realtime(rows=100, servers=(1, 2))
    world.start_server(1)
    world.start_server(2)
    world.send(250)
    poll(lambda: len(world.chain()) == 3, what="three segments")
    world.settled()
    for number in (1, 2):
        world.exact(number)
        crcs = world.http.crcs(world.servers[number].admin_url, RT)
        assert crcs == {s: world.fields(s)["segment.crc"] for s in world.chain()[:2]}


def test_rows_never_go_back_while_segments_roll(world: ConsumingWorld) -> None:
    world.create_realtime(rows=200, servers=(1, 2))
    world.start_server(1)
    world.start_server(2)
    broker = world.start_broker()
    poll(
        lambda: broker.routing(RT) and broker.routing(RT).wanted and rows_of(broker, "select count(*) from r") == [[0]],
        what="routing",
    )  # type: ignore[union-attr]
    stop, faults, seen = threading.Event(), list[object](), [0]

    def read() -> None:
        while not stop.is_set():
            answer = broker.query("select count(*), distinctcount(id) from r")
            if answer["exceptions"]:
                faults.append(answer["exceptions"])
                continue
            rows, different = answer["resultTable"]["rows"][0]
            if rows != different or rows < seen[0]:
                faults.append((seen[0], rows, different))
            seen[0] = rows

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(60):
        world.send(25)
        poll(lambda: sum(world.rows_of(1).values()) >= world.sent - 400, what="the server keeps up")
    poll(lambda: seen[0] == world.sent, 30, "all rows seen")
    stop.set()
    reader.join()
    assert faults == []
    poll(lambda: len(world.chain()) == 8, what="the last commit")
    world.chain_is_whole()


@pytest.mark.parametrize("servers", [(1,), (1, 2)])
def test_a_force_commit_commits_within_a_second_and_the_next_segment_consumes(
    world: ConsumingWorld, servers: tuple[int, ...]
) -> None:
    segment = world.create_realtime(servers=servers)
    for number in servers:
        world.start_server(number)
    world.send(30)
    for number in servers:
        world.exact(number)
        force(world, segment, number=number)
    poll(lambda: world.fields(segment)["segment.realtime.status"] == "DONE", 1.0, "DONE")
    world.settled(1.0)
    world.send(5)
    for number in servers:
        world.exact(number, 1.0)
    assert world.fields(segment)["segment.realtime.endOffset"] == "30"


def test_rows_behind_a_full_segment_are_seen_while_it_waits_for_its_commit_and_counted_once_afterwards(
    world: ConsumingWorld,
) -> None:
    """In Pinot visible rows stand still from a segment's end until its successor is routed: half a second."""
    held = threading.Event()
    world.controller.before = lambda kind, _report: (
        None if held.is_set() or kind is not Kind.CONSUMED else Answer(protocol.HOLD)
    )
    world.create_realtime(rows=100, servers=(1, 2))
    world.start_server(1)
    world.start_server(2)
    broker = world.start_broker()
    poll(
        lambda: broker.routing(RT) and broker.routing(RT).wanted and rows_of(broker, "select count(*) from r") == [[0]],
        what="routing",
    )  # type: ignore[union-attr]

    def seen() -> list[int]:
        rows: list[list[int]] = broker.query("select count(*), distinctcount(id), max(n) from r")["resultTable"]["rows"]
        return rows[0]

    world.send(130)
    poll(lambda: seen() == [130, 130, 129], what="rows behind the end")
    assert len(world.chain()) == 1
    assert broker.query("select count(*) from r")["numSegmentsProcessed"] == 1
    world.send(20)
    poll(lambda: seen() == [150, 150, 149], what="later rows behind the end")
    held.set()
    found = [seen() for _ in range(20)]
    poll(lambda: len(world.chain()) == 2, what="the next segment")
    found += [seen() for _ in range(50)]
    assert {tuple(rows) for rows in found} == {(150, 150, 149)}
    world.settled()
    assert seen() == [150, 150, 149]
    world.exact(1)
    world.exact(2)


def test_rows_of_deleted_segments_do_not_come_back_as_the_tail_of_what_is_left(world: ConsumingWorld) -> None:
    world.create_realtime(rows=20)
    world.start_server(1)
    broker = world.start_broker()
    world.send(65)
    poll(lambda: len(world.chain()) == 4, what="four segments")
    world.settled()
    world.unassign(*world.chain()[2:], table=RT)
    poll(lambda: rows_of(broker, "select count(*) from r") == [[40]], what="the rows that are left")


def test_a_force_commit_that_comes_before_the_segment_is_not_lost(world: ConsumingWorld) -> None:
    world.start_server()
    force(world, "r__0__0__20260101T0000Z")
    poll(lambda: not world.store.children(paths.messages(instance(1))), what="message taken")
    segment = world.create_realtime()
    assert segment != "r__0__0__20260101T0000Z"
    force(world, segment)
    poll(lambda: len(world.chain()) == 2, what="committed")


def test_a_pause_in_the_ideal_state_is_enough_and_nothing_new_begins(world: ConsumingWorld) -> None:
    from segments.domain.realtime.pause import PauseState, with_pause

    segment = world.create_realtime(servers=(1, 2))
    world.start_server(1)
    world.start_server(2)
    world.send(7)
    world.exact(1)
    node = world.store.get(paths.ideal_state(RT))
    world.store.replace(paths.ideal_state(RT), with_pause(node.record, PauseState(paused=True)), node.version)
    poll(lambda: world.view(segment) == dict.fromkeys([instance(1), instance(2)], "ONLINE"), 1.5, "nothing consumes")
    assert world.chain() == [segment]
    world.exact(1)


def test_a_restarted_server_reads_again_from_the_records_start(world: ConsumingWorld) -> None:
    world.create_realtime(rows=100)
    world.start_server()
    world.send(150)
    poll(lambda: len(world.chain()) == 2, what="a commit")
    world.settled()
    world.exact(1)
    world.servers[1].stop()
    world.send(20)
    world.start_server(1)
    world.settled()
    world.exact(1)
    world.send(100)
    poll(lambda: len(world.chain()) == 3, what="the next commit")
    world.settled()
    world.exact(1)
    world.chain_is_whole()


def test_a_replica_that_begins_again_is_kept_out_of_queries_until_it_has_caught_up(world: ConsumingWorld) -> None:
    segment = world.create_realtime(servers=(1, 2))
    world.start_server(1)
    world.start_server(2)
    world.send(50)
    world.settled()
    world.exact(1)
    world.exact(2)
    world.servers[2].stop()
    assert world.view(segment) == {instance(1): "CONSUMING"}
    gate = threading.Event()
    server = world.servers[1]
    from segments.gateways.streams.memory import MemoryConsumer

    fetch = MemoryConsumer.fetch

    def slow(self: MemoryConsumer, start, **more):  # type: ignore[no-untyped-def]
        return fetch(
            self,
            start,
            **{**more, "max_messages": 50 if gate.is_set() else 10, "stop": None if gate.is_set() else start},
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryConsumer, "fetch", slow)
        world.start_server(2)
        poll(lambda: world.servers[2].slots.consuming(RT), what="consuming again")
        assert world.view(segment) == {instance(1): "CONSUMING"}
        gate.set()
        poll(lambda: world.view(segment) == dict.fromkeys([instance(1), instance(2)], "CONSUMING"), what="both")
    assert server.is_ready
    world.exact(2)


def test_a_stream_that_is_down_is_waited_for(world: ConsumingWorld) -> None:
    world.create_realtime()
    world.stream.is_down = True
    world.start_server()
    world.settled()
    poll(lambda: world.servers[1].slots.consuming(RT), what="worker")
    world.stream.is_down = False
    world.send(10)
    world.exact(1)


def test_expired_offsets_are_recorded_as_a_loss_with_their_range(world: ConsumingWorld) -> None:
    from segments.store.records.data_loss import read_data_loss

    segment = world.create_realtime()
    world.send(100)
    world.stream.expire("topic", 0, 40)
    world.start_server()
    poll(lambda: sum(world.rows_of(1).values()) == 60, what="the rows that are left")
    found = poll(lambda: read_data_loss(world.store, RT), what="the loss on record")
    assert [(x.partition, x.start, x.end, x.segment) for x in found] == [(0, "0", "40", segment)]


def test_bad_messages_are_set_aside_and_reported(world: ConsumingWorld) -> None:
    import httpx

    world.create_realtime()
    world.start_server()
    world.stream.send("topic", 0, [b"no json", b'{"id": '], 1)
    world.send(3)
    world.exact(1)
    signed = Signed(SECRET)
    body = httpx.get(f"{world.servers[1].admin_url}/tables/{RT}/consumers", auth=signed).json()
    assert body[0]["badMessages"] == 2
    assert [s["offset"] for s in body[0]["badSamples"]] == ["0", "1"]
    (info,) = httpx.get(f"{world.servers[1].admin_url}/tables/{RT}/consumingSegmentsInfo", auth=signed).json()
    assert info["consumerState"] == "CONSUMING"
    assert info["partitionToOffsetMap"] == {"0": "5"}
    assert info["partitionOffsetInfo"]["recordsLag"] == {"0": "0"}


@pytest.mark.parametrize("kind", [Kind.CONSUMED, Kind.COMMIT_START, Kind.COMMIT_END])
@pytest.mark.parametrize("is_reply", [True, False])
def test_a_lost_message_or_reply_delays_a_commit_and_nothing_else(
    world: ConsumingWorld, kind: Kind, is_reply: bool
) -> None:
    lost: set[str] = set()

    def is_first(said: Kind, report: Report) -> bool:
        is_it = said is kind and report.segment not in lost
        if is_it:
            lost.add(report.segment)
        return is_it

    if is_reply:
        world.controller.after = lambda said, report, answer: (
            Answer(protocol.NOT_SENT) if is_first(said, report) else answer
        )
    else:
        world.controller.before = lambda said, report: Answer(protocol.NOT_SENT) if is_first(said, report) else None
    world.create_realtime(rows=100, servers=(1, 2))
    world.start_server(1)
    world.start_server(2)
    world.send(250)
    poll(lambda: len(world.chain()) == 3, 20, "three segments")
    world.settled()
    assert lost
    for number in (1, 2):
        world.exact(number)
    world.chain_is_whole()


def test_a_replica_that_read_too_much_answers_with_no_more_than_was_committed(world: ConsumingWorld) -> None:
    """Its rows behind the committed end are the next segment's: seen twice they would be doubled."""
    segment = world.create_realtime(servers=(1, 2))
    world.start_server(1, consuming={"fetch_messages": 10})
    world.start_server(2, consuming={"fetch_messages": 10})
    world.send(40)
    world.exact(1)
    world.exact(2)
    world.controller.before = lambda kind, report: (
        Answer(protocol.HOLD) if kind is Kind.CONSUMED and report.instance == instance(2) else None
    )
    commit_elsewhere(world, segment, "30")
    poll(lambda: world.view(segment) == dict.fromkeys([instance(1), instance(2)], "ONLINE"), what="ONLINE")
    for number in (1, 2):
        assert world.rows_of(number)[segment] == 30
        world.exact(number)


def commit_elsewhere(world: ConsumingWorld, segment: str, end: str) -> None:
    """A third server that nobody sees commits the segment at ``end`` with a right file."""
    from segments.dataplane.server.consuming.partition_reader import PartitionReader
    from segments.dataplane.server.consuming.source import read_source
    from segments.dataplane.server.consuming.stream_pool import StreamPool
    from segments.domain.realtime.streams.stream_offset import parse_offset
    from segments.segmentfile import write_tar

    source = read_source(world.store, RT, segment, "Server_x_1")
    pool = StreamPool(world.stream.open)
    intake = PartitionReader(source, source.start, pool)
    stop = parse_offset("memory", end)
    while intake.offset < stop:
        intake.read(10, 1.0, stop=stop)
    folder = world.folder / "elsewhere"
    folder.mkdir()
    info = intake.segment.build(folder, start_offset="0", end_offset=end, creation_time_ms=source.created_ms)
    write_tar(folder / segment, folder / "tar")
    report = Report(segment, instance(1), end, decisions.ROW_LIMIT, rows=info.total_docs, size_bytes=1000)
    path = f"r/{segment}.tmp.6f1c3a52-0000-4000-8000-000000000000"
    world.deep_store.put(folder / "tar", path)
    location = world.deep_store.uri(path)
    assert world.controller.consumed(report).status == protocol.COMMIT
    assert world.controller.commit_start(report).status == protocol.COMMIT_CONTINUE
    files = {name: next((folder / segment).rglob(name)) for name in ("metadata.properties", "creation.meta")}
    assert world.controller.commit_end(report, location, files).status == protocol.COMMIT_SUCCESS
    pool.close()
