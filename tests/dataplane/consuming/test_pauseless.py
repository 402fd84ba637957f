"""Pauseless commits on real servers: the next segment consumes while the last one is built and uploaded, and no row is
ever out of sight, doubled or lost, whatever happens in between.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segments.clusters.embedded.realtime.completion.committing_list import committing_segments, listed_segments
from segments.dataplane.server.consuming.commit import building
from segments.domain.realtime.completion import Kind
from segments.gateways.controller_protocol import NOT_SENT, Answer, Report
from segments.services.segments.replica_report import report_replicas
from segments.store import paths
from tests.dataplane.consuming.pauseless_world import IMPATIENT, TABLE, SlowUploads, create, done, status
from tests.dataplane.consuming.test_server_metrics import metrics
from tests.dataplane.consuming_world import RT, ConsumingWorld, instance, rows_of
from tests.dataplane.world import poll


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowUploads]:
    made = SlowUploads(monkeypatch)
    yield made
    made.answers.set()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConsumingWorld]:
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


def starts(world: ConsumingWorld) -> int:
    """How many commits have started, as far as servers heard."""
    return sum((said, to) == (Kind.COMMIT_START, "COMMIT_CONTINUE") for said, _, to in world.controller.heard)


def test_the_next_segment_consumes_while_the_last_one_is_uploaded(world: ConsumingWorld, slow: SlowUploads) -> None:
    segment = create(world)
    world.start_server()
    world.send(150)
    poll(lambda: status(world, segment) == "COMMITTING", what="the commit's start")
    world.exact(1)
    assert committing_segments(world.store, TABLE) == [segment]
    poll(lambda: world.view(segment) == {instance(1): "ONLINE"}, what="the file answers before it is uploaded")
    poll(lambda: world.view(world.chain()[1]) == {instance(1): "CONSUMING"}, what="the next segment")
    assert "segment.download.url" not in world.fields(segment)
    report = report_replicas(world.ctx, TABLE, [segment])
    assert (report.online, report.gaps) == (1, ())
    world.send(30)
    world.exact(1)
    slow.answers.set()
    done(world, segment)
    assert listed_segments(world.store, TABLE) == []
    world.settled().exact(1)
    world.chain_is_whole()


def test_every_replica_keeps_what_it_has_and_builds_the_same_file(world: ConsumingWorld) -> None:
    create(world, servers=(1, 2))
    world.start_server(1)
    world.start_server(2)
    world.send(250)
    poll(lambda: len(world.chain()) == 3, what="three segments")
    for segment in world.chain()[:2]:
        done(world, segment)
    world.settled()
    for number in (1, 2):
        world.exact(number)
        crcs = world.http.crcs(world.servers[number].admin_url, RT)
        assert crcs == {s: world.fields(s)["segment.crc"] for s in world.chain()[:2]}
    world.chain_is_whole()


def test_visible_rows_never_go_back_while_segments_roll_and_uploads_hang(
    world: ConsumingWorld, slow: SlowUploads
) -> None:
    create(world, servers=(1, 2), rows=200)
    for number in (1, 2):
        world.start_server(number, consuming={"peer_wait_s": 0.5})
    broker = world.start_broker()
    poll(lambda: rows_of(broker, "select count(*) from r") == [[0]], what="routing")
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
    for _ in range(40):
        world.send(25)
        poll(lambda: sum(world.rows_of(1).values()) >= world.sent - 400, what="the server keeps up")
    poll(lambda: seen[0] == world.sent, 30, "all rows seen")
    stop.set()
    reader.join()
    assert faults == []
    poll(lambda: len(world.chain()) == 6, 20, "the last commit")
    world.chain_is_whole()


def test_commits_under_way_are_bounded_and_consumption_goes_on(world: ConsumingWorld, slow: SlowUploads) -> None:
    """One replica, so that nothing but the deep store can take the files; it hangs."""
    create(world)
    world.start_server()
    world.send(900)
    poll(lambda: len(committing_segments(world.store, TABLE)) == 4, what="as many commits as may be")
    broker = world.start_broker()
    poll(lambda: rows_of(broker, "select count(*), distinctcount(id) from r") == [[900, 900]], 20, "rows read on")
    assert len(world.chain()) == 5
    slow.answers.set()
    poll(lambda: len(world.chain()) == 10, 30, "all commits")
    for segment in world.chain()[:-1]:
        done(world, segment)
    world.settled().exact(1)
    world.chain_is_whole()


@pytest.mark.parametrize("kind", [Kind.COMMIT_START, Kind.COMMIT_END])
@pytest.mark.parametrize("is_reply", [False, True])
def test_a_lost_message_or_reply_delays_a_commit_and_nothing_else(
    world: ConsumingWorld, kind: Kind, *, is_reply: bool
) -> None:
    lost = threading.Event()

    def lose(said: Kind) -> bool:
        if said is not kind or lost.is_set():
            return False
        lost.set()
        return True

    if is_reply:
        world.controller.after = lambda said, _, answer: Answer(NOT_SENT) if lose(said) else answer
    else:
        world.controller.before = lambda said, _: Answer(NOT_SENT) if lose(said) else None
    segment = create(world, servers=(1, 2))
    world.start_server(1)
    world.start_server(2)
    world.send(150)
    done(world, segment)
    poll(lost.is_set, what="the loss")
    world.settled()
    for number in (1, 2):
        world.exact(number)
    world.chain_is_whole()


def test_a_replica_that_lost_its_rows_takes_the_file_from_the_committer_before_the_commit_ends(
    world: ConsumingWorld,
) -> None:
    ends = threading.Event()

    def hold_the_end(kind: Kind, _: Report) -> Answer | None:
        return Answer(NOT_SENT) if kind is Kind.COMMIT_END and not ends.is_set() else None

    world.controller.before = hold_the_end
    segment = create(world, servers=(1, 2))
    world.start_server(1)
    world.send(130)
    poll(lambda: world.view(segment).get(instance(1)) == "ONLINE", 20, "the committer's file")
    world.start_server(2)
    poll(lambda: world.view(segment).get(instance(2)) == "ONLINE", 20, "the same file on the other server")
    world.exact(2)
    assert status(world, segment) == "COMMITTING"
    ends.set()
    done(world, segment)
    world.settled().exact(2)
    crcs = world.http.crcs(world.servers[2].admin_url, RT)
    assert crcs == {segment: world.fields(segment)["segment.crc"]}


def test_a_copy_that_nobody_has_is_an_error_after_the_time_that_the_table_gives_and_heals_when_it_comes(
    world: ConsumingWorld, slow: SlowUploads
) -> None:
    segment = create(world, stream={"realtime.segment.pauseless.download.timeoutSeconds": "1"})
    world.start_server(consuming=IMPATIENT)
    world.send(130)
    poll(lambda: status(world, segment) == "COMMITTING", what="the commit's start")
    poll(lambda: world.view(segment) == {instance(1): "ONLINE"}, what="the file answers")
    world.servers[1].stop()
    folder = world.folder / "server-1"
    kept = folder.rename(world.folder / "kept")
    world.start_server()
    poll(lambda: world.view(segment) == {instance(1): "ERROR"}, 10, "the error")
    world.servers[1].stop()
    folder.rename(world.folder / "empty")
    kept.rename(folder)
    world.start_server()
    poll(lambda: world.view(segment) == {instance(1): "ONLINE"}, 10, "the copy that came back")


def test_a_segment_that_was_dropped_and_comes_back_unfinished_is_not_taken_from_what_still_lies_on_disk(
    world: ConsumingWorld, slow: SlowUploads
) -> None:
    segment = create(world, stream={"realtime.segment.pauseless.download.timeoutSeconds": "1"})
    world.start_server()
    world.send(130)
    poll(lambda: world.view(segment) == {instance(1): "ONLINE"}, what="the file answers")
    path = paths.ideal_state(RT)
    for row in ({}, {segment: {instance(1): "ONLINE"}}):
        node = world.store.get(path)
        assert node is not None
        assert node.record is not None
        others = {s: states for s, states in node.record.maps.items() if s != segment}
        world.store.replace(path, replace(node.record, maps={**others, **row}), node.version)
        if not row:
            poll(lambda: not world.view(segment), what="the drop")
    poll(lambda: world.view(segment) == {instance(1): "ERROR"}, 10, "the error")


def test_a_build_that_fails_on_one_server_leaves_its_rows_in_sight_and_the_other_commits(
    world: ConsumingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment, build = create(world, servers=(1, 2)), building.Builder.build
    failed = list[building.Builder]()

    def failing(builder: building.Builder) -> Any:
        if not failed:
            failed.append(builder)
        if builder is failed[0]:
            raise ValueError("these rows make no segment")
        return build(builder)

    monkeypatch.setattr(building.Builder, "build", failing)
    world.start_server(1)
    world.start_server(2)
    world.send(130)
    poll(lambda: bool(failed), what="the failed build")
    poll(lambda: sum(world.rows_of(1).values()) == sum(world.rows_of(2).values()) == 130, what="all rows on both")
    poll(lambda: "ONLINE" in world.view(segment).values(), what="the copy of the other server")
    for number in (1, 2):
        world.exact(number)


def test_switching_it_off_in_the_middle_of_a_commit_ends_that_commit_and_the_next_ones_are_standard(
    world: ConsumingWorld, slow: SlowUploads
) -> None:
    first = create(world)
    world.start_server()
    world.send(130)
    poll(lambda: status(world, first) == "COMMITTING", what="the commit's start")
    figure = f'pinotadmin_server_pauseless_consumption_enabled{{table="{RT}"}}'
    assert metrics(world)[figure] == 1
    path = paths.table_config(RT)
    node = world.store.get(path)
    assert node is not None
    assert node.record is not None
    text = node.record.simple["ingestionConfig"].replace(
        '"pauselessConsumptionEnabled":true', '"pauselessConsumptionEnabled":false'
    )
    world.store.replace(path, node.record.with_simple_items({"ingestionConfig": text}), node.version)
    assert metrics(world)[figure] == 0, "who takes it back sees on every server that it is off"
    world.send(100)
    poll(lambda: starts(world) == 2, what="the second commit's start")
    second = world.chain()[1]
    assert (status(world, first), status(world, second)) == ("COMMITTING", "IN_PROGRESS")
    slow.answers.set()
    done(world, first)
    done(world, second)
    world.settled().exact(1)
    world.chain_is_whole()
