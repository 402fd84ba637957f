"""The history of snapshots: one for each switch, none for what queries do not see, and nothing that is only
guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from segments.mirror import snapshots as written
from segments.mirror.cluster_follower import ClusterFollower
from segments.models import Cluster, Snapshot
from segments.services.replacement.history import snapshots as read
from segments.services.replacement.history.snapshots import contents_of
from segments.services.replacement.protocol import end_replace, revert_replace, start_replace
from segments.services.replacement.rollback import roll_back
from segments.services.segments import deletion
from segments.store import paths
from segments.store.base import Versioned
from segments.store.memory import MemoryStore
from tests.factories import make_push, make_push_segment
from tests.services.replacement.undo.serving import ServingWorld
from tests.services.world import ANN, TABLE

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(tmp_path: Path) -> ServingWorld:
    world = ServingWorld(tmp_path / "store")
    world.upload("a")
    return world


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="test")


@pytest.fixture
def mirror(world: ServingWorld, cluster: Cluster) -> ClusterFollower:
    follower = ClusterFollower(world.memory, cluster)
    follower.sync_all()
    return follower


def listed() -> list[tuple[int, str, list[str]]]:
    """(number, what made it, its segments), oldest first."""
    return [(s.number, s.kind, sorted(contents_of(s))) for s in Snapshot.objects.order_by("number")]


def test_each_switch_is_a_snapshot_and_what_queries_do_not_see_is_none(
    world: ServingWorld, mirror: ClusterFollower
) -> None:
    entry = start_replace(world.ctx, TABLE, ["a"], ["b", "c"], actor=ANN)
    world.upload("b", "c")
    mirror.sync_all()
    end_replace(world.ctx, TABLE, entry, actor=ANN)
    mirror.sync_all()
    revert_replace(world.ctx, TABLE, entry, actor=ANN)
    mirror.sync_all()
    world.upload("d")
    mirror.sync_all()
    deletion.remove_segments(world.ctx, TABLE, ["d"], actor=ANN)
    mirror.sync_all()
    assert listed() == [
        (1, "first", ["a"]),
        (2, "switch", ["b", "c"]),
        (3, "rollback", ["a"]),
        (4, "upload", ["a", "d"]),
        (5, "delete", ["a"]),
    ]
    newest = Snapshot.objects.first()
    assert newest is not None
    assert (newest.segments, newest.rows, newest.bytes, newest.switches) == (1, 10, 100, 1)


def test_uploads_that_follow_one_another_are_one_snapshot(world: ServingWorld, mirror: ClusterFollower) -> None:
    for name in ("b", "c", "d"):
        world.upload(name)
        mirror.sync_all()
    assert listed() == [(1, "first", ["a"]), (2, "upload", ["a", "b", "c", "d"])]


def test_a_late_mirror_says_how_many_switches_it_did_not_see(world: ServingWorld, mirror: ClusterFollower) -> None:
    for old, new in ("ab", "bc", "cd"):
        world.push(f"to-{new}", [old], [new])
    mirror.sync_all()
    newest = Snapshot.objects.first()
    assert newest is not None
    assert (newest.number, newest.switches, newest.entries) == (2, 3, ["to-d", "to-c", "to-b"])
    roll_back(world.ctx, TABLE, "to-b", actor=ANN)
    mirror.sync_all()
    newest = Snapshot.objects.first()
    assert newest is not None
    assert (newest.kind, newest.switches, sorted(contents_of(newest))) == ("rollback", 1, ["a"])


def test_a_mirror_that_starts_again_goes_on_where_the_last_one_was(
    world: ServingWorld, cluster: Cluster, mirror: ClusterFollower
) -> None:
    world.push("to-b", ["a"], ["b"])
    mirror.sync_all()
    world.push("to-c", ["b"], ["c"])
    again = ClusterFollower(world.memory, cluster)
    again.sync_all()
    again.sync_all()
    assert listed() == [(1, "first", ["a"]), (2, "switch", ["b"]), (3, "switch", ["c"])]
    assert Snapshot.objects.exclude(states=None).count() == 1


def test_history_outlives_lineage_entries_and_the_table(world: ServingWorld, mirror: ClusterFollower) -> None:
    world.push("to-b", ["a"], ["b"])
    mirror.sync_all()
    world.memory.delete(paths.lineage(TABLE.typed))
    world.memory.delete(paths.table_config(TABLE.typed))
    mirror.sync_all()
    assert [(n, kind) for n, kind, _ in listed()] == [(1, "first"), (2, "switch")]


class MovingStore(MemoryStore):
    """Runs ``meanwhile`` between its reading of the lineage and that of the ideal state, once."""

    def __init__(self, inner: MemoryStore) -> None:
        self.__dict__ = inner.__dict__
        self.__dict__.setdefault("meanwhile", None)

    def get_many(self, names: Sequence[str]) -> list[Versioned | None]:
        found = []
        for name in names:
            found.append(self.get(name))
            if self.meanwhile is not None and name == paths.lineage(TABLE.typed):
                run, self.meanwhile = self.meanwhile, None
                run()
        return found


def test_a_mixture_of_two_states_is_no_snapshot(world: ServingWorld, cluster: Cluster) -> None:
    store = MovingStore(world.memory)
    follower = ClusterFollower(store, cluster)
    follower.sync_all()

    def push_begins() -> None:
        start_replace(world.ctx, TABLE, ["a"], ["b"], actor=ANN, entry_id="to-b")
        world.upload("b")

    store.meanwhile = push_begins
    follower.sync_all()  # read the lineage before the start, the ideal state after the upload
    assert listed() == [(1, "first", ["a"])]
    end_replace(world.ctx, TABLE, "to-b", actor=ANN)
    follower.sync_all()
    assert listed() == [(1, "first", ["a"]), (2, "switch", ["b"])]


def test_every_snapshot_of_many_is_made_from_the_nearest_whole_one(
    world: ServingWorld, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written, "WHOLE_EVERY", 8)
    monkeypatch.setattr(read, "WHOLE_EVERY", 8)
    mirror, before = ClusterFollower(world.memory, cluster), ["a"]
    mirror.sync_all()
    for number in range(20):
        new = [f"s{number}"]
        world.push(f"e{number}", before, new)
        mirror.sync_all()
        before = new
    assert [names for _, _, names in listed()] == [["a"], *([f"s{n}"] for n in range(20))]
    assert list(Snapshot.objects.exclude(whole=None).values_list("number", flat=True)) == [17, 9, 1]


def test_an_upload_names_its_push_and_two_pushes_are_two_snapshots_however_close(
    world: ServingWorld, mirror: ClusterFollower
) -> None:
    pushes = []
    for name in ("b", "c"):
        push = make_push(cluster="test", table_name="t")
        make_push_segment(push, name)
        pushes.append(str(push.pk))
        world.upload(name)
        mirror.sync_all()
    world.upload("d")
    mirror.sync_all()
    named = list(Snapshot.objects.order_by("number").values_list("kind", "push"))
    assert named == [("first", ""), ("upload", pushes[0]), ("upload", pushes[1]), ("upload", "")]


def test_segments_of_a_push_that_was_over_long_ago_are_not_its_own_any_more(
    world: ServingWorld, mirror: ClusterFollower
) -> None:
    """They were restored, say."""
    push = make_push(state="DONE", cluster="test", table_name="t", finished_at=timezone.now() - timedelta(hours=1))
    make_push_segment(push, "b")
    world.upload("b")
    mirror.sync_all()
    assert list(Snapshot.objects.filter(number=2).values_list("kind", "push")) == [("upload", "")]
