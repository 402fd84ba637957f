"""The pass and replicas in ERROR: the last copy of rows is never reset away."""

from __future__ import annotations

from pathlib import Path

import pytest

from segments.models import Finding
from segments.services.realtime.realtime_validation import run
from segments.store import paths
from segments.store.records.reset_tries import read_tries
from tests.services.realtime.test_realtime_validation import codes, view
from tests.services.realtime_world import TABLE, RealtimeWorld

pytestmark = pytest.mark.django_db
ALL = {"8098": "ERROR", "8099": "ERROR"}
MINUTE = 60_000


def resets(world: RealtimeWorld, segment: str) -> int:
    """Reset messages about the segment, over both servers; all are taken away, as the servers would."""
    found = 0
    for server in ("Server_s_8098", "Server_s_8099"):
        for message in world.messages(server):
            found += (message.type, message.partition) == ("STATE_TRANSITION", segment)
            world.memory.delete(f"{paths.messages(server)}/{message.id}")
    return found


def committed(world: RealtimeWorld, url: str) -> str:
    """A committed segment beside the one that consumes."""
    [segment] = world.consuming
    world.commit("7").set_record(segment, segment_download_url=url, segment_crc="5")
    return segment


def test_every_replica_of_a_segment_that_the_deep_store_has_begins_again(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = committed(world, "http://127.0.0.1:9000/segments/t/s")
    view(world, **ALL)
    run(world.ctx, TABLE)
    assert resets(world, segment) == 2
    assert "consumption-last-copy" not in codes()


def test_what_only_servers_have_is_not_reset_while_all_of_them_are_in_error(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = committed(world, "")
    view(world, **ALL)
    run(world.ctx, TABLE)
    assert resets(world, segment) == 0
    finding = Finding.objects.get(code="consumption-last-copy", closed_at=None)
    assert (finding.subject, finding.severity) == (segment, "error")
    view(world, **{"8098": "ERROR"})  # the other one serves again
    run(world.ctx, TABLE)
    assert resets(world, segment) == 1
    assert "consumption-last-copy" not in codes()


@pytest.mark.parametrize(("earliest", "expected"), [(0, 2), (3, 0)])
def test_consuming_replicas_begin_again_only_while_the_stream_has_their_rows(
    tmp_path: Path, earliest: int, expected: int
) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    [segment] = world.consuming
    view(world, **ALL)
    world.streams.topics["a"] = {0: [earliest, 9]}
    run(world.ctx, TABLE)
    assert resets(world, segment) == expected
    assert ("consumption-last-copy" in codes()) is (expected == 0)


def test_consuming_replicas_are_left_alone_while_the_stream_does_not_answer(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    [segment] = world.consuming
    view(world, **ALL)
    world.streams.is_down = True
    run(world.ctx, TABLE)
    assert resets(world, segment) == 0
    assert "consumption-last-copy" in codes()


def test_a_reset_that_does_not_help_is_repeated_less_and_less_often(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    segment = committed(world, "http://127.0.0.1:9000/segments/t/s")
    view(world, **{"8098": "ERROR"})
    minutes = []
    for minute in range(65):
        run(world.ctx, TABLE)
        minutes += [minute] * resets(world, segment)
        world.now += MINUTE
    assert minutes == [0, 1, 3, 7, 15, 31, 63]


def test_a_replica_that_is_well_again_is_forgotten(tmp_path: Path) -> None:
    world = RealtimeWorld(tmp_path, partitions=1)
    committed(world, "http://127.0.0.1:9000/segments/t/s")
    view(world, **{"8098": "ERROR"})
    run(world.ctx, TABLE)
    assert read_tries(world.memory, TABLE.typed)
    view(world)
    world.now += 3 * MINUTE
    run(world.ctx, TABLE)
    assert not read_tries(world.memory, TABLE.typed)
