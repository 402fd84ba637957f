"""The difference of two snapshots: counts from records, columns from servers, and what nobody reports is noted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from segments.domain.formats.znrecord import ZNRecord
from segments.domain.replacement import lineage as lineages
from segments.domain.replacement.lineage import Entry, State
from segments.domain.segments import ideal_state
from segments.domain.segments.column_profile import merge, profile_of
from segments.domain.segments.ideal_state import external_view
from segments.domain.segments.segment_metadata import SegmentMetadata
from segments.errors import InvalidInput, NotFound, Unavailable
from segments.gateways.servers import Profile
from segments.services.replacement.protocol import end_replace, start_replace
from segments.services.replacement.snapshot_diff import SnapshotDiff, diff_snapshots
from segments.services.segments import deletion
from segments.store import paths
from tests.services.replacement.either_cluster import EitherCluster, SimulatedCluster
from tests.services.world import ANN, TABLE, World

pytestmark = pytest.mark.django_db


class Columns:
    """Servers by address that report a column ``n`` per segment; range and cardinality from its number."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []
        self.silent: set[str] = set()
        self.lacks: dict[str, set[str]] = {}

    def __call__(self, url: str, table: str, segments: Sequence[str]) -> Profile:
        self.calls.append((url, len(segments)))
        if url in self.silent:
            raise Unavailable(f"{url} is down.")
        missing = [s for s in segments if s in self.lacks.get(url, set())]
        numbers = [int(s[1:]) for s in segments if s not in missing]
        told = (
            profile_of("n", "INT", "INT", low=str(k), high=str(k + 5), cardinality=6, has_rows=True) for k in numbers
        )
        return Profile(tuple(merge(told).values()), tuple(missing))


@pytest.fixture
def world(tmp_path: Path) -> World:
    """s1 and s2 are replaced by s3; s9 is beside them. Two servers hold everything."""
    made = World(tmp_path / "store").upload("s1", "s2", "s9")
    for name in ("Server_a_1", "Server_b_1"):
        if made.memory.get(paths.live_instance(name)) is None:
            made.memory.create(paths.live_instance(name), ZNRecord(name))
        made.memory.create(
            paths.participant(name),
            ZNRecord(name, {"HELIX_HOST": name[7], "HELIX_PORT": "1", "adminPort": "2", "HELIX_ENABLED": "true"}),
        )
    start_replace(made.ctx, TABLE, ["s1", "s2"], ["s3"], actor=ANN, entry_id="e1")
    made.upload("s3")
    end_replace(made.ctx, TABLE, "e1", actor=ANN)
    return both_serve(made)


def both_serve(world: World) -> World:
    node = world.memory.get(paths.external_view(TABLE.typed))
    assert node is not None
    assert node.record is not None
    rows = {s: {"Server_a_1": "ONLINE", "Server_b_1": "ONLINE"} for s in node.record.maps}
    world.memory.replace(paths.external_view(TABLE.typed), external_view(node.record, rows), node.version)
    return world


def diff(world: World, before: str, after: str, columns: Columns | None = None) -> SnapshotDiff:
    return diff_snapshots(world.ctx, TABLE, before, after, columns or Columns())


def test_segments_rows_and_bytes_of_both_sides(world: World) -> None:
    found = diff(world, "e1:from", "e1:to")
    assert (found.added, found.removed, found.same) == (("s3",), ("s1", "s2"), 0)
    assert (found.before.summary.rows, found.after.summary.rows) == (20, 10)
    body = found.to_json()
    assert (body["rowsChange"], body["bytesChange"], body["notes"]) == (-10, -100, [])


def test_shared_segments_are_read_once_and_count_on_both_sides(world: World) -> None:
    start_replace(world.ctx, TABLE, ["s3"], ["s4"], actor=ANN, entry_id="e2")
    world.upload("s4")
    end_replace(world.ctx, TABLE, "e2", actor=ANN)
    both_serve(world)
    columns = Columns()
    found = diff(world, "e1", "current", columns)
    assert (found.added, found.removed, found.same) == (("s4",), ("s3",), 1)
    assert sum(count for _, count in columns.calls) == 3
    (column,) = found.columns
    assert column.before is not None
    assert column.after is not None
    assert (column.before.min_value, column.before.max_value, column.after.min_value, column.after.max_value) == (
        "3",
        "14",
        "4",
        "14",
    )
    assert (column.before.cardinality_low, column.before.cardinality_high, column.is_changed) == (6, 12, True)


def test_a_server_that_is_silent_is_reported_and_the_other_one_asked(world: World) -> None:
    columns = Columns()
    columns.silent = {"http://a:2"}
    found = diff(world, "e1:from", "current", columns)
    assert [c.name for c in found.columns] == ["n"]
    assert found.notes == ("Server Server_a_1 did not answer.",)
    assert [c.before.segments for c in found.columns if c.before] == [2]


def test_a_segment_that_one_server_lacks_is_asked_from_the_other(world: World) -> None:
    columns = Columns()
    columns.lacks = {"http://a:2": {"s1", "s2", "s3", "s9"}}
    assert [c.before.segments for c in diff(world, "e1:from", "current", columns).columns if c.before] == [2]
    columns.lacks["http://b:2"] = {"s1"}
    found = diff(world, "e1:from", "current", columns)
    assert [c.before.segments for c in found.columns if c.before] == [1]
    assert "The columns of 1 segment are not counted, e.g. of 's1'" in found.notes[0]


@pytest.fixture
def replaced(cluster: EitherCluster) -> tuple[EitherCluster, str]:
    """On each kind of cluster s1 and s2 were replaced by s3, s9 is beside them; the entry."""
    cluster.upload("s1", "s2", "s9")
    return cluster, cluster.replace(["s1", "s2"], ["s3"])


def test_counts_of_both_sides_are_those_of_the_records_on_every_kind(replaced: tuple[EitherCluster, str]) -> None:
    cluster, entry = replaced
    sides = diff_snapshots(cluster.ctx, cluster.table, f"{entry}:from", f"{entry}:to", None)
    assert (sides.added, sides.removed, sides.same) == (("s3",), ("s1", "s2"), 0)
    assert (sides.before.summary.rows, sides.to_json()["rowsChange"]) == (20, -10)
    assert diff_snapshots(cluster.ctx, cluster.table, entry, "current", None).same == 2


def test_a_snapshot_of_no_entry_is_not_found_on_every_kind(replaced: tuple[EitherCluster, str]) -> None:
    cluster, entry = replaced
    with pytest.raises(NotFound):
        diff_snapshots(cluster.ctx, cluster.table, "nobody", "current", None)
    with pytest.raises(InvalidInput):
        diff_snapshots(cluster.ctx, cluster.table, f"{entry}:elsewhere", "current", None)


def test_bytes_are_those_of_the_records_on_every_kind(simulated: SimulatedCluster) -> None:
    simulated.upload("s1", "s2")
    entry = simulated.replace(["s1", "s2"], ["s3"])
    sides = diff_snapshots(simulated.ctx, simulated.table, f"{entry}:from", f"{entry}:to", None)
    assert sides.to_json()["bytesChange"] == -100


def test_segments_that_are_gone_are_reported_on_every_kind(simulated: SimulatedCluster) -> None:
    simulated.upload("s1", "s2", "s9")
    entry = simulated.replace(["s1", "s2"], ["s3"])
    deletion.remove_segments(simulated.world.ctx, simulated.table, ["s1"], actor=ANN, guard=False)
    found = diff_snapshots(simulated.ctx, simulated.table, f"{entry}:from", "current", None)
    assert (found.before.gone, found.before.summary.rows) == (("s1",), 10)
    assert f"not counted: 1 segment of snapshot '{entry}:from', e.g. 's1'" in found.notes[0]


def test_a_thousand_segments_are_two_questions_and_take_less_than_a_second(world: World) -> None:
    old, new = [f"s{n}" for n in range(1000, 2000)], [f"s{n}" for n in range(2000, 3000)]
    ideal = world.memory.get(paths.ideal_state(TABLE.typed))
    assert ideal is not None
    assert ideal.record is not None
    rows = {s: {"Server_a_1": "ONLINE", "Server_b_1": "ONLINE"} for s in [*old, *new]}
    world.memory.replace(paths.ideal_state(TABLE.typed), ideal_state.with_rows(ideal.record, rows), ideal.version)
    for name in rows:
        world.memory.create(
            paths.segment(TABLE.typed, name), SegmentMetadata(name, {"segment.total.docs": "10"}).to_record()
        )
    big = Entry("big", tuple(old), tuple(new), State.COMPLETED, world.now)
    node = world.memory.get(paths.lineage(TABLE.typed))
    assert node is not None
    assert node.record is not None
    lineage = lineages.from_record(node.record).having(big)
    world.memory.replace(paths.lineage(TABLE.typed), lineages.to_record(lineage), node.version)
    world.serve()
    columns = Columns()
    began = time.monotonic()
    found = diff(world, "big:from", "big:to", columns)
    took = time.monotonic() - began
    assert (len(found.added), len(found.removed), found.notes) == (1000, 1000, ())
    assert sorted(columns.calls) == [("http://a:2", 500)] * 2 + [("http://b:2", 500)] * 2
    assert took < 1.0, f"{took:.2f} s"
