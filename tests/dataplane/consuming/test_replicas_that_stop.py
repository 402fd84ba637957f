"""A replica that cannot go on reports why and leaves the others to it; what is committed already is not consumed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from segments.dataplane.server.consuming import worker
from segments.dataplane.server.consuming.partition_reader import PartitionReader
from segments.dataplane.server.consuming.source import read_source
from segments.domain.realtime.completion import Kind
from segments.gateways.controller_protocol import NOT_SENT, Answer, Report
from segments.store import paths
from tests.dataplane.consuming_world import RT, ConsumingWorld, instance
from tests.dataplane.world import poll


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ConsumingWorld]:
    """An empty cluster."""
    made = ConsumingWorld(tmp_path)
    yield made
    made.close()


def test_a_replica_that_fails_reports_the_reason_until_it_is_heard_and_the_other_commits(
    world: ConsumingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[Report] = []

    def fail(*_given: object, **_more: object) -> None:
        raise ZeroDivisionError

    def lose_the_first(kind: Kind, report: Report) -> Answer | None:
        if kind is not Kind.STOPPED:
            return None
        reports.append(report)
        return Answer(NOT_SENT) if len(reports) == 1 else None

    world.controller.before = lose_the_first
    segment = world.create_realtime(servers=(1, 2), rows=10)
    with monkeypatch.context() as broken:
        broken.setattr(worker, "_REPORT_AGAIN_S", 0.05)
        broken.setattr(PartitionReader, "read", fail)
        world.start_server(1)
        poll(lambda: len(reports) == 2, what="a second report")
    assert {(r.segment, r.offset, r.reason) for r in reports} == {(segment, "0", "ZeroDivisionError")}
    row = {instance(1): "OFFLINE", instance(2): "CONSUMING"}
    poll(lambda: world.store.get(paths.ideal_state(RT)).record.maps[segment] == row, what="the row without it")
    world.send(10)
    world.start_server(2)
    poll(lambda: len(world.chain()) == 2, what="the commit of the other")
    world.exact(2)


@pytest.mark.parametrize(
    ("status", "is_done", "end"),
    [("IN_PROGRESS", False, None), ("COMMITTING", False, "40"), ("DONE", True, None), ("UPLOADED", True, None)],
)
def test_what_is_committed_is_not_consumed_and_what_is_being_committed_only_up_to_its_end(
    world: ConsumingWorld, status: str, is_done: bool, end: str | None
) -> None:
    segment = world.create_realtime()
    path = paths.segment(RT, segment)
    node = world.store.get(path)
    fields = {"segment.realtime.status": status, "segment.realtime.endOffset": "40"}
    world.store.replace(path, node.record.with_simple_items(fields), node.version)
    source = read_source(world.store, RT, segment, instance(1))
    assert (source.is_done, source.end.text if source.end else None) == (is_done, end)
