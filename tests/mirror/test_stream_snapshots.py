"""The history of a REALTIME table: what the stream commits is one snapshot for an hour, what comes otherwise one each,
and going back leaves the stream's rows.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement.history.stream import streamed_since
from segments.errors import StateConflict
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster, Snapshot
from segments.services.realtime.consumption import resume_table
from segments.services.replacement.history.going_back import preview_return, return_to
from segments.services.replacement.history.snapshots import contents_of
from segments.services.replacement.history.standing import standings
from segments.store import paths
from tests.services.realtime_world import ANN, TABLE, RealtimeWorld

pytestmark = pytest.mark.django_db


class Streamed(RealtimeWorld):
    """A table of one partition whose segments are committed one after another."""

    def __init__(self, folder: Path, cluster: str = "test") -> None:
        super().__init__(folder, partitions=1)
        self.mirror = ClusterFollower(self.memory, Cluster.objects.create(name=cluster))
        self.mirror.sync_all()

    def next(self, end: int) -> str:
        """What consumes is committed with ten rows, and its successor consumes; the mirror follows."""
        (segment,) = self.consuming
        self.commit(str(end))
        self.set_record(segment, segment_total_docs="10", segment_crc=str(end))
        self.streams.topics["a"] = {0: [0, end]}
        resume_table(self.ctx, TABLE, actor=ANN)
        self.mirror.sync_all()
        return segment

    def upload(self, name: str) -> None:
        """A segment that is not the stream's."""
        fields = {"segment.crc": "1", "segment.total.docs": "5"}
        self.memory.create(paths.segment(TABLE.typed, name), ZNRecord(name, fields))
        node = self.memory.get(paths.ideal_state(TABLE.typed))
        assert node is not None
        assert node.record is not None
        maps = {**node.record.maps, name: {"Server_s_8098": "ONLINE"}}
        self.memory.replace(
            paths.ideal_state(TABLE.typed), ZNRecord(node.record.id, node.record.simple, maps), node.version
        )
        self.mirror.sync_all()


@pytest.fixture
def world(tmp_path: Path) -> Streamed:
    return Streamed(tmp_path)


def listed() -> list[tuple[int, str, int, list[str]]]:
    """(number, what made it, rows, its segments), oldest first."""
    return [(s.number, s.kind, s.rows, sorted(contents_of(s))) for s in Snapshot.objects.order_by("number")]


def hours_pass() -> None:
    newest = Snapshot.objects.first()
    assert newest is not None
    Snapshot.objects.filter(pk=newest.pk).update(at=newest.at - timedelta(hours=2))


def test_what_is_still_consumed_is_no_snapshot_and_commits_of_an_hour_are_one(world: Streamed) -> None:
    assert listed() == []
    one = world.next(10)
    assert listed() == [(1, "commit", 10, [one])]
    two, three = world.next(20), world.next(30)
    assert listed() == [(1, "commit", 10, [one]), (2, "commit", 30, sorted([one, two, three]))]


def test_after_an_hour_commits_are_a_new_snapshot_also_for_a_mirror_that_was_started_again(world: Streamed) -> None:
    world.next(10)
    hours_pass()
    world.next(20)
    hours_pass()
    world.mirror = ClusterFollower(world.memory, Cluster.objects.get())
    world.mirror.sync_all()
    world.next(30)
    assert [(n, kind, rows) for n, kind, rows, _ in listed()] == [
        (1, "commit", 10),
        (2, "commit", 20),
        (3, "commit", 30),
    ]


def test_an_upload_is_a_snapshot_of_its_own_and_going_back_leaves_what_the_stream_brought(world: Streamed) -> None:
    one = world.next(10)
    world.upload("extra")
    two = world.next(20)
    assert [(n, kind) for n, kind, _, _ in listed()] == [(1, "commit"), (2, "upload"), (3, "commit")]
    left = standings(world.ctx, TABLE, [3, 2, 1])
    assert {n: found.state for n, found in left.items()} == {3: "present", 2: "grown", 1: "served"}
    found = preview_return(world.ctx, TABLE, 1)
    assert (found.allowed, found.leaving_segments, found.returning_segments) == (True, ["extra"], [])
    assert "stays" in found.notes[0]
    return_to(world.ctx, TABLE, 1, actor=ANN)
    world.mirror.sync_all()
    newest = listed()[-1]
    assert (newest[:3], newest[3]) == ((4, "return", 20), sorted([one, two]))
    assert len(world.consuming) == 1, "consumption goes on"


def test_where_only_the_stream_brought_rows_there_is_nothing_to_go_back_to(world: Streamed) -> None:
    world.next(10)
    hours_pass()
    world.next(20)
    found = preview_return(world.ctx, TABLE, 1)
    assert (found.allowed, "What the stream brought since stays." in found.blockers[0]) == (False, True)
    with pytest.raises(StateConflict, match="What the stream brought since stays"):
        return_to(world.ctx, TABLE, 1, actor=ANN)


def test_of_each_partition_what_comes_after_its_last_segment_in_the_snapshot_is_the_streams() -> None:
    names = [f"t__{p}__{s}__20260801T1000Z" for p in (0, 1) for s in range(3)]
    assert streamed_since([names[1], "extra"], [*names, "extra", "other"]) == names[2:]
