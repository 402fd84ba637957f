"""A consuming server in trouble: killed behind a commit, rows that cannot be built, rows gone from the stream,
replicas that only in part were notified.
"""

from __future__ import annotations

import errno
import json
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segments.dataplane.realtime.mutable_segment import Snapshot
from segments.dataplane.server.consuming.commit.building import Builder, Built
from segments.dataplane.server.consuming.partition_reader import PartitionReader, RowsGone
from segments.dataplane.server.consuming.read_ahead import ReadAhead
from segments.dataplane.server.consuming.shared_resources import ConsumingSettings
from segments.dataplane.server.consuming.source import read_source
from segments.dataplane.server.consuming.stream_pool import StreamPool
from segments.dataplane.server.consuming.worker import Worker
from segments.domain.realtime.completion import Kind
from segments.domain.realtime.pause import PauseState, with_pause
from segments.domain.realtime.streams.stream_offset import Offset, parse_offset
from segments.gateways.controller_protocol import Answer, Report
from segments.names import TableName
from segments.services.core.context import Actor
from segments.services.realtime import consumption
from segments.store import paths
from tests.dataplane.consuming.test_consuming import commit_elsewhere, force
from tests.dataplane.consuming_world import RT, ConsumingWorld, instance, rows_of
from tests.dataplane.world import poll

RETRIES = {
    "ingestionConfig": {
        "retryOnSegmentBuildPrecheckFailure": True,
        "streamIngestionConfig": {
            "streamConfigMaps": [
                {
                    "streamType": "memory",
                    "stream.memory.topic.name": "topic",
                    "stream.memory.consumer.prop.auto.offset.reset": "smallest",
                    "realtime.segment.flush.threshold.segment.rows": "100",
                }
            ]
        },
    }
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConsumingWorld]:
    """An empty cluster."""
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


def test_a_committer_killed_right_after_a_commit_without_deep_store_comes_back_with_the_segment(
    world: ConsumingWorld,
) -> None:
    """Only its disk has the file then: the rows are gone if it was not there before the controller was notified."""
    folder, kept = world.folder / "server-1", world.folder / "kept"

    def keep(kind: Kind, report: Report, answer: Answer) -> Answer:
        if kind is Kind.COMMIT_END and not kept.exists():
            shutil.copytree(folder, kept)
        return answer

    world.controller.after = keep
    world.create_realtime(rows=100, segments={"peerSegmentDownloadScheme": "http"})
    world.start_server(1, segment_store_url="")
    world.send(130)
    poll(lambda: len(world.chain()) == 2, what="a commit")
    assert world.fields(world.chain()[0])["segment.download.url"] == ""
    poll(kept.exists, what="the disk at that moment")
    world.servers[1].stop()
    shutil.rmtree(folder)
    kept.rename(folder)
    world.start_server(1, segment_store_url="")
    world.settled()
    world.exact(1)


def test_rows_that_cannot_be_built_lower_the_limit_and_the_replica_starts_over(
    world: ConsumingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, ids = Snapshot.build, threading.Event()

    def limited(self: Snapshot, folder: Path, **more):  # type: ignore[no-untyped-def]
        if self.num_docs > 60:
            ids.set()
            raise RuntimeError("The dictionary is full.")
        return build(self, folder, **more)

    monkeypatch.setattr(Snapshot, "build", limited)
    first = world.create_realtime(rows=100, **RETRIES)  # type: ignore[arg-type]
    world.start_server()
    world.send(120)
    poll(ids.is_set, what="a failed build")
    poll(lambda: len(world.chain()) == 2, what="a commit")
    world.settled()
    world.exact(1)
    assert world.fields(first)["segment.total.docs"] == "50"
    assert Kind.STOPPED.value not in {kind for kind, _, _ in world.controller.heard}


def test_the_controller_hears_why_a_segment_ended_with_its_commit(world: ConsumingWorld) -> None:
    """Sizes of segments that were cut short teach nothing."""
    reasons: list[str | None] = []
    world.controller.before = lambda kind, report: reasons.append(report.reason) if kind is Kind.COMMIT_END else None
    segment = world.create_realtime()
    world.start_server()
    world.send(5)
    world.exact(1)
    force(world, segment)
    poll(lambda: len(world.chain()) == 2, what="committed")
    assert reasons == ["forceCommitMessageReceived"]


def read(world: ConsumingWorld) -> PartitionReader:
    """A reading end of the only consuming segment."""
    source = read_source(world.store, RT, world.chain()[0], instance(1))
    return PartitionReader(source, source.start, StreamPool(world.stream.open))


def test_messages_that_give_too_many_rows_together_are_read_in_parts_without_a_gap(
    world: ConsumingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.create_realtime()
    world.send(20)
    intake = read(world)
    decode, asked = intake._decoder.decode, list[int]()

    def few(values: Any, *, now_ms: int) -> Any:
        asked.append(len(values))
        return decode(values[:3], now_ms=now_ms)

    monkeypatch.setattr(intake._decoder, "decode", few)
    assert [intake.read(100, 0.1) for _ in range(7)] == [3, 3, 3, 3, 3, 3, 2]
    assert asked == [20, 3, 6, 3, 6, 3, 2], "fewer are fetched for a while"
    assert (intake.offset.text, intake.segment.rows, intake.messages) == ("20", 20, 20)
    assert [intake.rows_at(parse_offset("memory", at)) for at in ("3", "6", "20")] == [3, 6, 20]
    monkeypatch.setattr(intake._decoder, "decode", decode)
    world.send(50_000)
    while intake.offset.text != "50020":
        intake.read(100_000, 0.1)
    assert (intake.segment.rows, intake._most) == (50_020, 0), "later as many as ever"


def test_a_replica_that_catches_up_never_passes_over_rows_that_are_gone(world: ConsumingWorld) -> None:
    """Another replica has them: this one must not claim to be where that one is."""
    world.create_realtime()
    world.send(100)
    intake = read(world)
    intake.read(10, 0.1)
    world.stream.expire("topic", 0, 50)
    for end in ("40", "80"):
        with pytest.raises(RowsGone):
            intake.read(100, 0.1, stop=parse_offset("memory", end))
    assert (intake.offset.text, intake.segment.rows, intake.lost) == ("10", 10, [])
    intake.read(100, 0.1)
    assert (intake.offset.text, intake.segment.rows) == ("100", 60)
    assert [(a.text, b.text) for a, b in intake.lost] == [("10", "50")]


def test_a_replica_that_cannot_catch_up_downloads_what_was_committed(world: ConsumingWorld) -> None:
    """It holds until then, and neither commits without the rows nor calls them lost."""
    from segments.store.records.data_loss import read_data_loss

    waiting, is_free = threading.Event(), threading.Event()

    def hold_the_first(kind: Kind, report: Report) -> Answer | None:
        if kind is not Kind.CONSUMED or report.instance != instance(1) or is_free.is_set():
            return None
        waiting.set()
        return Answer("HOLD", report.offset)

    world.controller.before = hold_the_first
    first = world.create_realtime(servers=(1, 2))
    for number in (1, 2):
        world.start_server(number)
    world.send(10)
    world.exact(1)
    force(world, first, number=1)
    poll(waiting.is_set, what="the first replica stands at 10")
    world.send(90)
    world.exact(2)
    world.stream.expire("topic", 0, 60)
    is_free.set()
    poll(lambda: ("segmentConsumed", instance(1), "HOLD") in world.controller.heard, what="it reported")
    force(world, first, number=2)
    poll(lambda: len(world.chain()) == 2, 15, what="committed")
    world.settled(15)
    assert world.fields(first)["segment.realtime.endOffset"] == "100"
    for number in (1, 2):
        world.exact(number)
    assert read_data_loss(world.store, RT) == []


def test_rows_read_ahead_that_had_no_time_are_read_again(world: ConsumingWorld) -> None:
    """Their time is the creation of their segment, which was not there yet: replicas would build different files."""
    for number, has_time in ((0, True), (1, False)):
        if not number:
            world.create_realtime()
        start = read(world)
        start.offset = start.start = parse_offset("memory", str(world.sent))
        ahead = ReadAhead(start, ConsumingSettings())
        ahead.start()
        row = {"id": f"x{number}", "n": 1, **({"ts": 1_700_000_000_000} if has_time else {})}
        world.stream.send("topic", 0, [json.dumps(row).encode()], 1)
        world.sent += 1
        poll(lambda intake=start: intake.segment.rows == 1, what="a row ahead")  # type: ignore[misc]
        taken = ahead.take(replace_start(start))
        assert (taken is not None) is has_time


def replace_start(intake: PartitionReader):  # type: ignore[no-untyped-def]
    """The next segment's source, which begins where the intake did."""
    from dataclasses import replace

    return replace(intake.source, start=intake.start, created_ms=intake.source.created_ms + 60_000)


def test_no_query_sees_rows_twice_while_a_replica_has_not_heard_that_its_segment_ended_before_them(
    world: ConsumingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It read past the end that was committed: those rows are the next segment's, and another server
    shows them there.
    """
    told = Worker.go_online
    is_deaf = threading.Event()
    is_deaf.set()

    def maybe(self: Worker) -> None:
        if not (is_deaf.is_set() and self._parts.instance == instance(1)):
            told(self)

    monkeypatch.setattr(Worker, "go_online", maybe)
    segment = world.create_realtime(servers=(1, 2))
    for number in (1, 2):
        world.start_server(number, consuming={"fetch_messages": 10})
    broker = world.start_broker()
    world.send(60)
    for number in (1, 2):
        world.exact(number)
    answers = list[object]()
    poll(lambda: rows_of(broker, "select count(*) from r") == [[60]], what="all rows by SQL")
    broker._progress._server["r__0"] = instance(1)
    commit_elsewhere(world, segment, "40")
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        answer = broker.query("select count(*), distinctcount(id) from r")
        answers += (
            [row for row in answer["resultTable"]["rows"] if row != [60, 60]]
            if not answer["exceptions"]
            else [answer["exceptions"]]
        )
    is_deaf.clear()
    world.servers[1].slots.consuming(RT)[segment].go_online()
    world.settled()
    world.exact(1)
    assert answers == []


@pytest.mark.django_db
def test_a_pause_ends_within_a_second_also_when_replicas_stand_at_different_offsets(world: ConsumingWorld) -> None:
    segment = world.create_realtime(servers=(1, 2))
    for number in (1, 2):
        world.start_server(number)
    world.send(10)
    for number in (1, 2):
        world.exact(number)
    slow = world.servers[2].slots.consuming(RT)[segment].intake  # type: ignore[attr-defined]
    read, is_slow, never = slow.read, threading.Event(), threading.Event()

    def reads_only_to_catch_up(*given: Any, stop: Offset | None = None, **more: Any) -> int:
        if stop is not None:
            return int(read(*given, stop=stop, **more))
        is_slow.set()
        never.wait(0.02)
        return 0

    slow.read = reads_only_to_catch_up
    poll(is_slow.is_set, what="the last fetch of the slow one is over")
    world.send(500)
    world.exact(1)
    assert world.rows_of(2) == {segment: 10}
    began = time.monotonic()
    consumption.pause_table(world.ctx, TableName("r", "REALTIME"), actor=Actor("ann"))
    assert time.monotonic() - began < 0.3
    poll(lambda: world.view(segment) == dict.fromkeys([instance(1), instance(2)], "ONLINE"), 1.5, "nothing consumes")
    assert (world.chain(), world.fields(segment)["segment.realtime.endOffset"]) == ([segment], "510")
    for number in (1, 2):
        world.exact(number)
    world.send(5)
    consumption.resume_table(world.ctx, TableName("r", "REALTIME"), actor=Actor("ann"))
    for number in (1, 2):
        world.exact(number, 2.0)
    world.chain_is_whole()


def test_a_pause_that_comes_while_a_segment_is_begun_is_not_missed(
    world: ConsumingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the segment read of the table was older than the pause, and what saw the pause came before the segment was
    begun.
    """
    begun, may_go = threading.Event(), threading.Event()

    def slow(*given: Any) -> Any:
        found = read_source(*given)
        begun.set()
        may_go.wait(5.0)
        return found

    monkeypatch.setattr("segments.dataplane.server.consuming.worker.read_source", slow)
    segment = world.create_realtime()
    server = world.start_server()
    poll(begun.is_set, what="the segment is being begun")
    looked = list[bool]()
    mind = server.consumers._mind_pause
    monkeypatch.setattr(
        server.consumers, "_mind_pause", lambda t, pause, w: (mind(t, pause, w), looked.append(pause.paused))
    )
    node = world.store.get(paths.ideal_state(RT))
    world.store.replace(paths.ideal_state(RT), with_pause(node.record, PauseState(paused=True)), node.version)
    poll(lambda: any(looked), what="the server saw the pause")
    may_go.set()
    poll(lambda: world.view(segment) == {instance(1): "ONLINE"}, 3.0, "nothing consumes")


def test_a_committer_with_a_full_disk_makes_way_and_its_rows_stay_visible(
    world: ConsumingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, is_full = Builder.build, threading.Event()
    is_full.set()

    def full(self: Builder) -> Built:
        if is_full.is_set() and self._parts.instance == instance(1):
            raise OSError(errno.ENOSPC, "No space left on device")
        return build(self)

    def kept_waiting(kind: Kind, report: Report) -> Answer | None:
        late = (
            kind is Kind.CONSUMED
            and report.instance == instance(2)
            and not world.fields(report.segment).get("segment.crc")
        )
        is_first = (Kind.CONSUMED.value, instance(1), "COMMIT") not in world.controller.heard
        return Answer("HOLD", report.offset) if late and is_first else None

    monkeypatch.setattr(Builder, "build", full)
    world.controller.before = kept_waiting
    first = world.create_realtime(rows=100, servers=(1, 2))
    for number in (1, 2):
        world.start_server(number)
    world.send(130)
    poll(lambda: len(world.chain()) == 2, 10, "the other replica committed")
    poll(
        lambda: ("segmentCommitEndWithMetadata", instance(2), "COMMIT_SUCCESS") in world.controller.heard,
        what="its commit's end",
    )
    for number in (1, 2):
        world.exact(number)
    poll(lambda: world.view(first)[instance(2)] == "ONLINE", what="ONLINE")
