"""Ideal state and records that disagree, in every order in which writers of other programs can be cut: after two passes
the partition has one consuming segment, which begins where the rows before it end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.realtime.llc_name import parse_llc_name
from segments.domain.segments.ideal_state import CONSUMING, OFFLINE, ONLINE
from segments.models import Finding
from segments.services.realtime.realtime_validation import keep_consumption, repair_consumption, run
from segments.services.upkeep.finding_fixes import fix
from segments.store import paths
from tests.faults.faulty import Cut, Fault, FaultyStore, Plan
from tests.services.realtime.test_realtime_validation import codes
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld

pytestmark = pytest.mark.django_db
OLD_MS = 301_000


@pytest.fixture
def world(tmp_path: Path) -> RealtimeWorld:
    """Partition 0 has one committed segment, rows [0, 10), and one that consumes from 10."""
    world = RealtimeWorld(tmp_path, partitions=1).commit("10")
    world.set_record(world.segments(0)[0], segment_download_url="x", segment_crc="1")
    keep_consumption(world.ctx)
    return world


def after(world: RealtimeWorld, segment: str) -> str:
    """The name of the segment that follows."""
    return parse_llc_name(segment).next(world.now + 60_000).text


def add_record(world: RealtimeWorld, segment: str, start: str) -> None:
    fields = {"segment.realtime.status": "IN_PROGRESS", "segment.realtime.startOffset": start}
    record = ZNRecord(segment, {**fields, "segment.creation.time": str(world.now)})
    world.memory.create(paths.segment(TABLE.typed, segment), record)


def add_row(world: RealtimeWorld, segment: str, state: str = CONSUMING) -> None:
    path = paths.ideal_state(TABLE.typed)
    node = world.memory.get(path)
    assert node is not None
    assert node.record is not None
    servers = next(iter(node.record.maps.values()))
    maps = {**node.record.maps, segment: dict.fromkeys(servers, state)}
    world.memory.replace(path, ZNRecord(node.record.id, node.record.simple, maps), node.version)


def committing(world: RealtimeWorld, status: str = "COMMITTING") -> str:
    [segment] = world.consuming
    world.set_record(segment, segment_realtime_status=status, segment_realtime_endOffset="25")
    return segment


def record_only(world: RealtimeWorld) -> None:
    committing(world)


def done_only(world: RealtimeWorld) -> None:
    committing(world, "DONE")


def record_and_orphan(world: RealtimeWorld) -> None:
    add_record(world, after(world, committing(world)), "25")


def record_and_two_orphans(world: RealtimeWorld) -> None:
    segment = committing(world)
    add_record(world, after(world, segment), "25")
    add_record(world, parse_llc_name(segment).next(world.now + 120_000).text, "24")


def no_successor(world: RealtimeWorld) -> None:
    world.set_row(committing(world), ONLINE)


def record_and_bare_row(world: RealtimeWorld) -> None:
    segment = committing(world)
    world.set_row(segment, ONLINE)
    add_row(world, after(world, segment))


def successor_lost_its_record(world: RealtimeWorld) -> None:
    """It is consumed, and a restart of its servers would not know from where."""
    segment = committing(world, "DONE")
    world.set_row(segment, ONLINE)
    add_row(world, after(world, segment))


HALVES = (
    record_only, done_only, record_and_orphan, record_and_two_orphans, no_successor, record_and_bare_row,
    successor_lost_its_record,
)  # fmt: skip


@pytest.mark.parametrize("half", HALVES, ids=lambda f: f.__name__)
def test_two_passes_leave_one_consuming_segment_that_begins_where_the_rows_end(
    world: RealtimeWorld, half: Callable[[RealtimeWorld], None]
) -> None:
    half(world)
    world.now += OLD_MS
    for _ in range(2):
        run(world.ctx, TABLE)
    check_whole(world)


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.LOST_BEFORE, Fault.LOST_AFTER])
@pytest.mark.parametrize("half", HALVES, ids=lambda f: f.__name__)
def test_a_pass_that_is_cut_at_its_write_is_finished_by_the_next_two(
    world: RealtimeWorld, half: Callable[[RealtimeWorld], None], fault: Fault
) -> None:
    half(world)
    world.now += OLD_MS
    with suppress(Cut):
        repair_consumption(world.over(FaultyStore(world.memory, Plan({1: fault}))), TABLE)
    for _ in range(2):
        run(world.ctx, TABLE)
    check_whole(world)


def check_whole(world: RealtimeWorld) -> None:
    """Every row is in exactly one segment, and one segment consumes behind the last."""
    [consuming] = world.consuming
    names = world.segments(0)
    assert [parse_llc_name(s).sequence for s in names] == [0, 1, 2]
    assert names[-1] == consuming
    assert [world.fields(s)["segment.realtime.startOffset"] for s in names] == ["0", "10", "25"]
    assert [world.fields(s).get("segment.realtime.endOffset") for s in names] == ["10", "25", None]
    assert set(world.ideal.maps[names[1]].values()) == {ONLINE}
    assert world.records == names
    before = world.ideal
    repair_consumption(world.ctx, TABLE)
    assert world.ideal == before


def test_a_row_that_ran_ahead_of_its_record_goes_and_the_segment_before_consumes_on(world: RealtimeWorld) -> None:
    [segment] = world.consuming
    add_row(world, after(world, segment))
    run(world.ctx, TABLE)
    assert world.consuming == [segment] == [world.segments(0)[-1]]


def test_a_commit_that_only_the_ideal_state_knows_is_a_finding_and_fixed_without_losing_rows(
    world: RealtimeWorld,
) -> None:
    """Nothing says where the segment ends, so it is consumed again from its start."""
    [segment] = world.consuming
    world.set_row(segment, ONLINE)
    add_row(world, after(world, segment))
    for _ in range(2):
        run(world.ctx, TABLE)
    found = Finding.objects.get(code="consumption-stuck", closed_at=None)
    fix(world.ctx, TABLE, found, actor=ANN)
    run(world.ctx, TABLE)
    assert world.consuming == [segment] == [world.segments(0)[-1]]
    assert "consumption-stuck" not in codes()


def test_a_committed_segment_that_lost_its_record_is_not_read_a_second_time(world: RealtimeWorld) -> None:
    """Its servers may serve it still; what would follow begins nobody knows where."""
    [segment] = world.consuming
    world.set_row(segment, ONLINE)
    world.memory.delete(paths.segment(TABLE.typed, segment))
    before = world.ideal
    for _ in range(2):
        run(world.ctx, TABLE)
    assert world.ideal == before
    assert "has no record" in Finding.objects.get(code="consumption-stuck", closed_at=None).message


def test_all_replicas_that_stopped_are_followed_from_the_same_start(world: RealtimeWorld) -> None:
    [segment] = world.consuming
    world.set_row(segment, OFFLINE)
    run(world.ctx, TABLE)
    [consuming] = world.consuming
    assert world.fields(consuming)["segment.realtime.startOffset"] == "10"
